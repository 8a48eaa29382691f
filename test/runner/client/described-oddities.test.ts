/** Promise: what a described service answers oddly costs no job that need not be lost, stops no night, and gives no key away. */
import { describe, expect, it } from 'vitest';
import { folderWith } from '../../e2e/cli.ts';
import { unusedPort } from '../../e2e/listen-on-loopback.ts';
import { onePixel } from '../../fakes/fal-service.ts';
import { answer, answerJson, inTurn, scriptedServer, type Script } from '../../fakes/scripted-server.ts';
import { ConfigError } from '../../../src/lib/yaml/problem.ts';
import { ByteSemaphore } from '../../../src/lib/limits/byte-semaphore.ts';
import { readDescription } from '../../../src/runner/config/read-description.ts';
import { ended, failure, withheld, type ClientOptions } from './client.ts';
import { describedClient, input, lostAt, type DescribedClient } from './described-client.ts';

const key = 'id-1:canary-"secret"-9';
const never = new AbortController().signal;
const done = { state: 'done' };
const pictures = { images: [{ url: onePixel }] };

const description = `
submit: { post: '{{ baseUrl }}/jobs', job: id, keep: [result_url, cancel_url] }
status: { get: '{{ baseUrl }}/jobs/{{ job.id }}', at: state, map: { 1: running, done: done } }
result: { get: '{{ job.result_url }}', pictures: 'images[*].url' }
failed: detail
texts: { no money: no-credit }
`;

interface Answers {
  submit?: Script;
  cancel?: Script;
  check?: Script;
  status?: Script;
  result?: Script;
}

/** A client of a service that gives these answers. */
async function serviceWith(
  { submit, status, result, cancel, check }: Answers,
  text = description,
  more?: ClientOptions,
): Promise<DescribedClient> {
  const served = await scriptedServer((socket, request) => {
    const accepted = answerJson({ id: 'j1', result_url: `${served.url}/results/j1` });
    const asked: Record<string, Script | undefined> = {
      '/jobs': submit ?? accepted,
      '/jobs/j1': status,
      '/cancel': cancel,
      '/check': check,
      '/results/j1': result ?? answerJson(pictures),
    };
    const script = asked[request.path] ?? answerJson(done);
    script(socket, request);
  });
  const own = readDescription('own.yaml', folderWith({ 'own.yaml': text }), {});
  return describedClient(served.url, own, '', key, more);
}

describe('a result', () => {
  it.each([
    ['nothing', answer(200, '')],
    ['a page', answer(200, '<html>Welcome</html>')],
    ['a request that took too long', answerJson({ detail: 'too late' }, 408)],
    ['a redirect with a reason', answerJson({ detail: 'Moved' }, 302)],
    ['a failing proxy with a reason', answerJson({ detail: 'Bad gateway' }, 502)],
  ])('that is %s is asked for again', async (_, first) => {
    const client = await serviceWith({ result: inTurn(first, answerJson(pictures)) });
    const job = await client.job();
    expect(await client.status(job)).toMatchObject(failure('poll-failed'));
    expect(await client.status(job)).toMatchObject({ kind: 'completed' });
  });

  it('may be a list', async () => {
    const text = description.replace("'images[*].url'", "'[*].url'");
    const client = await serviceWith({ result: answerJson([{ url: onePixel }]) }, text);
    expect(await client.status(await client.job())).toMatchObject({ kind: 'completed', pictures: [{}] });
  });

  it('whose address leads to a host that gets no key, and refuses, is asked for again', async () => {
    const elsewhere = await scriptedServer(answerJson({ detail: 'who are you?' }, 401), {
      host: '127.0.0.2',
    });
    const text = description.replace('{{ baseUrl }}/jobs/{{ job.id }}', '{{ job.result_url }}');
    const submit = answerJson({ id: 'j1', result_url: `${elsewhere.url}/j1` });
    const client = await serviceWith({ submit }, text);
    expect(await client.status(await client.job())).toMatchObject(
      failure('poll-failed', /answers 401: no key was sent there.*`origins`/),
    );
    expect(elsewhere.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each([500, 502, 503])(
    'that is refused with %i and words is no failed job, however often',
    async (code) => {
      const client = await serviceWith({ result: answerJson({ detail: 'out of memory' }, code) });
      const job = await client.job();
      for (let times = 0; times < 5; times++)
        expect(await client.status(job)).toMatchObject({
          ...failure('poll-failed', `${code}: out of memory`),
          done: { status: 'done' },
        });
    },
  );

  it.each([
    [401, 'nobody', 'key-refused'],
    [402, 'nobody', 'account-unusable'],
    [403, 'nobody', 'key-refused'],
    [403, 'no money left', 'account-unusable'],
    [429, 'slow down', 'overloaded'],
  ])('that is refused with %i (%s) says so at once, and keeps the job', async (code, detail, kind) => {
    const client = await serviceWith({ result: answerJson({ detail }, code) });
    expect(await client.status(await client.job())).toMatchObject(failure(kind, detail));
  });

  it('that is refused with 4xx and words is that of a job that has failed and was paid for', async () => {
    const client = await serviceWith({ result: answerJson({ detail: 'no face found' }, 409) });
    expect(await client.status(await client.job())).toMatchObject(
      ended('failed-inside', 'its result is 409: no face found'),
    );
  });

  it('that names another job is compared where the description says so', async () => {
    const result = answerJson({ ...pictures, of: 'j2' });
    const text = description.replace('pictures:', 'job: of, pictures:');
    const client = await serviceWith({ result }, text);
    const reply = { ...failure('poll-failed', 'the result of job j2'), isForeign: true };
    expect(await client.status(await client.job())).toMatchObject(reply);
    const other = await serviceWith({ result });
    expect(await other.status(await other.job())).toMatchObject({ kind: 'completed' });
  });

  it('is where the description says first of what is there, or where the pipeline says', async () => {
    const text = description.replace("'images[*].url'", "['shots[*].file', 'one.file']");
    for (const output of [{ shots: [{ file: onePixel }] }, { shots: [], one: { file: onePixel } }]) {
      const client = await serviceWith({ result: answerJson(output) }, text);
      expect(await client.status(await client.job())).toMatchObject({ kind: 'completed', pictures: [{}] });
    }
    const elsewhere = { shots: [{ file: 3 }], mine: [onePixel, onePixel] };
    const client = await serviceWith({ result: answerJson(elsewhere) }, text, { image: 'mine[*]' });
    expect(await client.status(await client.job())).toMatchObject({ pictures: [{}, {}] });
  });

  it('may be missing where the status has said what failed', async () => {
    const status = answerJson({ state: 'done', detail: 'the worker died' });
    const client = await serviceWith({ status, result: answer(404) });
    expect(await client.status(await client.job())).toMatchObject(
      ended('failed-inside', /^done: the worker died$/),
    );
  });

  it('that is larger than is read is no result, and holds no memory', async () => {
    const memory = new ByteSemaphore(1_000_000);
    const body = answerJson({ images: [], note: 'x'.repeat(100_000) });
    const small = await serviceWith({ result: body }, description, { memory, maxBodyBytes: 90_000 });
    expect(await small.status(await small.job())).toMatchObject(
      ended('result-too-large', 'larger than 90000 bytes (`limits.body`)'),
    );
    const empty = await serviceWith({ result: body }, description, { memory });
    expect(await empty.status(await empty.job())).toMatchObject({ kind: 'ended' });
    expect(memory.tryTake(1_000_000)).toBe(true);
  });

  it('whose pictures lie elsewhere holds no memory for what has named them', async () => {
    const images = [{ url: 'https://cdn.example/a.png' }, { url: 'https://' }];
    const client = await serviceWith({ result: answerJson({ images, note: 'x'.repeat(100_000) }) });
    const reply = await client.service.status(await client.job(), never);
    expect(reply).toMatchObject({ pictures: images });
    expect(reply.kind === 'completed' && reply.hold?.bytes).toBe(0);
  });
});

describe('a picture at the service itself', () => {
  const elsewhere = 'https://cdn.example/b.png';
  const withPicture = async (picture: Script): Promise<DescribedClient> => {
    const served = await scriptedServer((socket, request) => {
      const images = [{ url: `${served.url}/results/a.png?sig=1` }, { url: elsewhere }];
      const asked: Record<string, Script> = {
        '/jobs': answerJson({ id: 'j1', result_url: `${served.url}/results/j1` }),
        '/results/j1': answerJson({ images }),
        '/results/a.png?sig=1': picture,
      };
      (asked[request.path] ?? answerJson(done))(socket, request);
    });
    const own = readDescription('own.yaml', folderWith({ 'own.yaml': description }), {});
    return describedClient(served.url, own, '', key);
  };

  it('holds the memory that it takes, and none for those that are elsewhere', async () => {
    const client = await withPicture(answer(200, Buffer.alloc(100_000), { Location: '/welcome' }));
    const reply = await client.service.status(await client.job(), never);
    expect(reply).toMatchObject({
      status: 'done',
      pictures: [{ bytes: { length: 100_000 } }, { url: elsewhere }],
    });
    expect(reply.kind === 'completed' && reply.hold?.bytes).toBe(100_000);
  });

  it('is downloaded from where it is redirected to', async () => {
    const to = 'https://cdn.example/a.png';
    const client = await withPicture(answer(302, '', { Location: to }));
    expect(await client.status(await client.job())).toMatchObject({
      pictures: [{ url: to }, { url: elsewhere }],
    });
  });

  it.each<[number | string, Script, object]>([
    [503, answer(503), withheld('poll-failed', 'a.png?sig=1 was answered 503')],
    [429, answer(429), failure('poll-failed', 'was answered 429')],
    ['no answer', (socket) => socket.destroy(), failure('poll-failed', /\(http:.*a\.png/)],
    ...[404, 401, 403, 408, 425].map((code): [number, Script, object] => [
      code,
      answer(code),
      withheld(code === 401 || code === 403 ? 'picture-refused' : 'download-failed', `was answered ${code}`),
    ]),
    ['a redirect to nowhere', answer(302), withheld('download-failed', 'was answered 302')],
    [
      'a redirect to itself',
      answer(302, '', { Location: '/results/a.png?sig=1' }),
      withheld('download-failed', 'was answered 302'),
    ],
    ['too much', answer(200, '', { 'Content-Length': '64000001' }), ended('result-too-large')],
  ])('that is answered with %s', async (_, picture, reply) => {
    const client = await withPicture(picture);
    expect(await client.status(await client.job())).toMatchObject(reply);
  });
});

describe('a submission', () => {
  it('is accepted without an address that only a cancellation needs', async () => {
    const client = await serviceWith({});
    expect(await client.submit()).toMatchObject({
      kind: 'accepted',
      kept: { result_url: expect.stringContaining('results') as string },
    });
  });

  it('whose answer is cut has no id that could be told from another member', async () => {
    const client = await serviceWith({ submit: answer(200, '{"id":"j1","result_url":"htt') });
    expect(await client.submit()).toMatchObject(failure('unanswered', 'without a job id'));
  });

  it('without an address that is needed stops the run, which would pay for each in vain', async () => {
    const client = await serviceWith({ submit: answerJson({ id: 'j1', cancel_url: 'x' }) });
    expect(await client.submit()).toMatchObject({
      ...failure('unanswered', 'without result_url,'),
      isEachLost: true,
    });
  });

  it.each([key, key.slice(5)])(
    'that names the job by the key, %s, is not recorded, and the last',
    async (told) => {
      const client = await serviceWith({ submit: answerJson({ id: 'j1', result_url: `https://x/${told}` }) });
      expect(await client.submit()).toMatchObject({ kind: 'failure', isEachLost: true });
    },
  );

  it('without an id where the description has it stops the run if none was ever there', async () => {
    const unnamed = answerJson({ data: { id: 'j1' } });
    const client = await serviceWith({ submit: unnamed });
    expect(await client.submit()).toMatchObject({
      ...failure('unanswered', 'without a job id at id (`submit.job`)'),
      isEachLost: true,
    });
    const accepted = answerJson({ id: 'j1', result_url: 'x' });
    const proven = await serviceWith({ submit: inTurn(accepted, unnamed) });
    await proven.submit();
    expect(await proven.submit()).not.toHaveProperty('isEachLost');
  });

  it('that is refused at a host that gets no key says that none was sent', async () => {
    const other = await scriptedServer(answer(401), { host: '127.0.0.2' });
    const text = `${description.replace('{{ baseUrl }}/jobs', `${other.url}/jobs`)}baseUrl: https://service.example\n`;
    const client = await serviceWith({}, text);
    expect(await client.submit()).toMatchObject(failure('key-refused', 'no key was sent there'));
    expect(other.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('that brings more than is read may have been accepted, and one that cannot be sent has not', async () => {
    const large = answerJson({ id: 'j1', note: 'x'.repeat(100_000) });
    const client = await serviceWith({ submit: large }, description, { maxBodyBytes: 90_000 });
    expect(await client.submit()).toMatchObject(
      failure('unanswered', /the answer is larger than 90000 bytes \(http:/),
    );
    const own = readDescription('own.yaml', folderWith({ 'own.yaml': description }), {});
    const nobody = describedClient(`http://127.0.0.1:${await unusedPort()}`, own, '', key);
    expect(await nobody.submit()).toMatchObject(failure('not-reached', /refused.*\(http:.*\/jobs\)/));
  });

  it('that repeats a prompt with words of the description in it is refused for itself', async () => {
    const detail = [{ msg: 'too long', input: 'a bank with no money' }];
    const client = await serviceWith({ submit: answerJson({ detail }, 422) });
    expect(await client.submit()).toMatchObject(failure('input-refused', 'too long'));
    const poor = await serviceWith({ submit: answerJson({ detail: 'no money left' }, 403) });
    expect(await poor.submit()).toMatchObject(failure('account-unusable', /answered 403: no money left$/));
  });

  it('is sent again under its key where that is remembered', async () => {
    const text = description.replace(
      'job: id,',
      "job: id, headers: { X-Idempotency: '{{ idempotencyKey }}' }, remembers: 24h,",
    );
    const client = await serviceWith({}, text);
    const reply = { kind: 'accepted', jobId: 'j1', idempotencyMs: 86_400_000 };
    expect(await client.submit()).toMatchObject(reply);
    expect(await client.submit(input, lostAt(Date.now()))).toMatchObject(reply);
  });
});

it('says once that it does not know a status, without the key, and not without end', async () => {
  const told: string[] = [];
  let polls = 0;
  const states = [
    'warming up',
    'warming up',
    `queued for ${key}`,
    ...Array.from({ length: 20 }, (_, i) => `${i} %`),
  ];
  const status: Script = (...asked) => answerJson({ state: states[polls++] })(...asked);
  const client = await serviceWith({ status }, description, {
    onUnknownStatus: (text) => told.push(text),
  });
  const job = await client.job();
  for (const _ of states)
    expect(await client.status(job)).toMatchObject({ kind: 'running', isExecuting: false });
  expect(told).toHaveLength(10);
  expect(told.slice(0, 3)).toEqual(['warming up', 'queued for [key]', '0 %']);
});

it('asks again for a result that is refused since it is not there yet', async () => {
  const result = inTurn(answerJson({ detail: 'Request is still in progress' }, 400), answerJson(pictures));
  const client = await serviceWith(
    { result },
    description.replace('no-credit', 'no-credit, still in progress: not-yet'),
  );
  const job = await client.job();
  expect(await client.status(job)).toMatchObject(failure('poll-failed', 'still in progress'));
  expect(await client.status(job)).toMatchObject({ kind: 'completed' });
});

it('takes a number for a status, and an address that its description does not know for none', async () => {
  const client = await serviceWith({ status: answerJson({ state: 1 }) });
  const job = await client.job();
  expect(await client.status(job)).toMatchObject({ kind: 'running', status: '1', isExecuting: true });
  const edited = description
    .replace('{{ baseUrl }}/jobs/{{ job.id }}', '{{ job.poll_url }}')
    .replace('[', '[poll_url, ');
  const later = await serviceWith({}, edited);
  expect(await later.status(job)).toMatchObject(
    failure('poll-failed', 'no http(s) URL ({{ job.poll_url }})'),
  );
});

describe('a status', () => {
  const ownResult = description.replace("get: '{{ job.result_url }}'", 'output: out');
  const statusOf = async (answered: unknown, text = description, status = 200) => {
    const client = await serviceWith({ status: answerJson(answered, status) }, text);
    return client.status(await client.job());
  };

  it.each<[string, unknown, number]>([
    ['no text', { state: { done: true } }, 200],
    ['not there', {}, 200],
    ['in a refusal', done, 500],
  ])('that is %s says nothing of the job', async (_, answered, code) => {
    expect(await statusOf(answered, description, code)).toEqual(failure('poll-failed', `answered ${code}`));
  });

  it('may be a word that is true or false', async () => {
    const text = description.replace('done: done', 'true: done');
    expect(await statusOf({ state: true }, text)).toMatchObject({ kind: 'completed' });
  });

  it('of a job that runs or has its result elsewhere is what it says, whatever stands beside it', async () => {
    expect(await statusOf({ state: 1, detail: 'warming up' })).toMatchObject({ kind: 'running' });
    expect(await statusOf({ state: 'done', detail: 'a warning' })).toMatchObject({ kind: 'completed' });
  });

  it('of an unknown word with an output or an error waits for `status.map`, not for the time-out', async () => {
    const out = { images: [{ url: 'https://cdn.example.com/a.png' }] };
    expect(await statusOf({ state: 'aborted', out }, ownResult)).toMatchObject({
      ...ended('status-unknown', /status\.map: \{ "aborted": done \}/),
      failure: { isByAddress: true },
    });
    for (const text of [description, ownResult])
      expect(await statusOf({ state: 'aborted', detail: 'no memory' }, text)).toMatchObject(
        ended('status-unknown', /"aborted": failed/),
      );
    const client = await serviceWith({}, ownResult);
    const kept = Buffer.from(JSON.stringify({ state: 'aborted', out }));
    const signal = new AbortController().signal;
    const again = await client.service.status(await client.job(), signal, undefined, kept);
    expect(again).toMatchObject({ kind: 'ended', failure: { kind: 'status-unknown' } });
  });

  it('that is done has failed where it says why, and has the result otherwise', async () => {
    const out = { images: [{ url: onePixel }] };
    expect(await statusOf({ ...done, out, detail: 'no memory' }, ownResult)).toMatchObject(
      ended('failed-inside', /^done: no memory$/),
    );
    for (const detail of [0, false, null, ''])
      expect(await statusOf({ ...done, out, detail }, ownResult)).toMatchObject({ kind: 'completed' });
  });

  it('that names another job is taken for none once one has named its own', async () => {
    const asked = [{ ...done, id: 'j2' }, { ...done, id: 'j1' }, { ...done, id: 'j2' }, done];
    const client = await serviceWith({ status: inTurn(...asked.map((each) => answerJson(each))) });
    const job = await client.job();
    expect(await client.status(job)).toMatchObject({ kind: 'completed' });
    expect(await client.status(job)).toMatchObject({ kind: 'completed' });
    expect(await client.status(job)).toMatchObject({
      ...failure('poll-failed', 'job j1 was answered with the status of job j2'),
      isForeign: true,
    });
    expect(await client.status(job)).toMatchObject({ kind: 'completed' });
  });

  it('that has failed need not say why', async () => {
    const text = description.replace('done: done', 'done: failed');
    expect(await statusOf(done, text)).toMatchObject(ended('job-failed', 'done: the service gave no reason'));
  });

  it.each([404, 410])('of a job that is not known is %i', async (code) => {
    const client = await serviceWith({ status: answer(code) });
    expect(await client.status(await client.job())).toEqual({
      kind: 'missing',
      text: `the service does not know the job (${code}: no message)`,
    });
  });

  it('that is refused at the service itself says that the key is, and one elsewhere that it is to wait', async () => {
    const own = await serviceWith({ status: answer(401) });
    expect(await own.status(await own.job())).toMatchObject(failure('key-refused'));
    const other = await scriptedServer(answer(429), { host: '127.0.0.2' });
    const text = description.replace('{{ baseUrl }}/jobs/{{ job.id }}', '{{ job.result_url }}');
    const client = await serviceWith({ submit: answerJson({ id: 'j1', result_url: other.url }) }, text);
    expect(await client.status(await client.job())).toMatchObject(failure('overloaded'));
  });
});

describe('a cancellation', () => {
  const text = `${description}cancel: { post: '{{ baseUrl }}/cancel' }\n`;

  it.each<[string, Script, object]>([
    ['whatever comes', answer(200, 'x'.repeat(100_000)), { kind: 'cancelled' }],
    [
      '400',
      answer(400),
      { kind: 'unsupported', text: expect.stringContaining('(400: no message)') as string },
    ],
    ['409', answer(409), { kind: 'unsupported' }],
    ['422', answerJson({ detail: 'it has ended' }, 422), { kind: 'unsupported' }],
    ['500', answer(500), failure('poll-failed', '500')],
    ['no answer', (socket) => socket.destroy(), failure('poll-failed', /\(http:.*\/cancel\)/)],
  ])('is answered with %s', async (_, cancel, reply) => {
    const client = await serviceWith({ cancel }, text, { maxBodyBytes: 90_000 });
    expect(await client.cancel(await client.job())).toMatchObject(reply);
  });
});

describe('whether it is there', () => {
  const text = `${description}check: { get: '{{ baseUrl }}/check', has: models }\n`;
  const unknown = { kind: 'unknown', text: expect.stringContaining('own') as string };

  it.each<[string, Script, object]>([
    ['what it should have', answerJson({ models: ['a'] }), { kind: 'answers' }],
    ['no such thing', answerJson({ models: null }), unknown],
    ['404', answer(404), { ...unknown, text: expect.stringContaining('(404: no message)') as string }],
    ['410', answer(410), unknown],
    ['402', answer(402), failure('account-unusable')],
    ['500', answer(500), failure('poll-failed', 'the check was answered 500')],
    ['a redirect', answer(302), failure('poll-failed', 'the check was answered 302')],
    ['no answer', (socket) => socket.destroy(), failure('poll-failed', /\(http:.*\/check\)/)],
  ])('is answered with %s', async (_, check, reply) => {
    const client = await serviceWith({ check }, text);
    expect(await client.health()).toEqual(reply);
  });

  it('is not asked where the description does not say how', async () => {
    expect(await (await serviceWith({})).health()).toMatchObject({ ...unknown, isUnasked: true });
  });
});

it('has the key go wherever the description itself leads, where it says no address of the service', async () => {
  const other = await scriptedServer(answerJson(done), { host: '127.0.0.2' });
  const text = `${description.replace('{{ baseUrl }}/jobs/{{ job.id }}', `${other.url}/{{ job.id }}`)}auth: { X-Key: '{{ apiKey }}' }\n`;
  const client = await serviceWith({}, text);
  await client.status(await client.job());
  expect(other.requests[0]?.headers).toMatchObject({ 'x-key': key });
  const named = await serviceWith({}, `${text}baseUrl: https://service.example\n`);
  await named.status(await named.job());
  expect(other.requests[1]?.headers).not.toHaveProperty('x-key');
});

describe('a description', () => {
  const problemsIn = (text: string): string[] => {
    try {
      readDescription('own.yaml', folderWith({ 'own.yaml': text }), { SECRET: 'x' });
      return [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.problems.map((problem) => problem.text);
    }
  };

  it.each([
    ['a body without the input', 'body: { a: 1 }, job: id', 'submit.body needs {{ input }}'],
    ['the input within a text', "body: 'x {{ input }}', job: id", 'submit.body needs {{ input }}'],
    ['the input in a header', "headers: { X-A: '{{ input }}' }, job: id", 'has the placeholder {{ input }}'],
    [
      'a header about the connection',
      'headers: { Transfer-Encoding: chunked }, job: id',
      'Transfer-Encoding',
    ],
    ['a header of two lines', 'headers: { X-A: "a\\nb" }, job: id', 'a text on one line'],
    [
      'a variable that plan would show',
      "headers: { X-A: '${SECRET}' }, job: id",
      'takes no environment variable',
    ],
    ['a path that leads nowhere', "job: 'a[*'", 'a path such as'],
    ['a time for a key that is not sent', 'remembers: 1h, job: id', 'needs {{ idempotencyKey }}'],
  ])('with %s is refused', (_, keys, words) => {
    const text = description.replace('job: id', keys);
    expect(problemsIn(text).join('\n')).toContain(words);
  });
});

/**
 * Promise: with a description of a custom service, no job is lost without need, no run stops by mistake, and
 * no key is revealed.
 */
import { describe, expect, it } from 'vitest';
import { folderWith } from '../../e2e/cli.ts';
import { onePixel } from '../../fakes/fal-service.ts';
import { answer, answerJson, inTurn, scriptedServer, type Script } from '../../fakes/scripted-server.ts';
import { readDescription } from '../../../src/runner/config/read-description.ts';
import { ended, failure, type ClientOptions } from './client.ts';
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
  picture?: Script;
  check?: Script;
  status?: Script;
  result?: Script;
}

/** Creates a client of a service with these answers. */
async function serviceWith(
  { submit, status, result, picture, check }: Answers,
  text = description,
  more?: ClientOptions,
): Promise<DescribedClient> {
  const served = await scriptedServer((socket, request) => {
    const accepted = answerJson({ id: 'j1', result_url: `${served.url}/results/j1` });
    const asked: Record<string, Script | undefined> = {
      '/jobs': submit ?? accepted,
      '/jobs/j1': status,
      '/picture': picture,
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
  ])('that is %s is requested again', async (_, first) => {
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

  it('whose address leads to a host that gets no key, and refuses, is requested again', async () => {
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

  it('that names another job is rejected if the description compares ids', async () => {
    const result = answerJson({ ...pictures, of: 'j2' });
    const text = description.replace('pictures:', 'job: of, pictures:');
    const client = await serviceWith({ result }, text);
    const reply = { ...failure('poll-failed', 'the result of job j2'), isForeign: true };
    expect(await client.status(await client.job())).toMatchObject(reply);
    const other = await serviceWith({ result });
    expect(await other.status(await other.job())).toMatchObject({ kind: 'completed' });
  });

  it('may have its pictures at one of several places, or where the pipeline says', async () => {
    const text = description.replace("'images[*].url'", "['shots[*].file', 'one.file']");
    for (const output of [{ shots: [{ file: onePixel }] }, { shots: [], one: { file: onePixel } }]) {
      const client = await serviceWith({ result: answerJson(output) }, text);
      expect(await client.status(await client.job())).toMatchObject({ kind: 'completed', pictures: [{}] });
    }
    const elsewhere = { shots: [{ file: 3 }], mine: [onePixel, onePixel] };
    const client = await serviceWith({ result: answerJson(elsewhere) }, text, { image: 'mine[*]' });
    expect(await client.status(await client.job())).toMatchObject({ pictures: [{}, {}] });
  });

  it('may be missing if the status has said what failed', async () => {
    const status = answerJson({ state: 'done', detail: 'the worker died' });
    const client = await serviceWith({ status, result: answer(404) });
    expect(await client.status(await client.job())).toMatchObject(
      ended('failed-inside', /^done: the worker died$/),
    );
  });

  it('whose pictures lie elsewhere holds no memory for what has named them', async () => {
    const images = [{ url: 'https://cdn.example/a.png' }, { url: 'https://' }];
    const client = await serviceWith({ result: answerJson({ images, note: 'x'.repeat(100_000) }) });
    const reply = await client.service.status(await client.job(), never);
    expect(reply).toMatchObject({ pictures: images });
    expect(reply.kind === 'completed' && reply.share?.bytes).toBe(0);
  });
});

it('holds the memory that pictures at the service itself take, and none for those that are elsewhere', async () => {
  const elsewhere = 'https://cdn.example/b.png';
  const picture = answer(200, Buffer.alloc(100_000), { Location: '/welcome' });
  const result: Script = (socket, request) => {
    const images = [{ url: `http://${request.headers['host']}/picture` }, { url: elsewhere }];
    answerJson({ images })(socket, request);
  };
  const client = await serviceWith({ result, picture });
  const reply = await client.service.status(await client.job(), never);
  expect(reply).toMatchObject({ pictures: [{ bytes: { length: 100_000 } }, { url: elsewhere }] });
  expect(reply.kind === 'completed' && reply.share?.bytes).toBe(100_000);
});

describe('a submission', () => {
  it('is accepted without an address that only a cancellation needs', async () => {
    const client = await serviceWith({});
    expect(await client.submit()).toMatchObject({
      kind: 'accepted',
      kept: { result_url: expect.stringContaining('results') as string },
    });
  });

  it('without an address that is needed stops the run, which would pay for each in vain', async () => {
    const client = await serviceWith({ submit: answerJson({ id: 'j1', cancel_url: 'x' }) });
    expect(await client.submit()).toMatchObject({
      ...failure('unanswered', 'without result_url,'),
      isEachLost: true,
    });
  });

  it('without an id if the description has it does not stop the run if one was there before', async () => {
    const accepted = answerJson({ id: 'j1', result_url: 'x' });
    const client = await serviceWith({ submit: inTurn(accepted, answerJson({ data: { id: 'j1' } })) });
    await client.submit();
    expect(await client.submit()).not.toHaveProperty('isEachLost');
  });

  it('that is refused at a host that gets no key says that none was sent', async () => {
    const other = await scriptedServer(answer(401), { host: '127.0.0.2' });
    const text = `${description.replace('{{ baseUrl }}/jobs', `${other.url}/jobs`)}baseUrl: https://service.example\n`;
    const client = await serviceWith({}, text);
    expect(await client.submit()).toMatchObject(failure('key-refused', 'no key was sent there'));
    expect(other.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('that repeats a prompt with words of the description in it is refused for itself', async () => {
    const detail = [{ msg: 'too long', input: 'a bank with no money' }];
    const client = await serviceWith({ submit: answerJson({ detail }, 422) });
    expect(await client.submit()).toMatchObject(failure('input-refused', 'too long'));
    const poor = await serviceWith({ submit: answerJson({ detail: 'no money left' }, 403) });
    expect(await poor.submit()).toMatchObject(failure('account-unusable', /answered 403: no money left$/));
  });

  it('is sent again under its key if that is remembered', async () => {
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

it('a number counts as a status, and an address that its description does not know is ignored', async () => {
  const client = await serviceWith({ status: answerJson({ state: 1 }) });
  const job = await client.job();
  expect(await client.status(job)).toMatchObject({ kind: 'running', status: '1', isExecuting: true });
  const edited = description
    .replace('{{ baseUrl }}/jobs/{{ job.id }}', '{{ job.poll_url }}')
    .replace('[', '[poll_url, ');
  const later = await serviceWith({}, edited);
  expect(await later.status(job)).toMatchObject(
    failure('poll-failed', 'not an http(s) URL ({{ job.poll_url }})'),
  );
});

describe('a status', () => {
  const ownResult = description.replace("get: '{{ job.result_url }}'", 'output: out');
  const statusOf = async (answered: unknown, text = description, status = 200) => {
    const client = await serviceWith({ status: answerJson(answered, status) }, text);
    return client.status(await client.job());
  };

  it('may be a word that is true or false', async () => {
    const text = description.replace('done: done', 'true: done');
    expect(await statusOf({ state: true }, text)).toMatchObject({ kind: 'completed' });
  });

  it('of a job that runs or has its result elsewhere is what it says, whatever stands beside it', async () => {
    expect(await statusOf({ state: 1, detail: 'warming up' })).toMatchObject({ kind: 'running' });
    expect(await statusOf({ state: 'done', detail: 'a warning' })).toMatchObject({ kind: 'completed' });
  });

  it('that is done has its result if the reason of a failure says nothing', async () => {
    const out = { images: [{ url: onePixel }] };
    for (const detail of [0, false, null, ''])
      expect(await statusOf({ ...done, out, detail }, ownResult)).toMatchObject({ kind: 'completed' });
  });

  it('that names another job is rejected once an earlier status has named its own job', async () => {
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

  it('that is refused elsewhere for load says that it is to wait', async () => {
    const other = await scriptedServer(answer(429), { host: '127.0.0.2' });
    const text = description.replace('{{ baseUrl }}/jobs/{{ job.id }}', '{{ job.result_url }}');
    const client = await serviceWith({ submit: answerJson({ id: 'j1', result_url: other.url }) }, text);
    expect(await client.status(await client.job())).toMatchObject(failure('overloaded'));
  });
});

describe('a check of the health', () => {
  const text = `${description}check: { get: '{{ baseUrl }}/check', has: models }\n`;
  const unknown = { kind: 'unknown', text: expect.stringContaining('own') as string };

  it('reads what the answer has', async () => {
    const client = await serviceWith(
      { check: inTurn(answerJson({ models: ['a'] }), answerJson({ models: null })) },
      text,
    );
    expect(await client.health()).toEqual({ kind: 'answers' });
    expect(await client.health()).toEqual(unknown);
  });

  it('is not made if the description does not say how', async () => {
    expect(await (await serviceWith({})).health()).toMatchObject({ ...unknown, isUnasked: true });
  });
});

it('sends the key wherever the description itself leads, if it names no address of the service', async () => {
  const other = await scriptedServer(answerJson(done), { host: '127.0.0.2' });
  const text = `${description.replace('{{ baseUrl }}/jobs/{{ job.id }}', `${other.url}/{{ job.id }}`)}auth: { X-Key: '{{ apiKey }}' }\n`;
  const client = await serviceWith({}, text);
  await client.status(await client.job());
  expect(other.requests[0]?.headers).toMatchObject({ 'x-key': key });
  const named = await serviceWith({}, `${text}baseUrl: https://service.example\n`);
  await named.status(await named.job());
  expect(other.requests[1]?.headers).not.toHaveProperty('x-key');
});

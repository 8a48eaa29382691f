/** Promise: what a described service answers oddly costs no job that need not be lost, stops no night, and gives no key away. */
import { describe, expect, it } from 'vitest';
import { folderWith } from '../../e2e/cli.ts';
import { onePixel } from '../../fakes/fal-service.ts';
import { answer, answerJson, inTurn, scriptedServer, type Script } from '../../fakes/scripted-server.ts';
import { ConfigError } from '../../../src/lib/yaml/problem.ts';
import { readDescription } from '../../../src/runner/config/read-description.ts';
import { ended, failure } from './client.ts';
import { describedClient, input, lostAt, type DescribedClient } from './described-client.ts';

const key = 'id-1:canary-"secret"-9';
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
  status?: Script;
  result?: Script;
}

/** A client of a service that gives these answers. */
async function serviceWith(
  { submit, status, result }: Answers,
  text = description,
  onUnknownStatus?: (status: string) => void,
): Promise<DescribedClient> {
  const served = await scriptedServer((socket, request) => {
    const accepted = answerJson({ id: 'j1', result_url: `${served.url}/results/j1` });
    const script =
      request.method === 'POST'
        ? (submit ?? accepted)
        : request.path.startsWith('/results')
          ? (result ?? answerJson(pictures))
          : (status ?? answerJson(done));
    script(socket, request);
  });
  const own = readDescription('own.yaml', folderWith({ 'own.yaml': text }), {});
  return describedClient(served.url, own, '', key, onUnknownStatus);
}

describe('a result', () => {
  it.each([401, 403])(
    'that is refused with %i and a reason has failed, and says nothing of the key',
    async (status) => {
      const client = await serviceWith({
        result: answerJson({ detail: 'the content is not allowed' }, status),
      });
      expect(await client.status(await client.job())).toMatchObject(ended('job-failed', 'not allowed'));
    },
  );

  it.each([
    ['nothing', answer(200, '')],
    ['a page', answer(200, '<html>Welcome</html>')],
    ['a refusal to go so fast', answerJson({ detail: 'slow down' }, 429)],
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
    expect(await client.status(await client.job())).toMatchObject(failure('poll-failed', 'gets no key'));
    expect(elsewhere.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('has pictures at the service that redirect elsewhere: they are downloaded from there', async () => {
    const to = 'https://cdn.example/a.png';
    const text = description.replace("'{{ job.result_url }}'", "'{{ baseUrl }}/results/j1'");
    const served = await scriptedServer((socket, request) => {
      if (request.path === '/results/a.png') answer(302, '', { Location: to })(socket, request);
      else if (request.path === '/results/j1')
        answerJson({ images: [{ url: `${served.url}/results/a.png` }] })(socket, request);
      else answerJson(request.method === 'POST' ? { id: 'j1', result_url: '' } : done)(socket, request);
    });
    const own = readDescription('own.yaml', folderWith({ 'own.yaml': text }), {});
    const client = describedClient(served.url, own, '', key);
    expect(await client.status(await client.job())).toMatchObject({ pictures: [{ url: to }] });
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
  const client = await serviceWith({ status }, description, (text) => told.push(text));
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

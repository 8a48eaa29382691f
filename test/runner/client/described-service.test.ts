/**
 * Promise: fal, Replicate and similar services get requests as they expect them, and only they get the key.
 */
import { describe, expect, it } from 'vitest';
import { readDescription } from '../../../src/runner/config/read-description.ts';
import { folderWith } from '../../e2e/cli.ts';
import { sendJson } from '../../faults/answers.ts';
import { falKey, onePixel, startFal } from '../../fakes/fal-service.ts';
import { answerHonestly } from '../../fakes/job-server.ts';
import { startReplicate } from '../../fakes/replicate-service.ts';
import { answerJson, scriptedServer } from '../../fakes/scripted-server.ts';
import { falSituations } from '../../fakes/situations.ts';
import { ended, failure } from './client.ts';
import {
  describedClient,
  falClient,
  input,
  lostAt,
  model,
  replicateClient,
  replicateModel,
} from './described-client.ts';

describe('fal', () => {
  it('is sent only the input, and its execution time is read', async () => {
    const fal = await startFal({ plan: () => ({ queueMs: -4_000, executionMs: 3_000 }) });
    const client = falClient(fal.url);
    expect(await client.status(await client.job())).toMatchObject({ executionTimeMs: 3_000 });
    expect(fal.inputs).toEqual([input]);
    expect(fal.requests[0]).toEqual({ method: 'POST', path: `/${model}`, key: `Key ${falKey}` });
  });

  it('is polled at the addresses from its answers, wherever they lead', async () => {
    const fal = await startFal({ plan: () => ({ queueMs: Infinity }), requestsAt: '/nobody/expects' });
    const client = falClient(fal.url);
    const job = await client.job();
    expect(await client.status(job)).toMatchObject({ kind: 'running', status: 'IN_QUEUE' });
    expect(await client.cancel(job)).toEqual({ kind: 'cancelled' });
    expect(await client.status(job)).toMatchObject(ended('job-cancelled'));
  });

  it('is asked for the result of a job that was finished before it could be cancelled', async () => {
    const client = falClient((await startFal()).url);
    const job = await client.job();
    await client.cancel(job);
    expect(await client.status(job)).toMatchObject({ kind: 'completed' });
  });

  it('returns paid results although the account is locked', async () => {
    const fal = await startFal();
    const client = falClient(fal.url);
    const job = await client.job();
    fal.meet = falSituations['comes from an account without money'].meet;
    expect(await client.status(job)).toMatchObject({ kind: 'completed' });
  });

  it('counts submissions without URLs as lost, so that the run stops', async () => {
    const fal = await startFal({
      meet: ({ take, response }) => {
        const { request_id: id } = take().fields;
        sendJson(response, { request_id: id });
      },
    });
    expect(await falClient(fal.url).submit()).toMatchObject({ ...failure('unanswered'), isEachLost: true });
  });
});

describe('the key', () => {
  it('of fal does not go to another host that a job is said to be at', async () => {
    const other = await scriptedServer(answerJson({ status: 'IN_QUEUE' }));
    const fal = await startFal({
      meet: ({ take, response }) =>
        sendJson(response, {
          ...take().fields,
          status_url: `${other.url}/status`,
          cancel_url: `${other.url}/cancel`,
        }),
    });
    const client = falClient(fal.url);
    const job = await client.job();
    await client.status(job);
    await client.cancel(job);
    expect(other.requests).toHaveLength(2);
    for (const { headers } of other.requests) expect(headers['authorization']).toBeUndefined();
  });

  it('of Replicate does not go if its list leads on', async () => {
    const other = await scriptedServer(answerJson({ results: [], next: null }));
    const replicate = await startReplicate({
      pageSize: 1,
      meet: ({ operation, take, response }) => {
        const { status, fields } = take();
        sendJson(
          response,
          operation === 'list' ? { ...fields, next: `${other.url}/v1/predictions` } : fields,
          status,
        );
      },
    });
    const client = replicateClient(replicate.url);
    await client.job({ prompt: 'another' });
    await client.submit(input, lostAt(0));
    expect(other.requests).toEqual([]);
  });
});

describe('Replicate', () => {
  it('is sent the model and the input, and the time of execution is read', async () => {
    const replicate = await startReplicate({ plan: () => ({ queueMs: -4_000, executionMs: 3_000 }) });
    const client = replicateClient(replicate.url);
    expect(await client.status(await client.job())).toMatchObject({ executionTimeMs: 3_000 });
    expect(replicate.jobs.all).toMatchObject([{ endpoint: { id: replicateModel }, input }]);
  });

  it('may answer a submission with a job that has ended', async () => {
    const replicate = await startReplicate({
      meet: (asked) => {
        if (asked.operation !== 'run') return answerHonestly(asked);
        const { job } = asked.take();
        sendJson(asked.response, { id: job?.id, status: 'succeeded', output: [onePixel] }, 201);
      },
    });
    const client = replicateClient(replicate.url);
    expect(await client.status(await client.job())).toMatchObject({ kind: 'completed' });
  });
});

it('no answer of a service is used as a template', async () => {
  const replicate = await startReplicate({
    plan: () => ({ output: [`${replicate.url}/v1/files/{{ name }}`] }),
    meet: (asked) =>
      asked.path.startsWith('/v1/files/') ? void asked.response.end('bytes') : answerHonestly(asked),
  });
  const client = replicateClient(replicate.url);
  expect(await client.status(await client.job())).toMatchObject({ kind: 'completed' });
});

it("reads a description of one's own, with other names at other places", async () => {
  const dir = folderWith({ 'mine.yaml': ownDescription });
  const job = { data: { id: 'j/1', state: 'completed', outputs: [onePixel] } };
  const server = await scriptedServer((socket, request) =>
    answerJson(request.method === 'POST' ? { data: { id: 'j/1' } } : job)(socket, request),
  );
  const client = describedClient(
    server.url,
    readDescription('mine.yaml', dir, {}),
    'm/1:a #2',
    'canary-secret-3',
  );
  const reply = await client.job();
  expect(reply).toMatchObject({ jobId: 'j/1' });
  expect(await client.status(reply)).toMatchObject({ kind: 'completed', pictures: [{}] });
  expect(await client.cancel(reply)).toMatchObject({ kind: 'unsupported' });
  expect(server.requests.map(({ method, path, headers }) => [method, path, headers['x-api-key']])).toEqual([
    ['POST', '/models/m/1:a%20%232', 'canary-secret-3'],
    ['GET', '/jobs/j%2F1', 'canary-secret-3'],
  ]);
  expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual({ params: input, priority: 1 });
});

const ownDescription = `
auth: { X-Api-Key: '{{ apiKey }}' }
submit: { post: '{{ baseUrl }}/models/{{ id }}', body: { params: '{{ input }}', priority: 1 }, job: data.id }
status: { get: '{{ baseUrl }}/jobs/{{ job.id }}', at: data.state, map: { completed: done } }
result: { output: data.outputs }
`;

describe('without a job', () => {
  it('key and model of fal are checked', async () => {
    const fal = await startFal({ model });
    const client = falClient(fal.url);
    expect(await client.health()).toMatchObject({ kind: 'answers' });
    fal.key = 'another';
    expect(await client.health()).toMatchObject(failure('key-refused'));
    expect(await falClient((await startFal({ model: 'fal-ai/flux/pro' })).url).health()).toMatchObject({
      kind: 'unknown',
      text: expect.stringContaining(model) as string,
    });
    expect(fal.inputs).toEqual([]);
  });

  it('key and model of Replicate are checked', async () => {
    const replicate = await startReplicate({ model: replicateModel });
    const client = replicateClient(replicate.url);
    expect(await client.health()).toEqual({ kind: 'answers', idempotencyMs: 3_600_000 });
    replicate.key = 'another';
    expect(await client.health()).toMatchObject(failure('key-refused'));
    expect(await replicateClient((await startReplicate({ model: 'a/b' })).url).health()).toMatchObject({
      kind: 'unknown',
      text: expect.stringContaining(replicateModel) as string,
    });
  });
});

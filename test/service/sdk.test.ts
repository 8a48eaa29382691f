/** Promise: a public client for services of this kind works unchanged. */
import runpodSdk from 'runpod-sdk';
import { describe, expect, it } from 'vitest';
import { inProcessWorkload } from './in-process-workload.ts';
import { endpointId, key, openService } from './service-harness.ts';

it.each(['v2', 'v1'])('submits to and polls the service under %s', async (version) => {
  const { url, held } = await openService();
  const endpoint = runpodSdk(key, { baseUrl: `${url}/${version}` }).endpoint(endpointId);
  const submitted = await endpoint?.run({ input: { scene: 'a hill' } });
  expect(submitted?.status).toBe('IN_QUEUE');
  const id = submitted?.id ?? '';

  const run = await held.next();
  expect(run.job).toMatchObject({ id, input: { scene: 'a hill' } });
  expect(await endpoint?.status(id)).toMatchObject({
    started: true,
    completed: false,
    status: 'IN_PROGRESS',
  });

  const unwanted = await endpoint?.run({ input: { scene: 'not this one' } });
  expect(await endpoint?.cancel(unwanted?.id ?? '')).toMatchObject({ status: 'CANCELLED' });
  expect(await endpoint?.health()).toMatchObject({ jobs: { inProgress: 1, inQueue: 0 } });

  run.complete([{ rendered_image: 'aGk=', seed: 7 }]);
  let job = await endpoint?.status(id);
  while (job?.status !== 'COMPLETED') job = await endpoint?.status(id);
  expect(job).toEqual({
    completed: true,
    delayTime: expect.any(Number) as number,
    executionTime: expect.any(Number) as number,
    workerId: expect.any(String) as string,
    id,
    output: [{ rendered_image: 'aGk=', seed: 7 }],
    started: true,
    status: 'COMPLETED',
    succeeded: true,
  });
});

describe.each(['v2', 'v1'])('its other operations, under %s', (version) => {
  it('waits for a job, reads its stream, and requests health', async () => {
    const workload = inProcessWorkload('streaming', async ({ input }, { stream }) => {
      for (const part of ['a', 'b', 'c']) await stream(part);
      return [input];
    });
    const { url } = await openService({ workload });
    const endpoint = runpodSdk(key, { baseUrl: `${url}/${version}` }).endpoint(endpointId) ?? expect.fail();
    const done = { started: true, completed: true, succeeded: true, status: 'COMPLETED' };
    const job = await endpoint.runSync({
      input: { scene: 'a hill' },
      policy: { executionTimeout: 60_000, ttl: 60_000, lowPriority: true },
      webhook: 'http://127.0.0.1:9/told',
      s3Config: { accessId: 'x', accessSecret: 'x', bucketName: 'x', endpointUrl: 'x' },
    });
    expect(job).toMatchObject({ ...done, output: [{ scene: 'a hill' }] });
    expect(await endpoint.statusSync(job.id)).toMatchObject({ ...done, id: job.id });
    const { id } = await endpoint.run({ input: { scene: 'streamed' } });
    const parts: unknown[] = [];
    for await (const part of endpoint.stream(id)) parts.push(part);
    expect(parts).toEqual([{ output: 'a' }, { output: 'b' }, { output: 'c' }]);
    expect(await endpoint.health()).toMatchObject({ jobs: { completed: 2 }, workers: { idle: 1 } });
  });

  it('continues waiting for a job that is not done at once, and hears that it failed', async () => {
    const { url, held } = await openService();
    const endpoint = runpodSdk(key, { baseUrl: `${url}/${version}` }).endpoint(endpointId) ?? expect.fail();
    const waiting = endpoint.runSync({ input: { scene: 'a hill' } }, 1_000);
    const run = await held.next();
    const again = endpoint.statusSync(run.job.id);
    run.fail(new Error('no such sampler'));
    expect(await again).toMatchObject({ status: 'FAILED', completed: true, succeeded: false });
    expect(await waiting).toMatchObject({ status: 'FAILED', succeeded: false, error: 'no such sampler' });
  });

  it('purges the queue', async () => {
    const { url } = await openService({ workers: 0 });
    const endpoint = runpodSdk(key, { baseUrl: `${url}/${version}` }).endpoint(endpointId) ?? expect.fail();
    const { id } = await endpoint.run({ input: { scene: 'a hill' } });
    await endpoint.run({ input: { scene: 'a hill' } });
    expect(await endpoint.purgeQueue()).toEqual({ removed: 2, status: 'completed' });
    expect(await endpoint.status(id)).toMatchObject({ status: 'CANCELLED', completed: true });
  });
});

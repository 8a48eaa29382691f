/** A public client of such services works here unchanged. */
import runpodSdk from 'runpod-sdk';
import { expect, it } from 'vitest';
import { endpointId, key, openService } from './service-harness.ts';

it.each(['v2', 'v1'])('submits to and polls the service under %s', async (version) => {
  const { url, held } = await openService();
  const endpoint = runpodSdk(key, { baseUrl: `${url}/${version}` }).endpoint(endpointId);
  const submitted = await endpoint?.run({ input: { scene: 'a hill' } });
  expect(submitted?.status).toBe('IN_QUEUE');
  const id = submitted?.id ?? '';

  const run = await held.next();
  expect(run.job).toEqual({ id, input: { scene: 'a hill' } });
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
    id,
    output: [{ rendered_image: 'aGk=', seed: 7 }],
    started: true,
    status: 'COMPLETED',
    succeeded: true,
  });
});

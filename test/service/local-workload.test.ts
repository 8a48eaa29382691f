/**
 * Promise: the renderer of the local service returns a picture, its seed, and the words that the picture does
 * not show.
 */
import { localWorkload } from '../../src/service/instance/local-service.ts';
import { expect, it } from 'vitest';
import { workloadOf } from '../../src/service/workloads/workload-of.ts';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { openService, statusOnce, submit } from './service-harness.ts';

const pngSignature = '89504e470d0a1a0a';

it('answers with the picture as base64, its seed and the words that it does not show, the same for the same request', async () => {
  const { url } = await openService({ workload: localWorkload, workers: 2 });
  const input = {
    scene: 'a red house and a gryphlet on a bicycle on a hill',
    seed: 41,
    width: 64,
    height: 48,
  };
  const ids = [await submit(url, input), await submit(url, input)];
  const [first, second] = [
    await statusOnce(url, ids[0] ?? '', 'COMPLETED'),
    await statusOnce(url, ids[1] ?? '', 'COMPLETED'),
  ];
  expect(first.output).toEqual([
    {
      rendered_image: expect.any(String) as string,
      seed: 41,
      labelled_words: ['gryphlet'],
      ignored_words: [],
      notes: [],
    },
  ]);
  expect(second.output).toEqual(first.output);
  const [{ rendered_image: image }] = first.output as [{ rendered_image: string }];
  const picture = Buffer.from(image, 'base64');
  expect(picture.toString('hex', 0, 8)).toBe(pngSignature);
  expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([64, 48]);
});

it.each(['painter', 'scene-renderer'] as const)('runs the scene renderer if a file says %s', (name) => {
  const settings = endpointSettings({ id: 'a' }, { quickDeploy: name });
  const context = { url: 'http://127.0.0.1', workerKey: 'key' };
  const needs = { serviceId: '', containerTool: () => Promise.reject(new Error('none')) };
  expect(workloadOf(settings).start?.(settings, { ...context, ...needs }).name).toBe('scene-renderer');
});

it('fails a job that it cannot read, with a message', async () => {
  const { url } = await openService({ workload: localWorkload });
  const job = await statusOnce(url, await submit(url, { width: 64 }), 'FAILED');
  expect(job.error).toMatch(/scene/);
});

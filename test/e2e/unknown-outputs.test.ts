/** Promise: an unknown output or status is shown wherever a batch is shown. */
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { completed, startStandIn } from './stand-ins.ts';
import { eventsOf, folderWith, inProcess, pipeline, scenes, signalAt, statusOf, withKey } from './cli.ts';

it('says where the only picture of each output was found, in the run, `plan --check` and `explain`', async () => {
  const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#123' } })
    .png()
    .toBuffer();
  const service = await startStandIn({
    plan: () => ({ end: () => completed({ art: { image_base64: picture.toString('base64') } }) }),
  });
  const cwd = folderWith({ 'pipeline.yaml': pipeline(service.url), 'scenes.csv': scenes(3) });
  const run = await inProcess(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  expect(run.code, run.stderr).toBe(0);
  const warnings = eventsOf(run, 'warning').filter(({ text }) =>
    JSON.stringify(text).includes('art.image_base64'),
  );
  expect(warnings).toHaveLength(1);
  expect(service.inputs).toHaveLength(3);
  const plan = await inProcess(['plan', 'pipeline.yaml', '--check'], { cwd, ...withKey });
  expect(plan.stdout).toContain('pictures at art.image_base64 of the output');
  expect((await inProcess(['plan', 'pipeline.yaml'], { cwd })).stdout).not.toContain('art.image_base64');
  const [saved] = eventsOf(run, 'scene-saved');
  const explain = await inProcess(['explain', 'pipeline.yaml', textOf(saved?.['scene'])], { cwd });
  expect(explain.stdout).toContain('found at art.image_base64 of the output');
});

it('says a status that is not known at once, and shows it in `status` and `explain`', async () => {
  const service = await startStandIn({ plan: () => ({ end: () => ({ status: 'CANCELED' }) }) });
  const cwd = folderWith({ 'pipeline.yaml': pipeline(service.url), 'scenes.csv': scenes(2) });
  const run = await inProcess(['run', 'pipeline.yaml', '--json'], {
    cwd,
    ...withKey,
    at: signalAt(/(?:"type":"job-status"[^]*){2}/),
  });
  expect(run.code).toBe(143);
  const warned = eventsOf(run, 'warning').filter(({ text }) => JSON.stringify(text).includes('CANCELED'));
  expect(warned).toEqual([
    expect.objectContaining({ text: expect.stringContaining('`endpoint.statuses`') as string }),
  ]);
  expect((await inProcess(['status', 'pipeline.yaml'], { cwd })).stdout).toContain(
    'the service says "CANCELED" of 2 jobs in flight',
  );
  expect(await statusOf(cwd)).toMatchObject({ words: [{ word: 'CANCELED', jobs: 2 }] });
  const [submitted] = eventsOf(run, 'scene-submitted');
  const explain = await inProcess(['explain', 'pipeline.yaml', textOf(submitted?.['scene'])], { cwd });
  expect(explain.stdout).toContain('the service says "CANCELED"');
});

it('pays once for each scene whose content the worker refuses, and counts these apart', async () => {
  const says: Record<string, object> = {
    'a hill 1': { message: 'NSFW content detected' },
    'a hill 2': { status: 'Request Moderated', result: null },
  };
  const service = await startStandIn({
    plan: (input) => ({
      end: () => completed(says[textOf(input['scene'])] ?? { message: 'prompt is required' }),
    }),
  });
  const cwd = folderWith({
    'pipeline.yaml': pipeline(service.url, 'retry: {attempts: 2, firstWait: 1ms}'),
    'scenes.csv': 'id,scene\na,a hill 1\nb,a hill 2\nc,a hill 3\n',
  });
  const run = await inProcess(['run', 'pipeline.yaml'], { cwd, ...withKey });
  expect(run.code, run.stderr).toBe(3);
  expect(service.inputs.filter((input) => input['scene'] !== 'a hill 3')).toHaveLength(2);
  const status = (await inProcess(['status', 'pipeline.yaml'], { cwd })).stdout;
  expect(status).toContain('2 × content-refused: the worker says: ');
  expect(status).toContain('failed-inside: the worker says: prompt is required');
  expect(status).not.toContain('output.image');
});

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Promise: an unknown output or status is shown wherever a batch is shown. */
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { completed, startStandIn } from './stand-ins.ts';
import { nightOf, signalAt } from './cli.ts';

it('says where the only picture of each output was found, in the run, `plan --check` and `explain`', async () => {
  const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#123' } })
    .png()
    .toBuffer();
  const service = await startStandIn({
    plan: () => ({ end: () => completed({ art: { image_base64: picture.toString('base64') } }) }),
  });
  const night = nightOf(service.url, 3);
  const events = await night.run('--json').exits(0).lines();
  const warnings = events.filter(
    ({ type, text }) => type === 'warning' && JSON.stringify(text).includes('art.image_base64'),
  );
  expect(warnings).toHaveLength(1);
  expect(service.inputs).toHaveLength(3);
  await night.plan('--check').prints('pictures at art.image_base64 of the output');
  await night.plan().printsNo('art.image_base64');
  const saved = events.find(({ type }) => type === 'scene-saved');
  await night.explain(textOf(saved?.['scene'])).prints('found at art.image_base64 of the output');
});

it('reports an unknown status at once, and shows it in `status` and `explain`', async () => {
  const service = await startStandIn({ plan: () => ({ end: () => ({ status: 'CANCELED' }) }) });
  const night = nightOf(service.url, 2);
  const at = signalAt(/(?:"type":"job-status"[^]*){2}/);
  const events = await night.with({ at }).run('--json').exits(143).lines();
  const warned = events.filter(
    ({ type, text }) => type === 'warning' && JSON.stringify(text).includes('CANCELED'),
  );
  expect(warned).toEqual([
    expect.objectContaining({ text: expect.stringContaining('`endpoint.statuses`') as string }),
  ]);
  await night.status().prints('the service says "CANCELED" of 2 jobs in flight');
  expect(await night.state()).toMatchObject({ words: [{ word: 'CANCELED', jobs: 2 }] });
  const submitted = events.find(({ type }) => type === 'scene-submitted');
  await night.explain(textOf(submitted?.['scene'])).prints('the service says "CANCELED"');
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
  const night = nightOf(
    service.url,
    'id,scene\na,a hill 1\nb,a hill 2\nc,a hill 3\n',
    'retry: {attempts: 2, firstWait: 1ms}',
  );
  await night.run().exits(3);
  expect(service.inputs.filter((input) => input['scene'] !== 'a hill 3')).toHaveLength(2);
  const status = (await night.status()).stdout;
  expect(status).toContain('2 × content-refused: the worker says: ');
  expect(status).toContain('failed-inside: the worker says: prompt is required');
  expect(status).not.toContain('output.image');
});

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** Promise: commands that only read accept an output folder. They neither send nor change anything. */
import { mkdirSync, rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readBatch, retryScenes, runBatch, verifyBatch } from '../../src/index.ts';
import { nightOf } from './cli.ts';
import { startStandIn } from './stand-ins.ts';

it('reads a batch by its output folder, without a key, a list or a pipeline.yaml', async () => {
  const service = await startStandIn();
  const night = nightOf(service.url, 3);
  await night.start('run', '--quiet');
  rmSync(night.path('scenes.csv'));
  await night.start('report', 'out', '--json').exits(0);
  rmSync(night.path('pipeline.yaml'));
  await night
    .start('report', 'out')
    .fails(
      2,
      'out: this is the output folder of a batch, and settings of its pipeline.yaml are needed as well; pipeline.yaml, from which it was made, is not there. Name the file instead',
    );
  for (const [args, said] of [
    [['status', 'out'], /3 of 3 saved/],
    [['list', 'out'], /^s0 .*out\/images\/s0\.png/],
    [['explain', 'out', 's1'], /^scene +s1/],
    [['verify', 'out'], /good +3/],
    [['export', 'out', 'dataset', '--to', 'imagefolder'], /3 pictures in dataset/],
  ] as const) {
    await night
      .start(...args)
      .exits(0, said)
      .warnsOnly('');
  }
});

it('a program reads an output folder as well, and cannot run it', async () => {
  const service = await startStandIn();
  const night = nightOf(service.url, 2);
  await night.start('run', '--quiet');
  const out = night.path('out');
  expect(await readBatch(out)).toMatchObject({ kind: 'batch', dir: out, scenes: { saved: 2 } });
  expect(await verifyBatch(out)).toMatchObject({ kind: 'verified', checked: 2, good: 2 });
  const refused = { kind: 'wrong-use', text: 'One problem was found; nothing was sent and nothing written.' };
  expect(await runBatch(out).result).toMatchObject(refused);
  expect(await retryScenes(out, { confirm: 'paid again' })).toMatchObject(refused);
});

it('names the pipeline.yaml to commands that send or change something', async () => {
  const service = await startStandIn();
  const night = nightOf(service.url, 2);
  await night.start('run', '--quiet');
  const sent = service.submissions.length;
  for (const args of [
    ['run'],
    ['plan'],
    ['cancel'],
    ['retry'],
    ['verify', '--repair'],
    ['verify', '--move'],
  ]) {
    const [name = '', ...options] = args;
    await night
      .start(name, 'out', ...options)
      .fails(
        2,
        'out: this is the output folder of a batch; this command needs its pipeline.yaml, such as pipeline.yaml,',
      );
  }
  expect(service.submissions).toHaveLength(sent);
});

it('refuses --output beside an output folder, and a folder whose checkpoint is in a database', async () => {
  const service = await startStandIn();
  const night = nightOf(service.url, 1);
  await night.start('run', '--quiet');
  await night
    .start('status', 'out', '--output', 'other')
    .fails(2, '--output: out is an output folder itself; leave this out');
  mkdirSync(night.path('shared', '.shared'), { recursive: true });
  await night
    .start('status', 'shared')
    .fails(2, 'shared: this is the output folder of a batch whose checkpoint is in a database');
});

it('reads as much as possible of a folder with a damaged checkpoint', async () => {
  const service = await startStandIn();
  const night = nightOf(service.url, 2);
  await night.start('run', '--quiet');
  night.write('out/checkpoint.sqlite', 'no database');
  await night.start('status', 'out').fails(2, /out\/checkpoint\.sqlite/);
  expect(night.has('out/images')).toBe(true);
});

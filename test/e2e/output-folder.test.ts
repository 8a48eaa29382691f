/** Promise: who only reads may name the output folder; nothing is sent or changed because of one. */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readBatch, retryScenes, runBatch, verifyBatch } from '../../src/index.ts';
import { inProcess, newBatch, withKey } from './cli.ts';
import { startStandIn } from './stand-ins.ts';

it('reads a batch by its output folder, without a key, a list or a pipeline.yaml', async () => {
  const service = await startStandIn();
  const cwd = newBatch(service.url, 3);
  await inProcess(['run', '--quiet'], { cwd, ...withKey });
  rmSync(join(cwd, 'scenes.csv'));
  const report = await inProcess(['report', 'out', '--json'], { cwd });
  expect(report.code).toBe(0);
  rmSync(join(cwd, 'pipeline.yaml'));
  const without = await inProcess(['report', 'out'], { cwd });
  expect(without.code).toBe(2);
  expect(without.stderr).toContain(
    'out: this is the output folder of a batch, and settings of its pipeline.yaml are needed as well; pipeline.yaml, from which it was made, is not there. Name the file instead',
  );
  for (const [args, said] of [
    [['status', 'out'], /3 of 3 saved/],
    [['list', 'out'], /^s0 .*out\/images\/s0\.png/],
    [['explain', 'out', 's1'], /^scene +s1/],
    [['verify', 'out'], /good +3/],
    [['export', 'out', 'dataset', '--to', 'imagefolder'], /3 pictures in dataset/],
  ] as const) {
    const told = await inProcess([...args], { cwd });
    expect(told.stderr).toBe('');
    expect(told.stdout).toMatch(said);
    expect(told.code).toBe(0);
  }
});

it('is read by a program as well, and run by none', async () => {
  const service = await startStandIn();
  const cwd = newBatch(service.url, 2);
  await inProcess(['run', '--quiet'], { cwd, ...withKey });
  const out = join(cwd, 'out');
  expect(await readBatch(out)).toMatchObject({ kind: 'batch', dir: out, scenes: { saved: 2 } });
  expect(await verifyBatch(out)).toMatchObject({ kind: 'verified', checked: 2, good: 2 });
  const refused = { kind: 'wrong-use', text: 'One problem was found; nothing was sent and nothing written.' };
  expect(await runBatch(out).result).toMatchObject(refused);
  expect(await retryScenes(out, { confirm: 'paid again' })).toMatchObject(refused);
});

it('names the pipeline.yaml to commands that send or change something', async () => {
  const service = await startStandIn();
  const cwd = newBatch(service.url, 2);
  await inProcess(['run', '--quiet'], { cwd, ...withKey });
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
    const refused = await inProcess([name, 'out', ...options], { cwd, ...withKey });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(
      'out: this is the output folder of a batch; this command needs its pipeline.yaml, such as pipeline.yaml,',
    );
  }
  expect(service.submissions).toHaveLength(sent);
});

it('refuses --output beside an output folder, and a folder whose checkpoint is in a database', async () => {
  const service = await startStandIn();
  const cwd = newBatch(service.url, 1);
  await inProcess(['run', '--quiet'], { cwd, ...withKey });
  const both = await inProcess(['status', 'out', '--output', 'other'], { cwd });
  expect(both.code).toBe(2);
  expect(both.stderr).toContain('--output: out is an output folder itself; leave this out');
  mkdirSync(join(cwd, 'shared', '.shared'), { recursive: true });
  const shared = await inProcess(['status', 'shared'], { cwd });
  expect(shared.code).toBe(2);
  expect(shared.stderr).toContain(
    'shared: this is the output folder of a batch whose checkpoint is in a database',
  );
});

it('reads what it can of a folder whose checkpoint is damaged', async () => {
  const service = await startStandIn();
  const cwd = newBatch(service.url, 2);
  await inProcess(['run', '--quiet'], { cwd, ...withKey });
  writeFileSync(join(cwd, 'out/checkpoint.sqlite'), 'no database');
  const told = await inProcess(['status', 'out'], { cwd });
  expect(told.code).toBe(2);
  expect(told.stderr).toMatch(/out\/checkpoint\.sqlite/);
  expect(existsSync(join(cwd, 'out/images'))).toBe(true);
});

/** Promise: `status` answers from another terminal for a live, an ended and a killed run. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import { inProcess, newBatch, Program, small, statusOf, withKey } from './cli.ts';
import { startPatientService } from './stand-ins.ts';

it('tells a live run, without the key and though the manifest is gone; then its violent death', async () => {
  const service = await startPatientService();
  const cwd = newBatch(service.url, 40);
  const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  await run.event('scene-submitted', 16);
  rmSync(join(cwd, 'scenes.csv'));
  expect(await statusOf(cwd)).toMatchObject({
    type: 'status',
    isRunning: true,
    summary: { scenes: { active: 16, waiting: 24, saved: 0 }, attempts: { total: 16, submitted: 16 } },
  });
  expect((await inProcess(['status', 'pipeline.yaml'], { cwd })).stdout).toMatch(
    /running since .* \(process \d+ on /,
  );
  run.child.kill('SIGKILL');
  await run.finish();
  const dead = await inProcess(['status', 'pipeline.yaml'], { cwd });
  expect(dead.code).toBe(0);
  expect(dead.stdout).toMatch(/exited without a final status/);
  expect(dead.stdout).toMatch(/16 in flight, 24 waiting/);
});

it('tells an ended run, and that there is no batch yet', async () => {
  const cwd = newBatch('local', 2, small);
  const none = await inProcess(['status', 'pipeline.yaml'], { cwd });
  expect(none.code).toBe(2);
  expect(none.stderr).toContain('there is no batch here yet');
  expect(none.stderr).not.toContain('nothing was sent');
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  const ended = await inProcess(['status', 'pipeline.yaml'], { cwd });
  expect(ended.stdout).toMatch(/2 of 2 saved \(100 %\)/);
  expect(ended.stdout).toMatch(/ended 20.* with exit code 0/);
});

it('gives instants as the report does: ISO 8601', async () => {
  const cwd = newBatch('local', 2, small);
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  const { stdout } = await inProcess(['status', 'pipeline.yaml', '--json'], { cwd });
  type WithRun = { lastRun: { startedAt: unknown; endedAt: unknown } };
  const { lastRun } = (JSON.parse(stdout) as { summary: WithRun }).summary;
  const reported = JSON.parse(readFileSync(join(cwd, 'out/report/summary.json'), 'utf8')) as WithRun;
  const instant = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
  expect(lastRun.startedAt).toBe(reported.lastRun.startedAt);
  expect([lastRun.startedAt, lastRun.endedAt]).toEqual(Array(2).fill(expect.stringMatching(instant)));
});

it('takes a checkpoint that nothing was ever written to for no batch yet, and a run begins it', async () => {
  const cwd = newBatch('local', 1, small);
  mkdirSync(join(cwd, 'out'));
  writeFileSync(join(cwd, 'out/checkpoint.sqlite'), '');
  const none = await inProcess(['status', 'pipeline.yaml'], { cwd });
  expect(none.code).toBe(2);
  expect(none.stderr).toContain('there is no batch here yet');
  expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd })).code).toBe(0);
});

it('takes a checkpoint whose run died before it said anything for no batch yet', async () => {
  const cwd = newBatch('local', 1, small);
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  editCheckpoint(join(cwd, 'out'), 'DELETE FROM batch');
  const none = await inProcess(['report', 'pipeline.yaml'], { cwd });
  expect(none.code).toBe(2);
  expect(none.stderr).toContain('there is no batch here yet');
});

it('refuses to pay again for pictures that no checkpoint knows, and names the two ways', async () => {
  const cwd = newBatch('local', 1, small);
  await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  const checkpoint = join(cwd, 'out/checkpoint.sqlite');
  for (const suffix of ['', '-wal', '-shm']) rmSync(checkpoint + suffix, { force: true });
  writeFileSync(checkpoint, '');
  const emptied = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect(emptied.code).toBe(2);
  expect(emptied.stderr).toContain('out/checkpoint.sqlite: this file is empty, but out/images has');
  rmSync(checkpoint);
  const anew = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect(anew.code).toBe(2);
  expect(anew.stderr).toContain('out/checkpoint.sqlite: this file is missing, but out/images has');
  for (const way of ['--adopt', '--fresh'])
    expect(anew.stderr).toContain(`\`nightrender run pipeline.yaml ${way}\``);
  expect((await inProcess(['plan', 'pipeline.yaml'], { cwd })).stderr).toBe(anew.stderr);
});

/** Promise: `status` works from another terminal for a live, an ended and a killed run. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import { nightOf, small } from './cli.ts';
import { startPatientService } from './stand-ins.ts';

it('`status` shows a live run without the key and the manifest, and then that it was killed', async () => {
  const service = await startPatientService();
  const night = nightOf(service.url, 40);
  const run = night.program('run', 'pipeline.yaml', '--json');
  await run.event('scene-submitted', 16);
  rmSync(night.path('scenes.csv'));
  expect(await night.state()).toMatchObject({
    type: 'status',
    isRunning: true,
    summary: { scenes: { active: 16, waiting: 24, saved: 0 }, attempts: { total: 16, submitted: 16 } },
  });
  await night.status().prints(/running since .* \(process \d+ on /);
  run.child.kill('SIGKILL');
  await run.finish();
  await night.status().exits(0, /exited without a final status/, /16 in flight, 24 waiting/);
});

it('`status` shows an ended run, and says if there is no batch yet', async () => {
  const night = nightOf('local', 2, small);
  await night.status().fails(2, 'there is no batch here yet').warnsNo('nothing was sent');
  await night.run('--quiet');
  await night.status().prints(/2 of 2 saved \(100 %\)/, /ended 20.* with exit code 0/);
});

it('`status --json` writes times as in the report: ISO 8601', async () => {
  const night = nightOf('local', 2, small);
  await night.run('--quiet');
  const { stdout } = await night.status('--json');
  type WithRun = { lastRun: { startedAt: unknown; endedAt: unknown } };
  const { lastRun } = (JSON.parse(stdout) as { summary: WithRun }).summary;
  const reported = JSON.parse(night.read('out/report/summary.json')) as WithRun;
  const instant = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
  expect(lastRun.startedAt).toBe(reported.lastRun.startedAt);
  expect([lastRun.startedAt, lastRun.endedAt]).toEqual(Array(2).fill(expect.stringMatching(instant)));
});

it('`status` treats a checkpoint without any write as no batch yet, and a run begins it', async () => {
  const night = nightOf('local', 1, small);
  mkdirSync(night.path('out'));
  night.write('out/checkpoint.sqlite', '');
  await night.status().fails(2, 'there is no batch here yet');
  await night.run('--quiet').exits(0);
});

it('`status` treats a checkpoint whose run was killed at once as no batch yet', async () => {
  const night = nightOf('local', 1, small);
  await night.run('--quiet');
  editCheckpoint(night.path('out'), 'DELETE FROM batch');
  await night.do('report').fails(2, 'there is no batch here yet');
});

it('a run refuses to pay again for pictures that no checkpoint knows, and names the two options', async () => {
  const night = nightOf('local', 1, small);
  await night.run('--quiet');
  const checkpoint = night.path('out/checkpoint.sqlite');
  for (const suffix of ['', '-wal', '-shm']) rmSync(checkpoint + suffix, { force: true });
  writeFileSync(checkpoint, '');
  await night.run().fails(2, 'out/checkpoint.sqlite: this file is empty, but out/images has');
  rmSync(checkpoint);
  const anew = await night.run().fails(2, 'out/checkpoint.sqlite: this file is missing, but out/images has');
  for (const way of ['--adopt', '--fresh'])
    expect(anew.stderr).toContain(`\`nightrender run pipeline.yaml ${way}\``);
  await night.plan().warnsOnly(anew.stderr);
});

/** Promise: SIGHUP submits nothing more and finishes what is in flight; the signals that leave still leave. */
import { expect, it } from 'vitest';
import { folderWith, inProcess, newBatch, Program, serve, withKey } from './cli.ts';
import { startHeldService } from './held-service.ts';
import { startPatientService } from './stand-ins.ts';

it('ends with 3 where scenes are left, with nothing in flight, however often it is sent', async () => {
  const { url } = await serve(folderWith({}));
  const more = 'input: {scene: "{{ scene }}", width: 128, height: 128}\nconcurrency: 3\n';
  const cwd = newBatch(url, 400, more);
  const run = new Program(['run', 'pipeline.yaml'], { cwd, ...withKey });
  // Its first line tells that the plan is made; 400 scenes are not done a moment later.
  await run.says(/400 scenes to render/);
  run.child.kill('SIGHUP');
  await run.says(/stopping: /);
  run.child.kill('SIGHUP');
  const { code, stdout, stderr } = await run.finish();
  expect(code, stderr).toBe(3);
  expect(stdout).toMatch(/^Asked to finish \(SIGHUP\): the next run does the rest/m);
  const status = JSON.parse((await inProcess(['status', 'pipeline.yaml', '--json'], { cwd })).stdout) as {
    summary: { scenes: Record<string, number>; attempts: Record<string, number> };
  };
  expect(status.summary.scenes).toMatchObject({ active: 0, failed: 0 });
  expect(status.summary.attempts['submitted']).toBe(0);
  expect(status.summary.scenes['waiting']).toBeGreaterThan(0);
  expect(status.summary.scenes['saved']).toBe(
    (status.summary.attempts['total'] ?? 0) - (status.summary.attempts['refused'] ?? 0),
  );
});

it('ends with 0 where what is in flight is all that was left', async () => {
  const service = await startHeldService();
  const more = 'input: {scene: "{{ scene }}", width: 48, height: 32}\n';
  const cwd = newBatch(service.url, 6, more);
  const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
  await run.says(/(?:"scene-submitted"[^]*){6}/);
  run.child.kill('SIGHUP');
  await run.says(/"stopping"/);
  service.release();
  const { code, stderr } = await run.finish();
  expect(code, stderr).toBe(0);
});

it('does not keep SIGTERM from leaving at once', async () => {
  const service = await startPatientService();
  const cwd = newBatch(service.url, 2);
  const run = new Program(['run', 'pipeline.yaml'], { cwd, ...withKey });
  await run.says(/2 scenes to render/);
  run.child.kill('SIGHUP');
  await run.says(/Asked to finish/);
  run.child.kill('SIGTERM');
  expect((await run.finish()).code).toBe(143);
});

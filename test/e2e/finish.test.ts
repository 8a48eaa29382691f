/** Promise: after SIGHUP a run submits nothing more and finishes the jobs in flight; SIGINT and SIGTERM still leave. */
import { expect, it } from 'vitest';
import { nightOf, signalAt } from './cli.ts';
import { startHeldStandIn, startPatientService, startSlowService } from './stand-ins.ts';

it('a run that gets SIGHUP ends with 3 if scenes are left, with nothing in flight, however often it gets it', async () => {
  const { url } = await startSlowService(20);
  const night = nightOf(url, 400, 'concurrency: 3\n');
  // The first line means that the plan is made. 400 scenes cannot be done a moment later.
  const at = [/400 scenes to render/, /stopping: /].map((words) => signalAt(words, 'SIGHUP'));
  await night
    .with({ at })
    .run()
    .exits(3, /^Asked to finish \(SIGHUP\): the next run renders the rest/m);
  const status = JSON.parse((await night.status('--json')).stdout) as {
    summary: { scenes: Record<string, number>; attempts: Record<string, number> };
  };
  expect(status.summary.scenes).toMatchObject({ active: 0, failed: 0 });
  expect(status.summary.attempts['submitted']).toBe(0);
  expect(status.summary.scenes['waiting']).toBeGreaterThan(0);
  expect(status.summary.scenes['saved']).toBe(
    (status.summary.attempts['total'] ?? 0) - (status.summary.attempts['refused'] ?? 0),
  );
});

it('a run that gets SIGHUP ends with 0 if only the jobs in flight were left', async () => {
  const service = await startHeldStandIn();
  const night = nightOf(service.url, 6);
  const run = night.program('run', 'pipeline.yaml', '--json');
  await run.says(/(?:"scene-submitted"[^]*){6}/);
  run.child.kill('SIGHUP');
  await run.says(/"stopping"/);
  service.release();
  await run.finish().exits(0);
});

it('SIGHUP does not keep SIGTERM from ending the run at once', async () => {
  const service = await startPatientService();
  const night = nightOf(service.url, 2);
  const at = [signalAt(/2 scenes to render/, 'SIGHUP'), signalAt(/Asked to finish/, 'SIGTERM')];
  await night.with({ at }).run().exits(143);
});

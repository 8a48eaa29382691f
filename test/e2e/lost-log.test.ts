/**
 * Promise: `run` and `plan` reject a checkpoint that lost its log after a kill, `status` does not, and an
 * accepted loss is reported.
 */
import { rmSync, truncateSync } from 'node:fs';
import { expect, it } from 'vitest';
import { firstTier, isWhole, rest } from '../fakes/tier.ts';
import { type Night, nightOf, nthEvent, signalAt } from './cli.ts';
import { startPatientService, startSlowService } from './stand-ins.ts';

/** Creates a batch whose run has three jobs in flight at a time. */
async function batch() {
  const service = await startPatientService();
  return { service, night: nightOf(service.url, 5, 'concurrency: 3\n') };
}

function loseLog(night: Night): void {
  rmSync(night.path('out/checkpoint.sqlite-wal'));
}

it('a lost log is noticed after a kill, and the run continues only if the user accepts the loss', async () => {
  const { service, night } = await batch();
  // The longer tier kills a real process.
  await (isWhole ? night.killAfter(3) : night.cutOff(3));
  loseLog(night);
  for (const command of ['run', 'plan', 'cancel']) {
    await night.do(command).fails(2, /out\/checkpoint\.sqlite is lost: .*3 submissions .*--accept-loss/);
  }
  expect(service.inputs).toHaveLength(3);
  await night.plan('--accept-loss').exits(0);
  const at = signalAt(nthEvent('scene-submitted', 3));
  await night.with({ at }).run('--json', '--accept-loss').exits(143);
  expect(await night.state()).toMatchObject({
    summary: { attempts: { total: 6, submitted: 3, unanswered: 3 } },
  });
});

firstTier.it('a lost log does not prevent cancelling the jobs known to be in flight', async () => {
  const { service, night } = await batch();
  const at = signalAt(nthEvent('scene-submitted', 3));
  await night.with({ at }).run('--json').exits(143);
  await night.cutOff(2, { args: ['--concurrency', '5'] });
  loseLog(night);
  const cancelled = await night.do('cancel', '--accept-loss');
  // It cannot cancel the lost jobs.
  expect(cancelled.code, cancelled.stderr).toBe(3);
  expect(service.requests.filter(({ path }) => path.includes('/cancel/'))).toHaveLength(3);
  expect(await night.state()).toMatchObject({
    summary: { attempts: { total: 5, submitted: 3, unanswered: 2 } },
  });
});

rest.it('a log that is emptied during a run ends it with a true message', async () => {
  const service = await startSlowService(30);
  const night = nightOf(service.url, 150, 'concurrency: 3\n');
  const program = night.program('run', 'pipeline.yaml', '--json');
  await program.event('scene-saved', 8);
  truncateSync(night.path('out/checkpoint.sqlite-wal'));
  const { stdout, stderr } = await program.finish().exits(14);
  expect(stdout + stderr).toMatch(/-wal was emptied during the run|the checkpoint is damaged, or its disk/);
  expect(stdout + stderr).not.toMatch(/A bug|nothing was sent|^ +at /m);
  const paid = service.inputs.length;
  expect(paid).toBeLessThan(150);
  await night.run().exits(2);
  expect(service.inputs).toHaveLength(paid);
});

/** Promise: what a kill and a lost log have taken is refused by `run` and `plan`, not by `status`, and declared once accepted. */
import { rmSync, truncateSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isWhole, rest } from '../fakes/tier.ts';
import { type Night, nightOf, nthEvent, signalAt } from './cli.ts';
import { startPatientService, startSlowService } from './stand-ins.ts';

/** A run takes three jobs of it at a time. */
async function batch() {
  const service = await startPatientService();
  return { service, night: nightOf(service.url, 5, 'concurrency: 3\n') };
}

function loseLog(night: Night): void {
  rmSync(night.path('out/checkpoint.sqlite-wal'));
}

it('is noticed after a kill, and goes on only on a word', async () => {
  const { service, night } = await batch();
  // A real kill in the longer tier.
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

it('keeps nobody from cancelling what is known to be in flight', async () => {
  const { service, night } = await batch();
  const at = signalAt(nthEvent('scene-submitted', 3));
  await night.with({ at }).run('--json').exits(143);
  await night.cutOff(2, { args: ['--concurrency', '5'] });
  loseLog(night);
  const cancelled = await night.do('cancel', '--accept-loss');
  // It cancels none.
  expect(cancelled.code, cancelled.stderr).toBe(3);
  expect(service.requests.filter(({ path }) => path.includes('/cancel/'))).toHaveLength(3);
  expect(await night.state()).toMatchObject({
    summary: { attempts: { total: 5, submitted: 3, unanswered: 2 } },
  });
});

rest.it('that is emptied during a run ends it in true words', async () => {
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

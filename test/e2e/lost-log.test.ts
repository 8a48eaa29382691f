/** Promise: what a kill and a lost log have taken is refused by `run` and `plan`, not by `status`, and declared once accepted. */
import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isWhole, rest } from '../fakes/tier.ts';
import { cutOffRun, inProcess, killedRun, newBatch, nthEvent, Program, signalAt, testKey } from './cli.ts';
import { startPatientService, startSlowService } from './stand-ins.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

/** A run takes three jobs of it at a time. */
async function batch() {
  const service = await startPatientService();
  return { service, cwd: newBatch(service.url, 5, 'concurrency: 3\n') };
}

const run = ['run', 'pipeline.yaml', '--json'];

function loseLog(cwd: string): void {
  rmSync(join(cwd, 'out/checkpoint.sqlite-wal'));
}

it('is noticed after a kill, and goes on only on a word', async () => {
  const { service, cwd } = await batch();
  // A real kill in the longer tier.
  await (isWhole ? killedRun : cutOffRun)(cwd, 3);
  loseLog(cwd);
  for (const command of ['run', 'plan', 'cancel']) {
    const refused = await inProcess([command, 'pipeline.yaml'], { cwd, env });
    expect(refused.stderr).toMatch(/out\/checkpoint\.sqlite is lost: .*3 submissions .*--accept-loss/);
    expect(refused.code, refused.stderr).toBe(2);
  }
  expect(service.inputs).toHaveLength(3);
  expect((await inProcess(['plan', 'pipeline.yaml', '--accept-loss'], { cwd, env })).code).toBe(0);
  const at = signalAt(nthEvent('scene-submitted', 3));
  expect((await inProcess([...run, '--accept-loss'], { cwd, env, at })).code).toBe(143);
  const status = await inProcess(['status', 'pipeline.yaml', '--json'], { cwd, env });
  expect(JSON.parse(status.stdout)).toMatchObject({
    summary: { attempts: { total: 6, submitted: 3, unanswered: 3 } },
  });
});

it('keeps nobody from cancelling what is known to be in flight', async () => {
  const { service, cwd } = await batch();
  const at = signalAt(nthEvent('scene-submitted', 3));
  expect((await inProcess(run, { cwd, env, at })).code).toBe(143);
  await cutOffRun(cwd, 2, { args: ['--concurrency', '5'] });
  loseLog(cwd);
  const cancelled = await inProcess(['cancel', 'pipeline.yaml', '--accept-loss'], { cwd, env });
  // It cancels none.
  expect(cancelled.code, cancelled.stderr).toBe(3);
  expect(service.requests.filter(({ path }) => path.includes('/cancel/'))).toHaveLength(3);
  const status = await inProcess(['status', 'pipeline.yaml', '--json'], { cwd, env });
  expect(JSON.parse(status.stdout)).toMatchObject({
    summary: { attempts: { total: 5, submitted: 3, unanswered: 2 } },
  });
});

rest.it('that is emptied during a run ends it in true words', async () => {
  const service = await startSlowService(30);
  const cwd = newBatch(service.url, 150, 'concurrency: 3\n');
  const program = new Program(run, { cwd, env });
  await program.event('scene-saved', 8);
  truncateSync(join(cwd, 'out/checkpoint.sqlite-wal'));
  const { code, stdout, stderr } = await program.finish();
  expect(code, stderr).toBe(14);
  expect(stdout + stderr).toMatch(/-wal was emptied during the run|the checkpoint is damaged, or its disk/);
  expect(stdout + stderr).not.toMatch(/A bug|nothing was sent|^ +at /m);
  const paid = service.inputs.length;
  expect(paid).toBeLessThan(150);
  const refused = await inProcess(['run', 'pipeline.yaml'], { cwd, env });
  expect(refused.code, refused.stderr).toBe(2);
  expect(service.inputs).toHaveLength(paid);
});

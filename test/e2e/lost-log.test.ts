/** Promise: what a kill and a lost log have taken is refused by `run` and `plan`, not by `status`, and declared once accepted. */
import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inProcess, newBatch, Program, testKey } from './cli.ts';
import { startPatientService, startSlowService } from './stand-ins.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

/** A run with three jobs at the service. */
async function begun() {
  const service = await startPatientService();
  const cwd = newBatch(service.url, 5, 'concurrency: 3\n');
  const program = new Program(['run', 'pipeline.yaml', '--json'], { cwd, env });
  await program.event('scene-submitted', 3);
  return { service, cwd, program };
}

async function lose(program: Program, cwd: string): Promise<void> {
  program.child.kill('SIGKILL');
  await program.finish();
  rmSync(join(cwd, 'out/checkpoint.sqlite-wal'));
}

it('is noticed after a real kill, and goes on only on a word', async () => {
  const { service, cwd, program } = await begun();
  await lose(program, cwd);
  for (const command of ['run', 'plan', 'cancel']) {
    const refused = await inProcess([command, 'pipeline.yaml'], { cwd, env });
    expect(refused.stderr).toMatch(/out\/checkpoint\.sqlite is lost: .*3 submissions .*--accept-loss/);
    expect(refused.code, refused.stderr).toBe(2);
  }
  expect(service.inputs).toHaveLength(3);
  expect((await inProcess(['plan', 'pipeline.yaml', '--accept-loss'], { cwd, env })).code).toBe(0);
  const accepted = new Program(['run', 'pipeline.yaml', '--json', '--accept-loss'], { cwd, env });
  await accepted.event('scene-submitted', 3);
  accepted.child.kill('SIGTERM');
  expect((await accepted.finish()).code).toBe(143);
  const status = await inProcess(['status', 'pipeline.yaml', '--json'], { cwd, env });
  expect(JSON.parse(status.stdout)).toMatchObject({
    summary: { attempts: { total: 6, submitted: 3, unanswered: 3 } },
  });
});

it('keeps nobody from cancelling what is known to be in flight', async () => {
  const { service, cwd, program } = await begun();
  program.child.kill('SIGTERM');
  expect((await program.finish()).code).toBe(143);
  const resumed = new Program(['run', 'pipeline.yaml', '--json', '--concurrency', '5'], { cwd, env });
  await resumed.event('scene-submitted', 2);
  await lose(resumed, cwd);
  const cancelled = await inProcess(['cancel', 'pipeline.yaml', '--accept-loss'], { cwd, env });
  // It cancels none.
  expect(cancelled.code, cancelled.stderr).toBe(3);
  expect(service.requests.filter(({ path }) => path.includes('/cancel/'))).toHaveLength(3);
  const status = await inProcess(['status', 'pipeline.yaml', '--json'], { cwd, env });
  expect(JSON.parse(status.stdout)).toMatchObject({
    summary: { attempts: { total: 5, submitted: 3, unanswered: 2 } },
  });
});

it('that is emptied during a run ends it in true words', async () => {
  const service = await startSlowService(30);
  const cwd = newBatch(service.url, 150, 'concurrency: 3\n');
  const program = new Program(['run', 'pipeline.yaml', '--json'], { cwd, env });
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

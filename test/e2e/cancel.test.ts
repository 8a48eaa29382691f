/** Promise: `cancel` ends the jobs in flight at the service, saves finished ones, and lists those that still run. */
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { expect, it } from 'vitest';
import { rest } from '../fakes/tier.ts';
import { inProcess, killedRun, linesOf, newBatch, Program, statusOf, withKey } from './cli.ts';
import { startHeldService } from './held-service.ts';
import { startPatientService } from './stand-ins.ts';

const small = 'input: {scene: "{{ scene }}", width: 48, height: 32}\n';

rest.it('cancels the jobs of a run that was stopped, and the next run renders their scenes', async () => {
  const service = await startHeldService();
  const cwd = newBatch(service.url, 12, `${small}retry: {attempts: 1}\n`);
  await killedRun(cwd, 12);
  const { code, stdout, stderr } = await inProcess(['cancel', 'pipeline.yaml'], { cwd, ...withKey });
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^Nothing is in flight\.\n {2}in flight +12\n {2}cancelled +12 /);
  expect(new Set(statesAt(service.dataDir))).toEqual(new Set(['CANCELLED']));
  expect(await statusOf(cwd)).toMatchObject({
    summary: {
      scenes: { waiting: 12, active: 0, failed: 0 },
      attempts: { submitted: 0 },
      failures: [{ kind: 'cancelled', attempts: 12 }],
      lastRun: { exitCode: 0, ending: 'Nothing is in flight' },
    },
  });
  service.release();
  const next = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd, ...withKey });
  expect(next.code, next.stderr).toBe(0);
  expect(statesAt(service.dataDir).filter((state) => state === 'COMPLETED')).toHaveLength(12);
  expect(statesAt(service.dataDir)).toHaveLength(24);
});

it('saves what is done already: it is paid', async () => {
  const service = await startHeldService();
  const cwd = newBatch(service.url, 3, small);
  await killedRun(cwd, 3);
  service.release();
  await expect.poll(() => new Set(statesAt(service.dataDir))).toEqual(new Set(['COMPLETED']));
  const { code, stdout, stderr } = await inProcess(['cancel', 'pipeline.yaml', '--json'], {
    cwd,
    ...withKey,
  });
  expect(code, stderr).toBe(0);
  const end = linesOf({ stdout }).at(-1);
  expect(end).toMatchObject({
    type: 'cancel-ended',
    exitCode: 0,
    found: 3,
    saved: 3,
    cancelled: 0,
    left: [],
  });
  expect((await inProcess(['verify', 'pipeline.yaml'], { cwd })).stdout).toMatch(/^checked +3\ngood +3\n/);
});

rest.it(
  'leaves in flight what the service does not cancel, says so, and the next run follows it',
  async () => {
    const service = await startPatientService();
    const cwd = newBatch(service.url, 2);
    const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
    await run.event('scene-submitted', 2);
    const held = await inProcess(['cancel', 'pipeline.yaml'], { cwd, ...withKey });
    expect(held.code).toBe(11);
    expect(held.stderr).toContain('Stop it first');
    run.child.kill('SIGKILL');
    await run.finish();
    const { code, stdout, stderr } = await inProcess(['cancel', 'pipeline.yaml'], { cwd, ...withKey });
    expect(code, stderr).toBe(3);
    expect(stdout).toContain('2 jobs are still in flight.');
    expect(stdout).toMatch(/ {2}s0 \(job job-1\): the service does not cancel the job \(405/);
    expect(stdout).toContain('2 jobs run on and may be billed');
    const next = new Program(['run', 'pipeline.yaml', '--json'], { cwd, ...withKey });
    expect(await next.event('recovered')).toMatchObject({ inFlight: 2 });
    expect(service.inputs).toHaveLength(2);
    next.child.kill('SIGKILL');
    await next.finish();
    // As it is pasted from there.
    const retry = (/`nightrender (retry .+ --give-up)`/.exec(stdout)?.[1] ?? '').split(' ');
    const plain = await inProcess(retry.slice(0, -1), { cwd });
    expect(plain.code).toBe(2);
    expect(plain.stderr).toContain('`nightrender retry pipeline.yaml --id s0 --give-up`');
    const given = await inProcess(retry, { cwd });
    expect(given, given.stderr).toMatchObject({ code: 0 });
    expect(given.stdout).toContain('1 job in flight given up; they may be billed.');
    expect(given.stdout).toContain('s0 (given-up)');
    const again = await inProcess(retry, { cwd });
    expect(again.code).toBe(2);
    expect(again.stderr).toContain('"s0" has no job in flight');
  },
);

rest.it(
  'ends with 12 where the key is refused, with 2 where there is no batch, and with 0 where nothing is in flight',
  async () => {
    const service = await startHeldService();
    const cwd = newBatch(service.url, 6, small);
    expect((await inProcess(['cancel', 'pipeline.yaml'], { cwd, ...withKey })).code).toBe(2);
    await killedRun(cwd, 6);
    const other = { env: { NIGHTRENDER_API_KEY: 'another-key-9' } };
    const refused = await inProcess(['cancel', 'pipeline.yaml'], { cwd, ...other });
    expect(refused.code, refused.stderr).toBe(12);
    expect(refused.stdout).toMatch(/does not accept the key/);
    expect((await inProcess(['cancel', 'pipeline.yaml', '--quiet'], { cwd, ...withKey })).code).toBe(0);
    const nothing = await inProcess(['cancel', 'pipeline.yaml'], { cwd, ...withKey });
    expect(nothing).toMatchObject({ code: 0, stdout: 'Nothing is in flight.\n  in flight   0\n' });
  },
);

rest.it('cancels at the local service of the batch', async () => {
  const cwd = newBatch('local', 16, small);
  await killedRun(cwd, 16);
  const { code, stderr, stdout } = await inProcess(['cancel', 'pipeline.yaml', '--json'], { cwd });
  expect(code, stderr).toBe(0);
  expect(linesOf({ stdout }).at(-1)).toMatchObject({ left: [] });
});

function statesAt(dataDir: string): string[] {
  const db = new Sqlite(join(dataDir, 'service.sqlite'), { readonly: true });
  try {
    return db
      .prepare<[], { state: string }>('SELECT state FROM job')
      .all()
      .map(({ state }) => state);
  } finally {
    db.close();
  }
}

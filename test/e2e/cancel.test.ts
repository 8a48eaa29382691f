/** Promise: `cancel` ends the jobs in flight at the service, saves finished ones, and lists those that still run. */
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { expect } from 'vitest';
import { firstTier, rest } from '../fakes/tier.ts';
import { nightOf } from './cli.ts';
import { startHeldService } from './held-service.ts';
import { startPatientService } from './stand-ins.ts';

const small = 'input: {scene: "{{ scene }}", width: 48, height: 32}\n';

rest.it(
  '`cancel` cancels the jobs of a run that was stopped, and the next run renders their scenes',
  async () => {
    const service = await startHeldService();
    const night = nightOf(service.url, 12, `${small}retry: {attempts: 1}\n`);
    await night.killAfter(12);
    await night.do('cancel').exits(0, /^Nothing is in flight\.\n {2}in flight +12\n {2}cancelled +12 /);
    expect(new Set(statesAt(service.dataDir))).toEqual(new Set(['CANCELLED']));
    expect(await night.state()).toMatchObject({
      summary: {
        scenes: { waiting: 12, active: 0, failed: 0 },
        attempts: { submitted: 0 },
        failures: [{ kind: 'cancelled', attempts: 12 }],
        lastRun: { exitCode: 0, ending: 'Nothing is in flight' },
      },
    });
    service.release();
    await night.run('--quiet').exits(0);
    expect(statesAt(service.dataDir).filter((state) => state === 'COMPLETED')).toHaveLength(12);
    expect(statesAt(service.dataDir)).toHaveLength(24);
  },
);

firstTier.it('`cancel` saves finished jobs, because they are paid for', async () => {
  const service = await startHeldService();
  const night = nightOf(service.url, 3, small);
  await night.killAfter(3);
  service.release();
  await expect.poll(() => new Set(statesAt(service.dataDir))).toEqual(new Set(['COMPLETED']));
  const end = (await night.do('cancel', '--json').exits(0).lines()).at(-1);
  expect(end).toMatchObject({
    type: 'cancel-ended',
    exitCode: 0,
    found: 3,
    saved: 3,
    cancelled: 0,
    left: [],
  });
  await night.verify().prints(/^checked +3\ngood +3\n/);
});

rest.it(
  '`cancel` leaves jobs in flight that the service does not cancel, says so, and the next run follows them',
  async () => {
    const service = await startPatientService();
    const night = nightOf(service.url, 2);
    const run = night.program('run', 'pipeline.yaml', '--json');
    await run.event('scene-submitted', 2);
    await night.do('cancel').fails(11, 'Stop it first');
    run.child.kill('SIGKILL');
    await run.finish();
    const { stdout } = await night
      .do('cancel')
      .exits(
        3,
        '2 jobs are still in flight.',
        / {2}s0 \(job job-1\): the service does not cancel the job \(405/,
        '2 jobs run on and may be billed',
      );
    const next = night.program('run', 'pipeline.yaml', '--json');
    expect(await next.event('recovered')).toMatchObject({ inFlight: 2 });
    expect(service.inputs).toHaveLength(2);
    next.child.kill('SIGKILL');
    await next.finish();
    // Runs the command exactly as it was printed.
    const retry = (/`nightrender (retry .+ --give-up)`/.exec(stdout)?.[1] ?? '').split(' ');
    await night.start(...retry.slice(0, -1)).fails(2, '`nightrender retry pipeline.yaml --id s0 --give-up`');
    await night.start(...retry).exits(0, '1 job in flight given up; they may be billed.', 's0 (given-up)');
    await night.start(...retry).fails(2, '"s0" has no job in flight');
  },
);

rest.it(
  '`cancel` ends with 12 if the key is refused, with 2 if there is no batch, and with 0 if nothing is in flight',
  async () => {
    const service = await startHeldService();
    const night = nightOf(service.url, 6, small);
    await night.do('cancel').exits(2);
    await night.killAfter(6);
    const other = { env: { NIGHTRENDER_API_KEY: 'another-key-9' } };
    await night
      .with({ ...other })
      .do('cancel')
      .exits(12, /does not accept the key/);
    await night.do('cancel', '--quiet').exits(0);
    await night.do('cancel').exits(0).printsOnly('Nothing is in flight.\n  in flight   0\n');
  },
);

rest.it('`cancel` cancels jobs at the local service of the batch', async () => {
  const night = nightOf('local', 16, small);
  await night.killAfter(16);
  expect((await night.do('cancel', '--json').exits(0).lines()).at(-1)).toMatchObject({ left: [] });
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

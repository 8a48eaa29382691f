/** Promise: on a real Slurm a submitted batch survives requeue, wall time and a lost node, pays for nothing twice, and reports its true state. */
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { hasSlurm, Slurm } from '../engines/slurm.ts';
import { jobsOf, type Night, nightOf, withKey } from './cli.ts';
import { startHeldService, type HeldService } from './held-service.ts';
import { unusedPort } from './listen-on-loopback.ts';

const small = 'input: {scene: "{{ scene }}", width: 48, height: 32}\nshutdown: {grace: 1s}\n';
const longest = 300_000;

describe.skipIf(!hasSlurm)(
  'on Slurm (skipped if slurmctld, slurmd and munge are not installed, or not root)',
  () => {
    const slurm = new Slurm();
    beforeAll(async () => slurm.start(await Promise.all([1, 2, 3, 4].map(() => unusedPort()))));
    afterAll(() => slurm.stop());

    const env = { ...withKey.env, ...slurm.env };

    /** Submits the batch and returns the id of its Slurm job. */
    async function submit(night: Night, ...more: string[]): Promise<string> {
      const { stderr } = await night
        .with({ env })
        .built('submit', 'pipeline.yaml', '--on', 'slurm', ...more)
        .exits(0);
      const job = /Submitted as job (\d+)/.exec(stderr)?.[1] ?? '';
      onTestFinished(() => void slurm.ask('scancel', job));
      return job;
    }

    function logOf(night: Night, job: string): string {
      const name = readdirSync(night.cwd).find((file) => file.endsWith(`-${job}_0.log`)) ?? '';
      return night.read(name);
    }

    /** Submits a batch and waits until its 24 jobs are in flight. */
    async function submitHeld(
      ...more: string[]
    ): Promise<{ night: Night; job: string; service: HeldService }> {
      const service = await startHeldService();
      const night = nightOf(service.url, 24, `${small}concurrency: 24\n`);
      const job = await submit(night, ...more);
      await expect.poll(() => jobsOf(service.dataDir), { timeout: longest }).toBe(24);
      return { night, job, service };
    }

    function expectAllOnce(night: Night, service: HeldService): void {
      expect(jobsOf(service.dataDir)).toBe(24);
      expect(readdirSync(night.path('out/images'))).toHaveLength(24);
    }

    it('a batch is rendered, its log has its name, and its state is shown', async () => {
      const night = nightOf('local', 24, small);
      const job = await submit(night);
      await slurm.taskIn(job, 'COMPLETED');
      expect(readdirSync(night.path('out/images'))).toHaveLength(24);
      expect(readdirSync(night.cwd).filter((file) => file.endsWith('.log'))).toEqual([
        expect.stringMatching(new RegExp(`^nightrender-[a-z0-9-]+-out-[0-9a-f]{6}-${job}_0\\.log$`)),
      ]);
      expect(logOf(night, job)).toContain('Every scene is saved: 24 of 24 scenes');
      await night
        .with({ env })
        .built('submit', 'pipeline.yaml', '--status')
        .exits(0, new RegExp(`: 1 COMPLETED\n {2}${job}_0 {2}COMPLETED {2}n[12]\\b`));
    });

    it(
      'a batch continues after a requeue in the middle, and pays for nothing twice',
      { timeout: longest },
      async () => {
        const { night, job, service } = await submitHeld();
        slurm.ask('scontrol', 'requeue', job);
        await expect.poll(() => logOf(night, job), { timeout: longest }).toMatch(/start 2\n[^]*24 in flight/);
        service.release();
        await slurm.taskIn(job, 'COMPLETED');
        expectAllOnce(night, service);
      },
    );

    it(
      'a second copy waits if Slurm has lost the node of a task that lives on',
      { timeout: longest },
      async () => {
        const { night, job, service } = await submitHeld();
        const [node = ''] = (await slurm.taskIn(job, 'RUNNING')).details;
        await slurm.killNode(node);
        await expect
          .poll(() => logOf(night, job), { timeout: longest })
          .toMatch(/start 2\n[^]*another run, process/);
        service.release();
        const { exitCode } = await slurm.taskIn(job, 'COMPLETED');
        expect([exitCode, slurm.restarts(job)]).toEqual([0, 1]);
        expectAllOnce(night, service);
        expect(logOf(night, job).match(/Every scene is saved: 24 of 24 scenes/g)).toHaveLength(2);
        slurm.startNode(node);
      },
    );

    it(
      'a task ends in an orderly way before the wall time, and continues in another allocation',
      { timeout: longest },
      async () => {
        const { night, job, service } = await submitHeld('--drain', '2s', '--', '--time=2');
        await expect
          .poll(() => logOf(night, job), { timeout: longest })
          .toMatch(/the task goes back into the queue\n[^]*start 2\n/);
        expect(logOf(night, job)).toMatch(/Terminated \(SIGTERM\)/);
        service.release();
        await slurm.taskIn(job, 'COMPLETED');
        expect(slurm.restarts(job)).toBe(1);
        expectAllOnce(night, service);
      },
    );

    it('a task makes way for a more urgent one, and continues after it', { timeout: longest }, async () => {
      const { night, job, service } = await submitHeld('--drain', '2s', '--', '--time=60');
      const all = ['--partition=urgent', '--nodes=2', '--ntasks-per-node=2', '--output=/dev/null'];
      slurm.ask('sbatch', ...all, '--wrap', 'true');
      await expect
        .poll(() => logOf(night, job), { timeout: longest })
        .toMatch(/Terminated \(SIGTERM\)[^]*the task goes back into the queue\n[^]*start 2\n/);
      service.release();
      await slurm.taskIn(job, 'COMPLETED');
      expectAllOnce(night, service);
    });

    it(
      'a task ends in an orderly way at scancel, stays ended, and continues when it is asked to',
      { timeout: longest },
      async () => {
        const { night, job, service } = await submitHeld();
        slurm.ask('scancel', job);
        await slurm.taskIn(job, 'CANCELLED');
        expect(logOf(night, job)).toMatch(/Terminated \(SIGTERM\)[^]*24 jobs/);
        expect(slurm.restarts(job)).toBe(0);
        service.release();
        await slurm.taskIn(await submit(night), 'COMPLETED');
        expectAllOnce(night, service);
      },
    );

    it('HUP has a runner collect what is in flight and end', { timeout: longest }, async () => {
      const { night, job, service } = await submitHeld();
      slurm.ask('scancel', '--batch', '--signal=HUP', job);
      await expect.poll(() => logOf(night, job)).toContain('SIGHUP');
      service.release();
      await slurm.taskIn(job, 'COMPLETED');
      expectAllOnce(night, service);
    });

    it('a reached limit causes no restart', async () => {
      const night = nightOf('local', 24, `${small}limits: {jobs: 5}\n`);
      const job = await submit(night);
      const { exitCode } = await slurm.taskIn(job, 'FAILED');
      expect([exitCode, slurm.restarts(job)]).toEqual([13, 0]);
      await night
        .with({ env })
        .built('submit', 'pipeline.yaml', '--status')
        .prints('exit code 13: deadline or budget reached');
    });

    it('a refusal of Slurm is reported in its words', async () => {
      const night = nightOf('local', 1, small);
      const args = ['submit', 'pipeline.yaml', '--on', 'slurm', '--', '--partition=none'];
      await night
        .with({ env })
        .built(...args)
        .fails(2, 'sbatch: sbatch: error: invalid partition specified: none');
    });
  },
);

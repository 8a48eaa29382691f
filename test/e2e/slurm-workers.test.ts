/** Promise: on a real Slurm the workers of an endpoint start and end by its queue, never more than needed, and none is ended during a job. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { SlurmQueue } from '../../src/clusters/slurm-workers.ts';
import { hasSlurm, Slurm } from '../engines/slurm.ts';
import { enter } from '../service/console/visit.ts';
import { folderWith, testKey } from './cli.ts';
import { unusedPort } from './listen-on-loopback.ts';
import { Served, type Job } from './served.ts';

/** A worker program that ends a job once the file that its input names exists. */
const program = `
import { existsSync } from 'node:fs';
process.stdin.setEncoding('utf8').on('data', async (text) => {
  for (const line of text.split('\\n').filter(Boolean)) {
    const { id, input } = JSON.parse(line);
    console.error('at ' + input.until);
    while (!existsSync(input.until)) await new Promise((resolve) => setTimeout(resolve, 50));
    console.log(JSON.stringify({ id, output: { pid: process.pid, model: process.env.MODEL } }));
  }
});`;

const longest = 400_000;
const patience = { timeout: 120_000, interval: 250 };

describe.skipIf(!hasSlurm)(
  'on Slurm (skipped if slurmctld, slurmd and munge are not installed, or not root)',
  () => {
    const slurm = new Slurm();
    beforeAll(async () => slurm.start(await Promise.all([1, 2, 3, 4].map(() => unusedPort()))));
    afterAll(() => slurm.stop());

    class Farm {
      readonly cwd: string;
      readonly #port: number;
      service: Served;

      static async start(keys: string, wrappers: Record<string, string> = {}): Promise<Farm> {
        const port = await unusedPort();
        const yaml = `publicUrl: http://127.0.0.1:${port}
endpoints:
  - {name: Farm, command: [node, program.mjs, 'a,scene'], environment: {MODEL: xl}, executionTimeout: 30s, ttl: 10m, ${keys}}
`;
        const cwd = folderWith({ 'service.yaml': yaml, 'program.mjs': program });
        mkdirSync(join(cwd, 'bin'));
        for (const [name, script] of Object.entries(wrappers)) wrap(cwd, name, script);
        const farm = new Farm(cwd, port, await serve(cwd, port));
        onTestFinished(async () => {
          // The service must end before its folder is removed, and it would restart workers that are kept.
          await farm.service.kill();
          slurm.ask('scancel', ...farm.tasks('%i'));
          await expect
            .poll(() => farm.states().filter((state) => /PEND|RUN|COMPLETING/.test(state)), patience)
            .toEqual([]);
        });
        return farm;
      }

      private constructor(cwd: string, port: number, service: Served) {
        this.cwd = cwd;
        this.#port = port;
        this.service = service;
      }

      async killAndRestart(): Promise<void> {
        await this.service.kill();
        this.service = await serve(this.cwd, this.#port);
      }

      get logs(): string[] {
        return readdirSync(this.cwd).filter((file) => file.endsWith('.log'));
      }

      /** Returns this field of its workers at Slurm, including those that have ended. */
      tasks(format: string): string[] {
        const args = ['--noheader', '--array', '--states=all', `--format=%Z ${format}`];
        const lines = slurm.ask('squeue', ...args).split('\n');
        return lines.flatMap((line) => (line.startsWith(`${this.cwd} `) ? [line.split(' ')[1] ?? ''] : []));
      }

      states(): string[] {
        return this.tasks('%T');
      }

      count(state: string): number {
        return this.states().filter((one) => one === state).length;
      }

      async submit(file: string): Promise<string> {
        const policy = { executionTimeout: 500_000 };
        return await this.service.submit('farm', { until: join(this.cwd, file) }, policy);
      }

      release(file: string): void {
        writeFileSync(join(this.cwd, file), '');
      }

      async workers(): Promise<Record<string, number>> {
        const answer = await this.service.ask('/v2/farm/health');
        return ((await answer.json()) as { workers: Record<string, number> }).workers;
      }

      async ended(id: string): Promise<Job & { workerId: string; output: { pid: number; model: string } }> {
        return (await this.service.ended('farm', id)) as never;
      }
    }

    /** Replaces a program of Slurm by this script, in which `real` runs the original. */
    function wrap(cwd: string, name: string, script: string): void {
      const file = join(cwd, 'bin', name);
      const real = `real() { PATH=\${PATH#*:} command ${name} "$@"; }`;
      writeFileSync(file, `#!/bin/bash\n${real}\n${script}\n`, { mode: 0o755 });
    }

    async function serve(cwd: string, port: number): Promise<Served> {
      const PATH = `${join(cwd, 'bin')}:${process.env['PATH']}`;
      const env = { ...slurm.env, PATH, NIGHTRENDER_API_KEY: testKey };
      return await Served.start(cwd, ['service.yaml'], env, port);
    }

    const upToTwo = 'on: {slurm: [--mem=100M]}, workers: {min: 0, max: 2, idle: 3s}';

    it(
      'the workers go from none to two and back to none, and none ends during a job',
      { timeout: longest },
      async () => {
        const farm = await Farm.start(upToTwo);
        expect(farm.states()).toEqual([]);
        const ids = await Promise.all(['first', 'second', 'second'].map((file) => farm.submit(file)));
        await expect.poll(() => farm.count('RUNNING'), patience).toBe(2);
        await expect.poll(() => farm.workers(), patience).toMatchObject({ running: 2 });
        farm.release('second');
        // The other worker has ended for lack of work, and this one still has a job.
        await expect.poll(() => farm.states().toSorted(), patience).toEqual(['COMPLETED', 'RUNNING']);
        farm.release('first');
        const jobs = await Promise.all(ids.map((id) => farm.ended(id)));
        expect(jobs.map(({ status, output }) => [status, output.model])).toEqual(
          jobs.map(() => ['COMPLETED', 'xl']),
        );
        expect(new Set(jobs.map(({ workerId }) => /-slurm\d+_[01]$/.test(workerId)))).toEqual(
          new Set([true]),
        );
        await expect.poll(() => farm.states(), patience).toEqual(['COMPLETED', 'COMPLETED']);
        expect(farm.service.program.stderr).toBe('');
        const shown =
          slurm.ask('scontrol', 'show', 'job') +
          farm.logs.map((log) => readFileSync(join(farm.cwd, log), 'utf8')).join('');
        expect(shown).toContain('nightrender-farm-');
        expect(shown).not.toContain('own.farm.');
      },
    );

    it('the service cancels only tasks that wait, and none that run', { timeout: longest }, async () => {
      const farm = await Farm.start('on: {slurm: [--begin=now+1hour]}, workers: {min: 0, max: 5, idle: 3s}');
      const ids = await Promise.all(['a', 'b', 'c'].map((file) => farm.submit(file)));
      await expect.poll(() => farm.states(), patience).toEqual(['PENDING', 'PENDING', 'PENDING']);
      await expect.poll(() => farm.workers(), patience).toMatchObject({ initializing: 3 });
      // One worker begins nevertheless.
      const [task] = farm.tasks('%i');
      slurm.ask('scontrol', 'update', `jobid=${task}`, 'starttime=now');
      await expect.poll(() => farm.workers(), patience).toMatchObject({ running: 1 });
      // The task began after the service had looked at the queue.
      vi.stubEnv('SLURM_CONF', slurm.env.SLURM_CONF);
      await new SlurmQueue(process.env).cancelWaiting([task ?? '']).finally(() => vi.unstubAllEnvs());
      for (const id of ids)
        if ((await farm.service.status('farm', id)).status === 'IN_QUEUE')
          await farm.service.ask(`/v2/farm/cancel/${id}`, { method: 'POST' });
      await expect
        .poll(() => farm.states().toSorted(), patience)
        .toEqual(['CANCELLED', 'CANCELLED', 'RUNNING']);
      for (const file of ['a', 'b', 'c']) farm.release(file);
      const jobs = await Promise.all(ids.map((id) => farm.ended(id)));
      expect(jobs.map(({ status }) => status).toSorted()).toEqual(['CANCELLED', 'CANCELLED', 'COMPLETED']);
      expect(farm.service.program.stderr).toBe('');
    });

    it(
      'the service finds its workers again after it was killed, and they find their jobs',
      { timeout: longest },
      async () => {
        const farm = await Farm.start(upToTwo);
        const [one, other] = [await farm.submit('go'), await farm.submit('go')];
        await expect.poll(() => farm.workers(), patience).toMatchObject({ running: 2 });
        await farm.killAndRestart();
        const third = await farm.submit('go');
        await expect.poll(() => farm.workers(), patience).toMatchObject({ running: 2 });
        farm.release('go');
        const jobs = await Promise.all([one, other, third].map((id) => farm.ended(id)));
        expect(jobs.map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED', 'COMPLETED']);
        await expect.poll(() => farm.states(), patience).toEqual(['COMPLETED', 'COMPLETED']);
      },
    );

    it(
      'the service starts no second worker after a lost answer or a kill during a submission',
      { timeout: longest },
      async () => {
        const farm = await Farm.start(upToTwo);
        wrap(farm.cwd, 'sbatch', 'real "$@" >/dev/null; touch taken; until [ -e go ]; do sleep 0.2; done');
        const id = await farm.submit('go');
        await expect.poll(() => existsSync(join(farm.cwd, 'taken')), patience).toBe(true);
        await farm.killAndRestart();
        await expect.poll(() => farm.workers(), patience).toMatchObject({ running: 1 });
        // From now on the service is told that Slurm did not answer, although Slurm has accepted the
        // submission.
        wrap(
          farm.cwd,
          'sbatch',
          'real "$@" >/dev/null; echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2; exit 1',
        );
        const second = await farm.submit('go');
        await expect.poll(() => farm.workers(), patience).toMatchObject({ running: 2 });
        farm.release('go');
        expect([(await farm.ended(id)).status, (await farm.ended(second)).status]).toEqual([
          'COMPLETED',
          'COMPLETED',
        ]);
        await expect.poll(() => farm.states(), patience).toEqual(['COMPLETED', 'COMPLETED']);
        expect(farm.service.program.stderr).toMatch(
          /^[^\n]*endpoint farm: Slurm does not say if it accepts workers: [^\n]*Socket timed out[^\n]*\n$/,
        );
      },
    );

    it('the refusal of Slurm is printed once, and shown in the console', { timeout: longest }, async () => {
      const farm = await Farm.start('on: {slurm: [--partition=none]}, workers: {min: 0, max: 2, idle: 3s}');
      const refusal =
        /endpoint farm: Slurm refuses workers: sbatch: .*invalid partition specified: none.* tried again in a minute, then less and less often/;
      await farm.submit('go');
      await farm.service.program.says(refusal);
      await farm.submit('go');
      const { url } = farm.service;
      const overview = await (await enter(url, testKey)).overview();
      expect(JSON.stringify(overview)).toContain('invalid partition specified: none');
      expect(farm.service.program.stderr.match(/Slurm refuses/g)).toHaveLength(1);
      expect(farm.states()).toEqual([]);
    });

    it(
      'the service starts no worker while squeue does not answer, and continues when it does',
      { timeout: longest },
      async () => {
        const lost = '{ echo "slurm_load_jobs error: Unable to contact slurm controller" >&2; exit 1; }';
        const farm = await Farm.start(upToTwo, { squeue: `[ -e answers ] && real "$@" || ${lost}` });
        const id = await farm.submit('go');
        await farm.service.program.says(
          /Slurm does not answer, and starts no workers until it does: squeue: .*Unable to contact/,
        );
        expect(farm.states()).toEqual([]);
        farm.release('answers');
        farm.release('go');
        expect((await farm.ended(id)).status).toBe('COMPLETED');
        expect(farm.service.program.stderr.match(/Slurm does not answer/g)).toHaveLength(1);
      },
    );

    it(
      'a worker finishes its job ahead of the wall time, and another takes its place',
      { timeout: longest },
      async () => {
        const farm = await Farm.start('on: {slurm: [--time=2]}, workers: {min: 1, max: 2, idle: 3s}');
        await expect.poll(() => farm.workers(), patience).toMatchObject({ idle: 1 });
        const told = (): string => readFileSync(join(farm.cwd, farm.logs[0] ?? ''), 'utf8');
        // This worker stays without a job for longer than others.
        const held = await farm.submit('go');
        await expect
          .poll(told, { timeout: 200_000, interval: 10 })
          .toContain('Ending: this worker takes no more jobs');
        const next = await farm.submit('go');
        await expect.poll(() => farm.workers(), patience).toMatchObject({ running: 2 });
        farm.release('go');
        const jobs = [await farm.ended(held), await farm.ended(next)];
        expect(jobs.map(({ status }) => status)).toEqual(['COMPLETED', 'COMPLETED']);
        expect(new Set(jobs.map(({ workerId }) => workerId)).size).toBe(2);
        await expect.poll(() => farm.states(), patience).toContain('COMPLETED');
        expect(farm.service.program.stderr).toBe('');
      },
    );
  },
);

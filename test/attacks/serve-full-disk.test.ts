/**
 * Promise: a service killed on a full disk starts again. Its jobs can be read, cancelled and purged, and it
 * works once there is space.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rest } from '../fakes/tier.ts';
import { nightWith, testKey } from '../e2e/cli.ts';
import { Served } from '../e2e/served.ts';
import { clockAhead } from '../e2e/moved-clock.ts';
import { canMount, fillDisk, mountSmallDisk } from '../e2e/small-disk.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

/** A worker program. A job that asks for it hangs until the file `go` exists. */
const program = `
const { existsSync } = require('node:fs');
process.stdin.setEncoding('utf8').on('data', (text) => {
  for (const line of text.split('\\n').filter(Boolean)) {
    const { id, input } = JSON.parse(line);
    const output = 'x'.repeat(input.length ?? 1);
    const timer = setInterval(() => {
      if ('hang' in input && !existsSync('go')) return;
      clearInterval(timer);
      console.log(JSON.stringify({ id, output }));
    }, 20);
  }
});`;

const file = 'retention: 1h\nendpoints: [{name: One, command: [node, program.cjs]}]';

describe.skipIf(!canMount)(
  'a service that was killed on a full disk (skipped if this user may not mount one)',
  () => {
    const post = { method: 'POST' };

    interface Before {
      /** Input of a job that ends before the disk is full. */
      done?: object;
      /** Number of jobs that wait. */
      waiting?: number;
      hasReserve?: boolean;
    }

    /** Starts a service that has done a job, runs one and has some waiting. Fills its disk and kills it. */
    async function killed({ done = { scene: 'done' }, waiting = 0, hasReserve = true }: Before) {
      const night = nightWith({ 'service.yaml': file, 'program.cjs': program });
      const disk = night.path('service');
      mountSmallDisk(disk, 60);
      const service = await Served.start(night.cwd, ['service.yaml'], env);
      const ended = (await service.done('one', done)).id;
      const running = await service.submit('one', { hang: true });
      await expect
        .poll(async () => (await service.status('one', running)).status, { timeout: 20_000 })
        .toBe('IN_PROGRESS');
      const queued = [];
      for (let job = 0; job < waiting; job++) queued.push(await service.submit('one', { job }));
      if (!hasReserve) {
        service.program.child.kill('SIGSTOP');
        rmSync(join(disk, 'reserve'));
      }
      const others = fillDisk(disk);
      // Without a reserve the service is stopped by SIGSTOP here, so it could not answer.
      if (hasReserve) while ((await submissionTo(service)) === 200);
      await service.kill();
      return { night, disk, others, done: ended, running, waiting: queued };
    }

    async function submissionTo(service: Served): Promise<number> {
      return (await service.ask('/v2/one/run', { ...post, body: { input: { scene: 'x' } } })).status;
    }

    it('starts, reads and cancels in its reserved space, and continues once there is space', async () => {
      const { night, disk, others, done, running, waiting } = await killed({ waiting: 2 });
      const [unwanted = '', wanted = ''] = waiting;
      night.write('go', '');

      const second = await Served.start(night.cwd, ['service.yaml'], env);
      expect(second.program.stderr).toContain(
        'the disk is full: the service starts and accepts no jobs until',
      );
      expect(await second.status('one', done)).toMatchObject({ status: 'COMPLETED', output: 'x' });
      const cancelled = await second.ask(`/v2/one/cancel/${unwanted}`, post);
      expect([cancelled.status, await cancelled.json()]).toEqual([
        200,
        { id: unwanted, status: 'CANCELLED' },
      ]);
      expect(await submissionTo(second)).toBe(507);
      expect(await second.status('one', running)).toMatchObject({ status: 'IN_QUEUE', retries: 1 });

      rmSync(others);
      for (const id of [running, wanted]) expect((await second.ended('one', id)).status).toBe('COMPLETED');
      expect(existsSync(join(disk, 'reserve'))).toBe(true);
      expect((await second.stop()).code).toBe(0);
    });

    rest.it('purges the whole queue', async () => {
      const { night, running, waiting } = await killed({ waiting: 200 });
      const second = await Served.start(night.cwd, ['service.yaml'], env);
      const purged = await second.ask('/v2/one/purge-queue', post);
      expect(purged.status).toBe(200);
      for (const id of [running, ...waiting])
        expect((await second.status('one', id)).status).toBe('CANCELLED');
    });

    it('first deletes expired jobs if it has no reserve, which frees space', async () => {
      const { night, disk, done, running } = await killed({ done: { length: 6_000_000 }, hasReserve: false });
      expect(readdirSync(join(disk, 'results'))).toHaveLength(1);

      const later = { ...env, NODE_OPTIONS: clockAhead(2 * 3_600_000) };
      const second = await Served.start(night.cwd, ['service.yaml'], later);
      expect(second.program.stderr).toContain(
        'the disk is full: the service starts and accepts no jobs until',
      );
      expect(readdirSync(join(disk, 'results'))).toEqual([]);
      expect((await second.ask(`/v2/one/status/${done}`)).status).toBe(404);
      expect(await second.status('one', running)).toMatchObject({ status: 'IN_QUEUE' });
      expect((await second.ask(`/v2/one/cancel/${running}`, post)).status).toBe(200);
    });

    rest.it(
      'can be read without a reserve and expired jobs, and works again once there is space',
      async () => {
        const { night, others, done, running } = await killed({ hasReserve: false });
        night.write('go', '');

        const second = await Served.start(night.cwd, ['service.yaml'], env);
        expect(await second.status('one', done)).toMatchObject({ status: 'COMPLETED', output: 'x' });
        expect(await submissionTo(second)).toBe(507);
        rmSync(others);
        expect(await second.ended('one', running)).toMatchObject({ status: 'COMPLETED', retries: 1 });
        expect((await second.stop()).code).toBe(0);
      },
    );
  },
);

/** Promise: a service that is killed on a full disk starts again all the same: it is read, cancelled and purged, and works once there is room. */
import { appendFileSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rest } from '../fakes/tier.ts';
import { folderWith, testKey } from './cli.ts';
import { Served } from './served.ts';
import { clockAhead } from './moved-clock.ts';
import { canMount, mountSmallDisk } from './small-disk.ts';

const env = { NIGHTRENDER_API_KEY: testKey };

/** Hangs by a job that says so, until there is a file `go`. */
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

describe.skipIf(!canMount)('killed on a full disk (skipped where this user may not mount one)', () => {
  const post = { method: 'POST' };

  async function start(): Promise<{ cwd: string; disk: string; service: Served }> {
    const cwd = folderWith({ 'service.yaml': file, 'program.cjs': program });
    const disk = join(cwd, 'service');
    mountSmallDisk(disk, 60);
    return { cwd, disk, service: await Served.start(cwd, ['service.yaml'], env) };
  }

  function fill(disk: string): void {
    const others = join(disk, 'what-others-write');
    writeFileSync(others, '');
    for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) {
      try {
        for (;;) appendFileSync(others, Buffer.alloc(bytes));
      } catch {
        // Less of it may fit.
      }
    }
  }

  async function untilRefused(service: Served): Promise<void> {
    while ((await service.ask('/v2/one/run', { ...post, body: { input: { scene: 'x' } } })).status === 200);
  }

  it('it starts, reads and cancels out of its reserve, and goes on once there is room', async () => {
    const { cwd, disk, service: first } = await start();
    const done = (await first.done('one', { scene: 'done' })).id;
    const running = await first.submit('one', { hang: true });
    await expect
      .poll(async () => (await first.status('one', running)).status, { timeout: 20_000 })
      .toBe('IN_PROGRESS');
    const [unwanted, waiting] = [
      await first.submit('one', { scene: 'x' }),
      await first.submit('one', { scene: 'x' }),
    ];
    fill(disk);
    await untilRefused(first);
    await first.kill();
    writeFileSync(join(cwd, 'go'), '');

    const second = await Served.start(cwd, ['service.yaml'], env);
    expect(second.program.stderr).toContain('the disk is full: the service starts and accepts no jobs until');
    expect(await second.status('one', done)).toMatchObject({ status: 'COMPLETED', output: 'x' });
    const cancelled = await second.ask(`/v2/one/cancel/${unwanted}`, post);
    expect([cancelled.status, await cancelled.json()]).toEqual([200, { id: unwanted, status: 'CANCELLED' }]);
    expect((await second.ask('/v2/one/run', { ...post, body: { input: { scene: 'x' } } })).status).toBe(507);
    expect(await second.status('one', running)).toMatchObject({ status: 'IN_QUEUE', retries: 1 });

    rmSync(join(disk, 'what-others-write'));
    for (const id of [running, waiting]) expect((await second.ended('one', id)).status).toBe('COMPLETED');
    expect(existsSync(join(disk, 'reserve'))).toBe(true);
    expect((await second.stop()).code).toBe(0);
  });

  rest.it('it purges the queue of all', async () => {
    const { cwd, disk, service: first } = await start();
    const running = await first.submit('one', { hang: true });
    await expect
      .poll(async () => (await first.status('one', running)).status, { timeout: 20_000 })
      .toBe('IN_PROGRESS');
    const waiting = [];
    for (let job = 0; job < 200; job++) waiting.push(await first.submit('one', { job }));
    fill(disk);
    await untilRefused(first);
    await first.kill();

    const second = await Served.start(cwd, ['service.yaml'], env);
    const purged = await second.ask('/v2/one/purge-queue', post);
    expect(purged.status).toBe(200);
    for (const id of [running, ...waiting]) expect((await second.status('one', id)).status).toBe('CANCELLED');
  });

  it('without its reserve it deletes what is over first, which gives it room', async () => {
    const { cwd, disk, service: first } = await start();
    const long = (await first.done('one', { length: 6_000_000 })).id;
    const running = await first.submit('one', { hang: true });
    await expect
      .poll(async () => (await first.status('one', running)).status, { timeout: 20_000 })
      .toBe('IN_PROGRESS');
    first.program.child.kill('SIGSTOP');
    rmSync(join(disk, 'reserve'));
    fill(disk);
    await first.kill();
    expect(readdirSync(join(disk, 'results'))).toHaveLength(1);

    const later = { ...env, NODE_OPTIONS: clockAhead(2 * 3_600_000) };
    const second = await Served.start(cwd, ['service.yaml'], later);
    expect(second.program.stderr).toContain('the disk is full: the service starts and accepts no jobs until');
    expect(readdirSync(join(disk, 'results'))).toEqual([]);
    expect((await second.ask(`/v2/one/status/${long}`)).status).toBe(404);
    expect(await second.status('one', running)).toMatchObject({ status: 'IN_QUEUE' });
    expect((await second.ask(`/v2/one/cancel/${running}`, post)).status).toBe(200);
  });

  rest.it(
    'with no reserve, and nothing that is over, it is read, and goes on once there is room',
    async () => {
      const { cwd, disk, service: first } = await start();
      const done = (await first.done('one', { scene: 'done' })).id;
      const running = await first.submit('one', { hang: true });
      await expect
        .poll(async () => (await first.status('one', running)).status, { timeout: 20_000 })
        .toBe('IN_PROGRESS');
      first.program.child.kill('SIGSTOP');
      rmSync(join(disk, 'reserve'));
      fill(disk);
      await first.kill();
      writeFileSync(join(cwd, 'go'), '');

      const second = await Served.start(cwd, ['service.yaml'], env);
      expect(await second.status('one', done)).toMatchObject({ status: 'COMPLETED', output: 'x' });
      expect((await second.ask('/v2/one/run', { ...post, body: { input: { scene: 'x' } } })).status).toBe(
        507,
      );
      rmSync(join(disk, 'what-others-write'));
      expect(await second.ended('one', running)).toMatchObject({ status: 'COMPLETED', retries: 1 });
      expect((await second.stop()).code).toBe(0);
    },
  );
});

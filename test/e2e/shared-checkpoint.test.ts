/**
 * Promise: with the checkpoint in PostgreSQL, several runs work on one batch, and every command shows the
 * same batch.
 */
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import type { GalleryRow, LiveNews } from '../../src/runner/core/gallery-data.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { noPostgres, postgresPassword, startPostgres, type PostgresServer } from '../engines/postgres.ts';
import { CuttableProxy } from '../fakes/cuttable-proxy.ts';
import { type Finished, linesOf, type Night, nightOf, pipeline, scenes, withKey } from './cli.ts';
import { canMount, RemovableDisk } from './small-disk.ts';
import { startSlowService } from './stand-ins.ts';

let server: PostgresServer;
let batches = 0;

/** Creates a folder that all machines share, with its own batch. */
function sharedFolder(baseUrl: string, listed: number, more = ''): Night {
  const batch = `night-${process.pid}-${(batches += 1)}`;
  const checkpoint = `checkpoint: \${DATABASE_URL}?lease=2&batch=${batch}\n`;
  return nightOf(baseUrl, listed, checkpoint + more);
}

const options = () => ({ env: { ...withKey.env, DATABASE_URL: server.url } });
const run = (night: Night, ...args: string[]) =>
  night.with({ ...options() }).built('run', 'pipeline.yaml', '--json', ...args);

describe.skipIf(noPostgres !== undefined)(`shared${noPostgres ? ` (skipped: ${noPostgres})` : ''}`, () => {
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('a shared batch is rendered by two runs together, each scene once, and read from anywhere', async () => {
    const service = await startSlowService(20);
    const night = sharedFolder(service.url, 60);
    const runs = await Promise.all([run(night), run(night)]);
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect(service.submissions().size).toBe(60);
    expect([...service.submissions().values()].every((n) => n === 1)).toBe(true);
    const submitted = runs.map(
      (each) => linesOf<{ type: string }>(each).filter(({ type }) => type === 'scene-submitted').length,
    );
    expect(Math.min(...submitted)).toBeGreaterThan(0);
    const status = await night.with({ ...options() }).start('status', 'pipeline.yaml', '--json');
    expect(linesOf(status)[0]).toMatchObject({
      isRunning: false,
      summary: { scenes: { saved: 60, waiting: 0 } },
    });
    const list = await night.with({ ...options() }).start('list', 'pipeline.yaml', '--json');
    expect(linesOf(list)).toHaveLength(60);
    await night
      .with({ ...options() })
      .start('export', 'pipeline.yaml', 'set', '--to', 'imagefolder', '--json')
      .exits(0);
    expect(night.read('set/metadata.jsonl').trim().split('\n')).toHaveLength(60);
    const results = night.read('out/report/results.csv');
    expect(results.match(/,saved,/g)).toHaveLength(60);
    const watch = night.with({ ...options() }).program('watch', 'pipeline.yaml', '--port', '0', '--json');
    const { url } = await watch.event('watching');
    const read = async (path: string): Promise<unknown> => (await fetch(`${String(url)}${path}`)).json();
    const news = (await read('data.json')) as LiveNews;
    expect(news).toMatchObject({ run: { kind: 'ended' }, numbers: { scenes: { saved: 60 } } });
    const rows = (await read(`${news.chunks?.folder}/1.json`)) as GalleryRow[];
    expect(rows.map(({ state }) => state)).toEqual(Array.from({ length: 60 }, () => 'saved'));
    expect(night.has('out/checkpoint.sqlite')).toBe(false);
    for (const { stdout, stderr } of [...runs, status, list])
      expect(stdout + stderr).not.toContain(postgresPassword);
  });

  it('a shared batch keeps one budget, however many runs there are', async () => {
    const service = await startSlowService(100);
    const night = sharedFolder(service.url, 60, 'limits: {jobs: 20}\n');
    const runs = await Promise.all([run(night, '--concurrency', '4'), run(night, '--concurrency', '4')]);
    expect(runs.map(({ code, stderr }) => [code, stderr])).toEqual([
      [13, ''],
      [13, ''],
    ]);
    expect(service.inputs).toHaveLength(20);
  });

  it('a shared batch takes a list that was edited by the rules of one run', async () => {
    const service = await startSlowService(10);
    const night = sharedFolder(service.url, 5);
    expect((await run(night)).code).toBe(0);
    night.write('scenes.csv', scenes(8).replace('Hills and 2 trees', 'Hills and no tree'));
    const [plan] = await night
      .with({ ...options() })
      .start('plan', 'pipeline.yaml', '--json')
      .lines();
    expect(plan).toMatchObject({ changes: { added: 3, changed: 1, unchanged: 4, withdrawn: 0 } });
    const second = await run(night);
    expect(second.code, second.stderr).toBe(0);
    expect(service.inputs).toHaveLength(9);
    expect(night.has('out/images')).toBe(true);
  });

  it('a shared batch submits nothing while the database is gone, and goes on when it is back', async () => {
    const service = await startSlowService(200);
    const night = sharedFolder(service.url, 80);
    const program = night
      .with({ ...options() })
      .program('run', 'pipeline.yaml', '--json', '--concurrency', '4');
    await program.says(/scene-saved/);
    await server.kill();
    await program.says(/cannot be reached/);
    await server.start();
    const { stdout } = await program.finish().exits(0, 'answers again').warnsOnly('');
    expect([...service.submissions().values()].every((n) => n === 1)).toBe(true);
    expect(stdout).not.toContain(postgresPassword);
  });

  it('a shared batch continues by itself after a failover that lost the latest commits, and submits nothing twice', async () => {
    const service = await startSlowService(300);
    const night = sharedFolder(service.url, 90);
    const args = ['run', 'pipeline.yaml', '--json', '--concurrency', '4'];
    const programs = [1, 2, 3].map(() => night.with({ ...options() }).program(...args));
    await Promise.all(programs.map((program) => program.says(/scene-saved/)));
    await server.keep();
    const before = service.inputs.length;
    await expect.poll(() => service.inputs.length).toBeGreaterThan(before + 12);
    await server.failOver();
    const ends = await Promise.all(programs.map((program) => program.finish()));
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual(ends.map(() => [0, '']));
    expect(ends.map(({ stdout }) => stdout).join('')).toContain('went back to an earlier state');
    expect(service.submissions().size).toBe(90);
    expect([...service.submissions()].filter(([, sent]) => sent > 1)).toEqual([]);
    const [status] = await night
      .with({ ...options() })
      .start('status', 'pipeline.yaml', '--json')
      .lines();
    expect(status).toMatchObject({ summary: { scenes: { saved: 90, waiting: 0 } } });
  });

  it('a shared batch ends within its grace if it is stopped while the database is gone', async () => {
    const service = await startSlowService(200);
    const night = sharedFolder(service.url, 40, 'shutdown: {grace: 200ms}\n');
    const args = ['run', 'pipeline.yaml', '--json', '--concurrency', '4'];
    const program = night.with({ ...options() }).program(...args);
    await program.says(/scene-saved/);
    await server.kill();
    await program.says(/cannot be reached/);
    program.child.kill('SIGTERM');
    await program.finish().exits(14);
    await server.start();
    expect((await run(night)).code).toBe(0);
    expect(service.submissions().size).toBe(40);
  });

  it('a shared batch ends within its grace if it is stopped while the database stands still', async () => {
    const service = await startSlowService(200);
    const night = sharedFolder(service.url, 40, 'shutdown: {grace: 200ms}\n');
    const args = ['run', 'pipeline.yaml', '--json', '--concurrency', '4'];
    const program = night.with({ ...options() }).program(...args);
    await program.says(/scene-saved/);
    server.standStill();
    try {
      await program.says(/cannot be reached/);
      program.child.kill('SIGTERM');
      await program.finish().exits(14);
    } finally {
      server.goOn();
    }
    expect((await run(night)).code).toBe(0);
    const rows = await night
      .with({ ...options() })
      .start('list', 'pipeline.yaml', '--json')
      .lines<{ columns: { scene: string }; attempts: number; state: string }>();
    expect(rows.map(({ state }) => state)).toEqual(Array.from({ length: 40 }, () => 'saved'));
    // Submissions that could not be recorded are reported as unanswered, and no more than those are repeated.
    for (const { columns, attempts } of rows)
      expect(service.submissions().get(columns.scene), columns.scene).toBeLessThanOrEqual(attempts);
    const again = [...service.submissions().values()].reduce((sum, n) => sum + n - 1, 0);
    expect(again).toBeLessThanOrEqual(4);
  });

  it('puts scenes back, and refuses to change the batch of a live run', async () => {
    const service = await startSlowService(10);
    const night = sharedFolder(service.url, 3);
    expect((await run(night)).code).toBe(0);
    const retry = ['retry', 'pipeline.yaml', '--id', 's1', '--again'];
    await night
      .with({ ...options() })
      .built(...retry)
      .exits(0)
      .warnsOnly('');
    expect((await run(night)).code).toBe(0);
    expect(service.submissions().get('Hills and 1 trees')).toBe(2);
    await night
      .with({ ...options() })
      .start('explain', 'pipeline.yaml', 's1')
      .prints('s1');
    await night
      .with({ ...options() })
      .start('verify', 'pipeline.yaml')
      .exits(0)
      .warnsOnly('');
  });

  it.skipIf(!canMount)(
    'a shared batch is refused while the disk of its folder is not mounted (skipped if this user may not mount one)',
    async () => {
      const service = await startSlowService(10);
      const night = sharedFolder(service.url, 2);
      const disk = new RemovableDisk(night.path('out'), 64);
      expect((await run(night)).code).toBe(0);
      night.write('scenes.csv', scenes(4));
      disk.unmount();
      for (const command of ['run', 'plan', 'status', 'cancel'])
        await night
          .with({ ...options() })
          .built(command, 'pipeline.yaml')
          .fails(2, 'out: a batch began here on');
      expect(readdirSync(night.path('out'))).toEqual([]);
      disk.mount();
      expect((await run(night)).code).toBe(0);
      expect(service.inputs).toHaveLength(4);
    },
  );

  it('a shared batch is refused if it has begun in its folder, and the other way round', async () => {
    const service = await startSlowService(10);
    const night = sharedFolder(service.url, 2);
    const shared = night.read('pipeline.yaml');
    const own = pipeline(service.url);
    const file = night.path('pipeline.yaml');
    expect((await run(night)).code).toBe(0);
    writeFileSync(file, own);
    expect(await run(night)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('in a database') as string,
    });
    await night.start('status', 'pipeline.yaml').exits(2);
    rmSync(night.path('out'), { recursive: true });
    expect((await run(night)).code).toBe(0);
    writeFileSync(file, shared);
    expect(await run(night)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('begun with a checkpoint of its own') as string,
    });
    expect(service.inputs).toHaveLength(4);
  });

  describe('with a database that answers nothing', () => {
    const commands = [
      ['run', 'pipeline.yaml', '--json'],
      ['status', 'pipeline.yaml'],
      ['list', 'pipeline.yaml'],
      ['retry', 'pipeline.yaml', '--id', 's1', '--again'],
      ['cancel', 'pipeline.yaml'],
      ['verify', 'pipeline.yaml', '--repair'],
    ];

    it('every command ends with a message if the database only accepts connections', async () => {
      const silent = createServer(() => undefined).listen(0, '127.0.0.1');
      onTestFinished(() => void silent.close());
      await once(silent, 'listening');
      const address = silent.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const env = { ...withKey.env, DATABASE_URL: `postgres://x:y@127.0.0.1:${port}/db` };
      const night = sharedFolder('http://127.0.0.1:9', 2);
      const ends = await Promise.all(commands.map((args) => night.with({ env }).built(...args)));
      for (const [i, { code, stderr }] of ends.entries())
        expect([commands[i], code, stderr]).toEqual([
          commands[i],
          14,
          expect.stringContaining('cannot be reached'),
        ]);
    });

    it('every command ends with a message if the connection is cut in the middle', async () => {
      const service = await startSlowService(10);
      const night = sharedFolder(service.url, 3);
      expect((await run(night)).code).toBe(0);
      const cutOff = async (args: string[]): Promise<Finished> => {
        const way = await CuttableProxy.to(Number(new URL(server.url).port));
        onTestFinished(() => way.stop());
        const url = new URL(server.url);
        url.port = String(way.port);
        way.cutAfter(12);
        return night.with({ env: { ...withKey.env, DATABASE_URL: url.href } }).built(...args);
      };
      for (const args of commands) {
        const { code, stderr } = await cutOff(args);
        expect([args, code, stderr]).toEqual([args, 14, expect.stringContaining('cannot be reached')]);
      }
    });
  });

  it.each([
    ['127.0.0.1:9', 14, 'cannot be reached'],
    ['', 2, 'the address of a PostgreSQL database'],
  ])('says what is wrong with %s, and never the password', async (host, exitCode, words) => {
    const night = sharedFolder('http://127.0.0.1:9', 2);
    const address =
      host === '' ? `mysql://x:${postgresPassword}@host/db` : `postgres://x:${postgresPassword}@${host}/db`;
    const env = { ...withKey.env, DATABASE_URL: address };
    for (const command of ['run', 'status', 'plan']) {
      const { code, stdout, stderr } = await night.with({ env }).built(command, 'pipeline.yaml');
      expect([command, code, stderr]).toEqual([command, exitCode, expect.stringContaining(words)]);
      expect(stdout + stderr).not.toContain(postgresPassword);
    }
  });
});

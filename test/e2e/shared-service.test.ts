/**
 * Promise: any of several `serve` on one store may be killed, stopped or cut off. No accepted job is lost or
 * done twice, and clients hardly notice.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  request,
  type RequestOptions,
} from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parsePostgresAddress, Postgres } from '../../src/lib/postgres/postgres.ts';
import { noCeph, startCeph } from '../engines/ceph.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../engines/postgres.ts';
import { enter } from '../service/console/visit.ts';
import { folderWith, nightOf, nightWith, Program, withKey } from './cli.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';
import { clockAhead } from './moved-clock.ts';
import { Processes } from './served-processes.ts';
import type { Served } from './served.ts';

let server: PostgresServer;

const input = { scene: 'Hills' };
const small = 'input: {scene: "{{ scene }}", width: 48, height: 32}\n';

describe.skipIf(noPostgres !== undefined)(
  `several processes${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  () => {
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    it('a process takes a job that another was given, and answers for it', async () => {
      const processes = new Processes(server.url, 'quickDeploy: painter, workers: 1');
      const [first, second] = [await processes.start(), await processes.start()];
      expect(second.program.stderr).toContain(`service: hands requests on to ${first.url}`);
      const id = await second.submit('scene-renderer', { scene: 'Hills', width: 16, height: 16 });
      expect((await first.ended('scene-renderer', id)).status).toBe('COMPLETED');
      expect(await second.ended('scene-renderer', id)).toEqual(await first.ended('scene-renderer', id));
      expect((await second.ask('/v2/scene-renderer/health', { key: 'wrong' })).status).toBe(401);
    });

    it('the leader is killed in the middle of a batch: every scene is saved, no job is created or done twice', async () => {
      const processes = new Processes(server.url, 'remote: true', 'limits: {silence: 15s}\n');
      const [first, second, third] = [
        await processes.start(),
        await processes.start(),
        await processes.start(),
      ];
      await startWorker(second);
      const night = nightOf(third.url, 120, `${small}concurrency: 32\nretry: {unanswered: hold}\n`);
      const run = night.program('run', 'pipeline.yaml', '--json');
      await run.event('scene-saved', 30);
      await first.kill();
      const { code, stdout, stderr } = await run.finish();
      expect(code, stdout + stderr).toBe(0);
      const { jobs } = (await (await second.ask('/v2/scene-renderer/health')).json()) as {
        jobs: Record<string, number>;
      };
      // The job that was being given to the worker at the moment of the kill may be given to it again.
      const { retried = 0, ...others } = jobs;
      expect(others).toEqual({ completed: 120, failed: 0, inQueue: 0, inProgress: 0 });
      expect(retried).toBeLessThanOrEqual(1);
    });

    it('the workers of the leader end with it: their jobs are done by those of the next leader', async () => {
      const processes = new Processes(server.url, 'quickDeploy: painter, workers: 2');
      const [first, second] = [await processes.start(), await processes.start()];
      const night = nightOf(second.url, 60, `${small}concurrency: 32\nretry: {unanswered: hold}\n`);
      const run = night.program('run', 'pipeline.yaml', '--json');
      await run.event('scene-saved', 20);
      await first.kill();
      const { code, stdout, stderr } = await run.finish();
      expect(code, stdout + stderr).toBe(0);
    });

    it('the leader is killed while clients without idempotency keys submit: each client sees at most one failed request, and no confirmed job is missing', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, ...others] = [await processes.start(), await processes.start(), await processes.start()];
      let accepted = 0;
      const clients = Array.from({ length: 16 }, async (_, client) => {
        const served = others[client % others.length] as Served;
        const told: { ids: string[]; failures: number } = { ids: [], failures: 0 };
        while (told.ids.length < 60) {
          const answer = await served.ask('/v2/scene-renderer/run', { method: 'POST', body: { input } });
          const { id } = (await answer.json()) as { id?: string };
          if (id === undefined) told.failures += 1;
          else told.ids.push(id);
          if (++accepted === 300) first.program.child.kill('SIGKILL');
        }
        return { served, ...told };
      });
      for (const { served, ids, failures } of await Promise.all(clients)) {
        expect(failures).toBeLessThanOrEqual(1);
        for (const id of ids) expect((await served.status('scene-renderer', id)).status).toBe('IN_QUEUE');
      }
    });

    it('the leader ends in order: another process leads at once, and no accepted job is missing', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, second] = [await processes.start(), await processes.start()];
      const ids = await Promise.all(Array.from({ length: 50 }, () => second.submit('scene-renderer', input)));
      expect((await first.stop()).code).toBe(0);
      for (const id of ids) expect((await second.status('scene-renderer', id)).status).toBe('IN_QUEUE');
      expect(processes.leader()).toBe(second);
    });

    it('the next leader has a clock that is a day ahead: no job expires or times out because of it', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const first = await processes.start();
      const second = await processes.start({ env: { NODE_OPTIONS: clockAhead(25 * 3_600_000) } });
      const [ended, waiting] = [
        await first.submit('scene-renderer', input),
        await first.submit('scene-renderer', input),
      ];
      await first.ask(`/v2/scene-renderer/cancel/${ended}`, { method: 'POST' });
      await first.kill();
      await second.program.says(/service: leads/);
      expect((await second.status('scene-renderer', ended)).status).toBe('CANCELLED');
      expect((await second.status('scene-renderer', waiting)).status).toBe('IN_QUEUE');
    });

    it('the leader is killed between two tries of a webhook: the next leader makes the second try, with the same id and secret', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, second] = [await processes.start(), await processes.start()];
      const ids: unknown[] = [];
      const target = createHttpServer(({ headers }, response) => {
        ids.push(headers['webhook-id']);
        response.writeHead(ids.length === 1 ? 500 : 200).end();
      });
      const body = { input, webhook: await listenOnLoopback(target) };
      const answer = await second.ask('/v2/scene-renderer/run', { method: 'POST', body });
      const { id } = (await answer.json()) as { id: string };
      const secretOf = async (served: Served): Promise<unknown> =>
        await (await served.ask('/v2/scene-renderer/webhook-secret')).json();
      const secret = await secretOf(first);
      await second.ask(`/v2/scene-renderer/cancel/${id}`, { method: 'POST' });
      await expect.poll(() => ids.length, { timeout: 60_000 }).toBe(1);
      await first.kill();
      await expect.poll(() => ids.length, { timeout: 60_000 }).toBe(2);
      expect(ids[1]).toBe(ids[0]);
      expect(await secretOf(second)).toEqual(secret);
    });

    it('the leader is stopped while its own workers have jobs: these end first, and none is done twice', async () => {
      const processes = new Processes(server.url, 'module: ./slow.mjs, workers: 2');
      const slow = `export async function handler() { await new Promise((done) => setTimeout(done, 2_000)); return 'done'; }`;
      const [first, second] = [
        await processes.start({ files: { 'slow.mjs': slow } }),
        await processes.start({ files: { 'slow.mjs': slow } }),
      ];
      const ids = [
        await second.submit('scene-renderer', input),
        await second.submit('scene-renderer', input),
      ];
      for (const id of ids)
        await expect
          .poll(async () => (await second.status('scene-renderer', id)).status, { timeout: 20_000 })
          .toBe('IN_PROGRESS');
      expect((await first.stop()).code).toBe(0);
      for (const id of ids) {
        const job = await second.ended('scene-renderer', id);
        expect(job).toMatchObject({ status: 'COMPLETED', output: 'done' });
        expect(job).not.toHaveProperty('retries');
      }
      const { jobs } = (await (await second.ask('/v2/scene-renderer/health')).json()) as { jobs: object };
      expect(jobs).toMatchObject({ completed: 2, retried: 0 });
    });

    it('the leader stands still for longer than its lease: another process leads, and the first one gives no wrong answer when it continues', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, second] = [await processes.start(), await processes.start()];
      const before = await first.submit('scene-renderer', input);
      first.program.child.kill('SIGSTOP');
      await second.program.says(/service: leads/);
      const since = await second.submit('scene-renderer', input);
      expect((await second.ask(`/v2/scene-renderer/cancel/${before}`, { method: 'POST' })).status).toBe(200);
      first.program.child.kill('SIGCONT');
      expect((await first.status('scene-renderer', before)).status).toBe('CANCELLED');
      expect((await first.status('scene-renderer', since)).status).toBe('IN_QUEUE');
      const late = await first.submit('scene-renderer', input);
      expect((await second.status('scene-renderer', late)).status).toBe('IN_QUEUE');
      expect(processes.leader()).toBe(second);
    });

    it('the database stops and comes back: no accepted job is missing, and no process restarts', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, second] = [await processes.start(), await processes.start()];
      const accepted = await second.submit('scene-renderer', input);
      await server.kill();
      const key = randomUUID();
      const submitted = fetch(`${second.url}/v2/scene-renderer/run`, {
        method: 'POST',
        headers: { authorization: `Bearer ${second.key}`, 'idempotency-key': key },
        body: JSON.stringify({ input }),
      });
      await server.start();
      const answer = await submitted;
      expect(answer.status).toBe(200);
      const { id } = (await answer.json()) as { id: string };
      for (const job of [accepted, id])
        for (const one of [first, second])
          expect((await one.status('scene-renderer', job)).status).toBe('IN_QUEUE');
    });

    it('the session of the leader is ended: another process leads, and no answer is wrong', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, second] = [await processes.start(), await processes.start()];
      const job = await first.submit('scene-renderer', input);
      const sql = await openDatabase();
      while (!second.program.stderr.includes('service: leads'))
        await sql.query(
          "SELECT pg_terminate_backend(pid), pg_sleep(1) FROM pg_locks WHERE locktype = 'advisory'",
        );
      await second.ask(`/v2/scene-renderer/cancel/${job}`, { method: 'POST' });
      expect((await first.status('scene-renderer', job)).status).toBe('CANCELLED');
    });

    it('the leader loses its network in the middle of a statement: another process leads', async () => {
      const way = await startWay(Number(new URL(server.url).port));
      const processes = new Processes(server.url, 'remote: true');
      const first = await processes.start({ databasePort: way.port });
      const second = await processes.start();
      const id = await first.submit('scene-renderer', input);
      way.endWithin(4_096);
      // This text cannot be compressed.
      const text = randomBytes(100_000).toString('hex');
      const lost = first.submit('scene-renderer', { text }).catch(() => undefined);
      await second.program.says(/service: leads/);
      expect((await second.status('scene-renderer', id)).status).toBe('IN_QUEUE');
      await first.kill();
      await lost;
    });

    it('the leader is stopped while the database is gone and a write is due: it ends', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const first = await processes.start();
      const sql = await openDatabase();
      const session = await sql.keptSession();
      await session.query(`BEGIN; LOCK TABLE ${processes.schema}.page_log_0 IN SHARE MODE`);
      const lost = first.submit('scene-renderer', input).catch(() => undefined);
      while ((await sql.query('SELECT FROM pg_locks WHERE NOT granted')).length === 0);
      onTestFinished(() => server.start());
      await server.kill();
      expect((await first.stop()).code).toBe(0);
      await lost;
    });

    it('answers are relayed unchanged, also the refusal of a long body', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, second] = [await processes.start(), await processes.start()];
      const asked: RawRequest[] = [
        { path: '/console/' },
        { path: '/metrics' },
        { path: '/metrics', headers: { host: 'elsewhere.example' } },
        { path: '/console/', headers: { host: 'elsewhere.example' } },
        { path: '/v2/scene-renderer/health', headers: { authorization: `Bearer ${first.key}` } },
        { path: '/v2/../v2/scene-renderer/health', headers: { authorization: `Bearer ${first.key}` } },
        { path: 'http://elsewhere.example/', headers: { authorization: `Bearer ${first.key}` } },
        {
          path: '/v2/scene-renderer/run',
          method: 'POST',
          headers: { authorization: `Bearer ${first.key}` },
          body: 20_000_000,
        },
      ];
      const [given, handedOn] = [await allAnswers(first, asked), await allAnswers(second, asked)];
      expect(handedOn).toEqual(given);
      expect(given.map(({ status }) => status)).toEqual([200, 200, 421, 421, 200, 404, 404, 400]);
    });

    const expectResultKept = async (processes: Processes): Promise<void> => {
      const [first, second] = [await processes.start(), await processes.start()];
      const large = { scene: 'A hill with twenty trees', width: 1024, height: 1024 };
      const made = await second.done('scene-renderer', large);
      expect(JSON.stringify(made.output).length).toBeGreaterThan(300_000);
      await first.kill();
      expect(await second.status('scene-renderer', made.id)).toEqual(made);
    };

    it('a result of a megabyte survives the process whose worker made it', () =>
      expectResultKept(new Processes(server.url, 'quickDeploy: painter, workers: 1')));

    it.skipIf(noCeph !== undefined)(
      `a result of a megabyte survives the process whose worker made it, if long texts are in a bucket${noCeph ? ` (skipped: ${noCeph})` : ''}`,
      async () => {
        const ceph = await startCeph();
        onTestFinished(() => ceph.stop());
        await ceph.ask('PUT', '/service');
        const processes = new Processes(
          server.url,
          'quickDeploy: painter, workers: 1',
          'files: s3://service/night\n',
          ceph.env,
        );
        await expectResultKept(processes);
        const listed = await (await ceph.ask('GET', '/service')).text();
        expect(listed).toMatch(/<Key>night\/[0-9a-f]{16}\/results\/[0-9a-f-]+\.json<\/Key>/);
      },
    );

    it('keys are valid at every process, and end at every process', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, second] = [await processes.start(), await processes.start()];
      const key = await makeKey(second, 'client');
      expect((await first.ask('/v2/scene-renderer/health', { key })).status).toBe(200);
      await first.kill();
      expect((await second.ask('/v2/scene-renderer/health', { key })).status).toBe(200);
    });
  },
);

/** Creates a key in the console. */
async function makeKey({ url, key }: Served, kind: 'client' | 'worker'): Promise<string> {
  const visit = await enter(url, key);
  const made = await visit.ask('POST', 'keys', { name: kind, kind, endpoints: ['scene-renderer'] });
  expect([made.status, made.body]).toEqual([201, made.body]);
  return (made.body as { key: string }).key;
}

async function openDatabase(): Promise<Postgres> {
  const limits = { connectMs: 5_000, silentMs: 10_000 };
  const database = await Postgres.open(parsePostgresAddress(server.url, []), limits);
  onTestFinished(() => database.close());
  return database;
}

/**
 * Starts a proxy to a port of this machine. After `endWithin(bytes)`, it drops what clients send beyond this
 * many bytes, and keeps connections open.
 */
async function startWay(to: number) {
  let left = Infinity;
  const way = createServer((client) => {
    const target = connect(to, '127.0.0.1');
    client.on('data', (bytes) => {
      target.write(bytes.subarray(0, left));
      left = Math.max(0, left - bytes.length);
    });
    client.on('error', () => undefined);
    target.on('data', (bytes) => client.write(bytes)).on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(way, 'listening');
  onTestFinished(() => void way.close());
  return { port: (way.address() as AddressInfo).port, endWithin: (bytes: number) => void (left = bytes) };
}

interface RawRequest extends RequestOptions {
  /** Length of the body in bytes. */
  body?: number;
}

async function allAnswers(served: Served, asked: RawRequest[]) {
  const answers = [];
  for (const one of asked) answers.push(await rawAnswer(served, one));
  return answers;
}

/** Returns an answer without the headers that differ between connections. */
async function rawAnswer({ url }: Served, { body = 0, ...options }: RawRequest) {
  const { hostname, port } = new URL(url);
  const asked = request({ hostname, port, agent: false, ...options });
  // Sending may fail once the answer has arrived.
  asked.on('error', () => undefined).end(Buffer.alloc(body));
  const answer = await new Promise<IncomingMessage>((resolve) => asked.once('response', resolve));
  const names = answer.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  const isOwn = (name: string): boolean => /^(date|connection|keep-alive)$/.test(name);
  answer.resume();
  return { status: answer.statusCode, headers: names.filter((name) => !isOwn(name)).toSorted() };
}

/** Starts a worker that draws, as if on its own machine. */
async function startWorker(served: Served): Promise<void> {
  const env = { NIGHTRENDER_WORKER_KEY: await makeKey(served, 'worker') };
  const args = ['--endpoint', 'scene-renderer', '--allow', 'painter', '--data', folderWith({})];
  const worker = new Program(['work', served.url, ...args], { env });
  await worker.says(/Working for scene-renderer/);
}

it('a process without its database or bucket says what is missing before it changes anything', async () => {
  const night = nightWith({
    'service.yaml': 'files: s3://bucket\nendpoints: [{name: Painter, quickDeploy: painter}]\n',
    'open.yaml': 'store: ${DATABASE_URL}\nhost: 0.0.0.0\ninsecure: true\n',
    'keyless.yaml': 'store: ${DATABASE_URL}\n',
  });
  const env = { DATABASE_URL: 'postgres://postgres:hunter2@127.0.0.1:1/nightrender' };
  const alone = await night.with({ env }).built('serve', 'service.yaml').fails(2, 'service.yaml:1:8: files');
  const open = await night
    .with({ env: { ...env, ...withKey.env } })
    .built('serve', 'open.yaml')
    .fails(2, 'peerUrl');
  const keyless = await night
    .with({ env })
    .built('serve', 'keyless.yaml', '--data', night.path('data'))
    .fails(2, 'NIGHTRENDER_API_KEY');
  const gone = await night
    .with({ env: { ...env, ...withKey.env } })
    .built('serve', 'keyless.yaml', '--data', night.path('data'));
  expect([gone.code, gone.stderr]).toEqual([
    expect.any(Number),
    expect.stringContaining('127.0.0.1:1/nightrender'),
  ]);
  for (const { stderr } of [alone, open, keyless, gone]) expect(stderr).not.toContain('hunter2');
});

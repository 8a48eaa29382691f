/**
 * Promise: if one of several `serve` on one store hangs or is cut off, the others answer its requests, and no
 * answer is wrong.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { parsePostgresAddress, Postgres } from '../../src/lib/postgres/postgres.ts';
import { noPostgres, startPostgres, type PostgresServer } from '../engines/postgres.ts';
import { CuttableProxy } from '../fakes/cuttable-proxy.ts';
import { Processes } from './served-processes.ts';
import type { Served } from './served.ts';

let server: PostgresServer;

const input = { scene: 'Hills' };
const farm = '/v2/scene-renderer';

describe.skipIf(noPostgres !== undefined)(
  `one of several hangs${noPostgres ? ` (skipped: ${noPostgres})` : ''}`,
  () => {
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    it('the leader hangs: requests that were relayed to it are repeated, if that is safe', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, second] = [await processes.start(), await processes.start()];
      const job = await first.submit('scene-renderer', input);
      first.program.child.kill('SIGSTOP');
      const asked = Array.from({ length: 3 }, () => second.ask(`${farm}/status/${job}`));
      const polled = second.ask(`${farm}/status-sync/${job}?wait=15000`);
      const cancelled = second.ask(`${farm}/cancel/${job}`, { method: 'POST' });
      const keyed = submit(second, { 'idempotency-key': randomUUID() });
      const keyless = submit(second);
      const long = submit(second, {}, 'x'.repeat(300_000));
      const half = sendHalf(second);
      await second.program.says(/service: leads/);
      for (const answer of await Promise.all(asked)) expect(await answer.json()).toMatchObject({ id: job });
      expect((await polled).status).toBe(200);
      expect(await (await cancelled).json()).toEqual({ id: job, status: 'CANCELLED' });
      expect((await keyed).status).toBe(200);
      for (const answer of await Promise.all([keyless, long])) {
        expect(answer.status).toBe(502);
        expect(await answer.json()).toEqual({
          error: expect.stringContaining('this was done, or it was not'),
        });
      }
      expect(await half).toEqual([503, expect.stringContaining('nothing was done')]);
      const { jobs } = (await (await second.ask(`${farm}/health`)).json()) as { jobs: object };
      expect(jobs).toMatchObject({ inQueue: 1, inProgress: 0 });
      // The resumed process does not act on the requests that it still has.
      first.program.child.kill('SIGCONT');
      expect((await first.status('scene-renderer', job)).status).toBe('CANCELLED');
      expect(await (await first.ask(`${farm}/health`)).json()).toMatchObject({ jobs: { inQueue: 1 } });
    });

    it('the connection of a process to the leader is cut: it answers 503 until the connection is back', async () => {
      const { first, second, way } = await withWayBetween();
      const job = await second.submit('scene-renderer', input);
      way.cut('both');
      const [status, polled, keyless] = await Promise.all([
        second.ask(`${farm}/status/${job}`),
        second.ask(`${farm}/status-sync/${job}`),
        submit(second),
      ]);
      expect([status.status, polled.status, keyless.status]).toEqual([503, 503, 502]);
      expect((await first.status('scene-renderer', job)).status).toBe('IN_QUEUE');
      expect(second.program.stderr).toContain('does not answer at');
      way.mend();
      expect((await second.status('scene-renderer', job)).status).toBe('IN_QUEUE');
    });

    it('the session of the leader ends while it is cut off: it does not answer from its outdated state', async () => {
      const line = await CuttableProxy.to(portOf(server.url));
      onTestFinished(() => line.stop());
      const processes = new Processes(server.url, 'remote: true');
      const first = await processes.start({ databasePort: line.port });
      const second = await processes.start();
      const job = await first.submit('scene-renderer', input);
      const held = first.ask(`${farm}/status-sync/${job}?wait=5000`);
      // Once this submission is answered, the request above is already waiting.
      await first.submit('scene-renderer', input);
      line.cut('both');
      const sql = await openDatabase();
      await sql.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'`);
      await second.program.says(/service: leads/);
      expect((await second.ask(`${farm}/cancel/${job}`, { method: 'POST' })).status).toBe(200);
      const answers = await Promise.all([first.ask(`${farm}/status/${job}`), held]);
      for (const answer of answers) expect(answer.status).toBe(503);
      line.mend();
      expect((await first.status('scene-renderer', job)).status).toBe('CANCELLED');
    });

    it('the database fails during a write: clients that wait for it get an error', async () => {
      const processes = new Processes(server.url, 'remote: true');
      const [first, second] = [await processes.start(), await processes.start()];
      const sql = await openDatabase();
      const session = await sql.keptSession();
      await session.query(`BEGIN; LOCK TABLE ${processes.schema}.page_log_0 IN SHARE MODE`);
      // No request waits for the database yet.
      expect((await second.ask(`${farm}/health`)).status).toBe(200);
      // The connection of a request to this process itself is closed, because the result is unknown. A
      // request relayed by another process gets a message.
      const own = submit(first).catch(() => undefined);
      const others = submit(second);
      while ((await sql.query('SELECT FROM pg_locks WHERE NOT granted')).length === 0);
      onTestFinished(() => server.start());
      await server.kill();
      expect((await own)?.status ?? 502).toBe(502);
      expect((await others).status).toBe(502);
      const asked = [first, second].map((served) => served.ask(`${farm}/health`));
      expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([503, 503]);
    });
  },
);

function submit(served: Served, headers: Record<string, string> = {}, text = ''): Promise<Response> {
  return fetch(`${served.url}${farm}/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${served.key}`, ...headers },
    body: JSON.stringify({ input: { ...input, text } }),
  });
}

/** Sends half of a long submission. Resolves to the status and body of the answer. */
async function sendHalf(served: Served): Promise<[number | undefined, string]> {
  const asked = request(`${served.url}${farm}/run`, {
    method: 'POST',
    headers: { authorization: `Bearer ${served.key}`, 'content-length': 1_000_000 },
  });
  onTestFinished(() => void asked.destroy());
  asked.on('error', () => undefined).write(Buffer.alloc(500_000, ' '));
  const [answer] = await once(asked, 'response');
  let text = '';
  for await (const piece of answer) text += String(piece);
  return [answer.statusCode, text];
}

/** Starts processes of which the first leads. The others reach it through this proxy. */
async function withWayBetween() {
  const port = await freePort();
  const way = await CuttableProxy.to(port);
  onTestFinished(() => way.stop());
  const processes = new Processes(server.url, 'remote: true');
  const first = await processes.start({ more: `peerUrl: http://127.0.0.1:${way.port}\n`, port });
  const second = await processes.start();
  return { first, second, way };
}

async function openDatabase(): Promise<Postgres> {
  const limits = { connectMs: 5_000, silentMs: 10_000 };
  const database = await Postgres.open(parsePostgresAddress(server.url, []), limits);
  onTestFinished(() => database.close());
  return database;
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

async function freePort(): Promise<number> {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const address = taken.address();
  taken.close();
  await once(taken, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

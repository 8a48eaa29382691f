/** Promise: a key limited to its own jobs cannot see, cancel, retry, stream or purge those of others. */
import { expect, it } from 'vitest';
import type { AnswerOf } from '../../../src/protocol/operations.ts';
import { openForWriting } from '../../../src/lib/sqlite/database.ts';
import { KeyStore } from '../../../src/service/keys/key-store.ts';
import { keySchema } from '../../../src/service/keys/key-tables.ts';
import { withKeys } from '../console/visit.ts';
import { inProcessWorkload } from '../in-process-workload.ts';
import { ask, endpointId, openService, type Reply } from '../service-harness.ts';
import { client, makePath } from './key-harness.ts';

const input = '{"input":{"scene":"x"}}';
const operations = [
  ['GET', 'status'],
  ['POST', 'status'],
  ['GET', 'status-sync'],
  ['GET', 'stream'],
  ['POST', 'cancel'],
  ['POST', 'retry'],
] as const;

/** Opens a service with two limited keys and an unlimited one, and a client for each. */
async function openKeyed(options: Parameters<typeof openService>[0] = {}) {
  const service = await openService(options);
  const made = (name: string, ownJobs: boolean) => {
    const { key } = withKeys(service.dataDir, (keys) => keys.add({ ...client(name), ownJobs }));
    return new Holder(service.url, key);
  };
  return { ...service, ann: made('ann', true), bob: made('bob', true), all: made('all', false) };
}

class Holder {
  readonly #url: string;
  readonly headers: Record<string, string>;

  constructor(url: string, key: string) {
    this.#url = url;
    this.headers = { Authorization: `Bearer ${key}` };
  }

  ask(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Reply> {
    const init = { method, headers: { ...this.headers, ...headers }, ...(body !== undefined && { body }) };
    return ask(this.#url, `/v2/${endpointId}/${path}`, init);
  }

  async submit(headers: Record<string, string> = {}): Promise<string> {
    return ((await this.ask('POST', 'run', input, headers)).json as AnswerOf<'run'>).id;
  }

  async statusOf(id: string): Promise<unknown> {
    return ((await this.ask('GET', `status/${id}`)).json as AnswerOf<'run'>).status;
  }
}

it('a key limited to its own jobs is answered as if the jobs of others did not exist, whatever it requests', async () => {
  const { held, ann, bob, all } = await openKeyed();
  const waiting = [await ann.submit(), await ann.submit()];
  const atWork = await held.next();
  for (const id of waiting) {
    const missing = await bob.ask('GET', 'status/no-such');
    for (const [method, operation] of operations) {
      const reply = await bob.ask(method, `${operation}/${id}`);
      expect([operation, reply.status, reply.text]).toEqual([operation, 404, missing.text]);
    }
  }
  expect([await ann.statusOf(waiting[0] ?? ''), await ann.statusOf(waiting[1] ?? '')]).toEqual([
    'IN_PROGRESS',
    'IN_QUEUE',
  ]);
  atWork.fail(new Error('no'));
  await expect.poll(() => ann.statusOf(atWork.job.id)).toBe('FAILED');
  expect((await bob.ask('POST', `retry/${atWork.job.id}`)).status).toBe(404);
  expect(await ann.statusOf(atWork.job.id)).toBe('FAILED');
  // A key without this limit may do all this, as the manual says.
  expect(await all.statusOf(atWork.job.id)).toBe('FAILED');
});

it('a key limited to its own jobs does with them what any key may', async () => {
  const workload = inProcessWorkload('streaming', async (_job, { stream }) => {
    await stream('part');
    throw new Error('no');
  });
  const { ann } = await openKeyed({ workload });
  const id = await ann.submit();
  await expect.poll(() => ann.statusOf(id)).toBe('FAILED');
  expect((await ann.ask('GET', `status-sync/${id}`)).json).toMatchObject({ status: 'FAILED' });
  expect((await ann.ask('GET', `stream/${id}`)).json).toMatchObject({ stream: [{ output: 'part' }] });
  expect((await ann.ask('POST', `retry/${id}`)).json).toEqual({ id, status: 'IN_QUEUE' });
  const waited = await ann.ask('POST', 'runsync', input);
  expect(waited.json).toMatchObject({ status: 'FAILED' });
});

it('a key limited to its own jobs purges only these, and changes neither health nor the queue of others', async () => {
  const { ann, bob, all } = await openKeyed({ workers: 0 });
  const anns = await Promise.all(Array.from({ length: 150 }, () => ann.submit()));
  const low = (
    (await ann.ask('POST', 'run', '{"input":{"a":1},"policy":{"lowPriority":true}}')).json as AnswerOf<'run'>
  ).id;
  const bobs = [await bob.submit(), await bob.submit()];
  expect((await bob.ask('POST', 'purge-queue')).json).toEqual({ removed: 2, status: 'completed' });
  expect((await bob.ask('POST', 'purge-queue')).json).toEqual({ removed: 0, status: 'completed' });
  for (const id of bobs) expect(await bob.statusOf(id)).toBe('CANCELLED');
  // Every user of the endpoint may know how busy it is.
  expect((await bob.ask('GET', 'health')).json).toMatchObject({ jobs: { inQueue: 151 } });
  expect(await ann.statusOf(low)).toBe('IN_QUEUE');
  expect((await ann.ask('POST', 'purge-queue')).json).toEqual({ removed: 151, status: 'completed' });
  expect(await ann.statusOf(anns[149] ?? '')).toBe('CANCELLED');
  const others = await ann.submit();
  expect((await all.ask('POST', 'purge-queue')).json).toEqual({ removed: 1, status: 'completed' });
  expect(await ann.statusOf(others)).toBe('CANCELLED');
});

it('a key limited to its own jobs finds one by the key of its submission, and no other’s', async () => {
  const { ann, bob } = await openKeyed({ workers: 0 });
  const same = { 'Idempotency-Key': 'night-1' };
  const id = await ann.submit(same);
  expect(await ann.submit(same)).toBe(id);
  const other = await bob.submit(same);
  expect(other).not.toBe(id);
  expect((await ann.ask('GET', `status/${other}`)).status).toBe(404);
});

it('a key limited to its own jobs reads no metrics, because they count the jobs of all keys', async () => {
  const { url, ann, all } = await openKeyed();
  const statusFor = async ({ headers }: Holder): Promise<number> =>
    (await fetch(`${url}/metrics`, { headers: { ...headers, 'X-Forwarded-For': '203.0.113.7' } })).status;
  expect([await statusFor(ann), await statusFor(all)]).toEqual([404, 200]);
});

it('keys that were made before this limit existed are not limited', () => {
  const path = makePath();
  const own = keySchema.migrations.findIndex((text) => text.includes('ADD COLUMN ownJobs'));
  const before = { ...keySchema, migrations: keySchema.migrations.slice(0, own) };
  const db = openForWriting(path, before);
  db.exec(
    `INSERT INTO apiKey (id, name, kind, digest, createdAt) VALUES ('i', 'old', 'client', randomblob(32), 1)`,
  );
  db.close();
  const store = new KeyStore(path, { now: () => 1 });
  expect(store.list()).toMatchObject([
    { name: 'old', hasOwnJobsOnly: false, isReadOnly: false, expiresAt: null, lastUsedFrom: null },
  ]);
  store.close();
});

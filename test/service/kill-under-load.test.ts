/** Promise: after repeated kills under load, the service and its clients agree on every job. */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { packageFile } from '../../src/lib/files/package-file.ts';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { AnswerOf } from '../../src/protocol/operations.ts';
import { runPath, statusPath } from '../../src/protocol/paths.ts';
import { runs } from '../fakes/tier.ts';
import { addKey, PullingWorker } from './pull-harness.ts';
import { ask, endpointId, makeDataDir, post } from './service-harness.ts';

const script = packageFile('dist/test/fixtures/service-process.js');
const kills = runs(6, { ms: 1_500 });

/** Answers that clients received, and confirmations of results that workers received. */
interface Account {
  /** Accepted jobs by id, with the submitted content. */
  accepted: Map<string, { endpoint: string; count: number }>;
  /** Outputs that clients have seen, by job. */
  outputs: Map<string, string>;
  /** Number of times that a worker was told that its result counts, by job. */
  heard: Map<string, number>;
}

it(
  'a service that is killed loses nothing, completes nothing twice, and changes no output',
  { timeout: 300_000 },
  async () => {
    const dataDir = await makeDataDir();
    const workerKey = addKey(dataDir, 'worker');
    const account: Account = { accepted: new Map(), outputs: new Map(), heard: new Map() };
    let service = await start(dataDir);
    const over = { forClients: false, forWorkers: false };
    const urlNow = (): string => service.url;
    const clients = Array.from({ length: 4 }, (_, who) =>
      goOn(
        () => over.forClients,
        () => submitAndSee(urlNow(), who, account),
      ),
    );
    const workers = ['w1', 'w2', 'w3'].map((id) =>
      goOn(
        () => over.forWorkers,
        () => workOnce(new PullingWorker(urlNow(), workerKey, id, 'pulled'), account),
      ),
    );
    for (let kill = 0; kill < kills; kill++) {
      const enough = account.accepted.size + 40 + kill * 13;
      while (account.accepted.size < enough) await new Promise((resolve) => setImmediate(resolve));
      service.child.kill('SIGKILL');
      await once(service.child, 'exit');
      service = await start(dataDir);
    }
    over.forClients = true;
    await Promise.all(clients);
    for (const [id, { endpoint }] of account.accepted) {
      const output = await outputOf(service.url, endpoint, id);
      // An output that a client has seen once must not change.
      expect(output).toBe(account.outputs.get(id) ?? output);
      account.outputs.set(id, output);
    }
    over.forWorkers = true;
    service.child.kill('SIGKILL');
    await Promise.all(workers);
    expect(account.accepted.size).toBeGreaterThanOrEqual(kills * 40);
    expect([...account.heard.values()].every((times) => times === 1)).toBe(true);
    expectBookToAgree(dataDir, account);
  },
);

function expectBookToAgree(dataDir: string, { accepted, outputs }: Account): void {
  const db = new Sqlite(join(dataDir, 'service.sqlite'), { readonly: true });
  onTestFinished(() => void db.close());
  const rows = db.prepare<[], { id: string; input: string; output: string }>(
    'SELECT id, text AS input, output FROM job JOIN input ON job = number',
  );
  const store = new Map(rows.all().map((row) => [row.id, row]));
  for (const [id, { count }] of accepted) {
    expect(JSON.parse(store.get(id)?.input ?? 'null')).toMatchObject({ count });
    expect(store.get(id)?.output).toBe(outputs.get(id));
    expect(outputs.get(id)).toContain(`"count":${count}`);
  }
  // Some submissions without an answer became jobs, each once.
  expect(store.size).toBeGreaterThanOrEqual(accepted.size);
}

let submitted = 0;

/** Submits a job to one of the two endpoints and waits for its output, unless the service is killed. */
async function submitAndSee(url: string, who: number, { accepted, outputs }: Account): Promise<void> {
  const endpoint = who % 2 === 0 ? endpointId : 'pulled';
  const count = submitted++;
  const input = { ends: true, count, mark: createHash('sha256').update(String(count)).digest('hex') };
  const reply = await post(url, JSON.stringify({ input }), runPath('v2', endpoint));
  expect(reply.status).toBe(200);
  const { id } = reply.json as AnswerOf<'status'>;
  accepted.set(id, { endpoint, count });
  outputs.set(id, await outputOf(url, endpoint, id));
}

async function workOnce(worker: PullingWorker, { heard }: Account): Promise<void> {
  const { status, text } = await worker.take();
  if (status !== 200) return;
  const [, id = ''] = /^\{"id":"([^"]+)","input":/.exec(text) ?? [];
  const reply = await worker.done(id, `{"output":${text.slice(text.indexOf('"input":') + 8, -1)}}`);
  if (reply.text === '{"accepted":true}') heard.set(id, (heard.get(id) ?? 0) + 1);
}

/** Returns the output as JSON text. */
async function outputOf(url: string, endpoint: string, id: string): Promise<string> {
  for (;;) {
    const { status, text, json } = await ask(url, statusPath('v2', endpoint, id));
    if (status !== 200) throw new Error(`job ${id} was answered ${status} ${text}`);
    if ((json as AnswerOf<'status'>).status === 'COMPLETED')
      return /"output":(.*?)(?:,"retries":\d+)?,"status"/.exec(text)?.[1] ?? '';
    expect((json as AnswerOf<'status'>).status).toMatch(/^IN_/);
  }
}

/** Repeats the work until it is over. If the service is killed meanwhile, the work is tried again. */
async function goOn(isOver: () => boolean, work: () => Promise<void>): Promise<void> {
  while (!isOver()) {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

async function start(dataDir: string): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(script, [dataDir, '4']);
  onTestFinished(() => void child.kill('SIGKILL'));
  const [url] = (await once(child, 'message')) as [string];
  return { child, url };
}

/**
 * Promise: sign-ins, wrong keys and changes by admins are logged in a private file and shown in the console,
 * and a flood of them does not fill the disk.
 */
import { appendFileSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../../src/protocol/console-data.ts';
import { AuditLog } from '../../../src/service/keys/audit-log.ts';
import { enter, openWithConsole, send, withKeys } from '../console/visit.ts';
import { ask, endpointId, key, makeDataDir, submit } from '../service-harness.ts';

const clientForm = { name: 'guest', kind: 'client', endpoints: null };

function linesIn(dataDir: string, file: string): Record<string, unknown>[] {
  const text = readFileSync(join(dataDir, file), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

async function openForAdmin() {
  const service = await openWithConsole({ workers: 0, proxies: ['127.0.0.1'] });
  return { ...service, admin: await enter(service.url) };
}

/** Sends a request with a wrong key, as if forwarded by a proxy from this address. */
function knock(url: string, wrong: string, from: string): Promise<number> {
  const headers = { Authorization: `Bearer ${wrong}`, 'X-Forwarded-For': from };
  return ask(url, `/v2/${endpointId}/health`, { headers }).then(({ status }) => status);
}

describe('a line', () => {
  it('says who signed in, and what was changed, without secrets', async () => {
    const { url, dataDir, admin } = await openForAdmin();
    const command = ['cat', '--token=secret-word'];
    const workers = { min: 0, max: 1 };
    await admin.make({ id: 'own', name: 'Own', command, workers, environment: { TOKEN: 'secret-value' } });
    const { body } = await admin.ask('POST', 'keys', clientForm);
    const made = body as { key: string; view: { id: string } };
    const id = await submit(url, { scene: 'x' });
    await admin.ask('POST', 'jobs/cancel?text=x');
    await admin.ask('POST', `keys/${made.view.id}/revoke`);
    await ask(url, `/v2/${endpointId}/purge-queue`, { method: 'POST' });
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string;
    const who = { at, key: 'given-1', from: '127.0.0.1' };
    const change = { ...who, event: 'change' };
    const lines = linesIn(dataDir, 'audit.jsonl');
    expect(lines).toEqual([
      { ...who, event: 'signed-in', what: null },
      {
        ...change,
        what: 'POST endpoints',
        endpoint: 'own',
        runs: expect.stringContaining('cat') as string,
        variables: 'TOKEN',
      },
      { ...change, what: 'POST keys', name: 'guest', kind: 'client' },
      { ...change, what: 'POST jobs/cancel?text=x' },
      { ...change, what: `POST keys/${made.view.id}/revoke`, name: 'guest', kind: 'client' },
      { ...change, what: `purge-queue ${endpointId}` },
    ]);
    const text = JSON.stringify(lines);
    expect(
      [id, key, made.key, 'secret-value', 'secret-word'].filter((secret) => text.includes(secret)),
    ).toEqual([]);
    expect(statSync(join(dataDir, 'audit.jsonl')).mode & 0o777).toBe(0o600);
    expect((await admin.get<AuditEntry[]>('audit'))[0]).toMatchObject({ what: `purge-queue ${endpointId}` });
  });

  it('records no reads, no refusals, and no changes by a client', async () => {
    const { url, dataDir, admin } = await openForAdmin();
    await admin.overview();
    await admin.keys();
    expect((await admin.ask('POST', 'keys', { ...clientForm, kind: 'god' })).status).toBe(422);
    const { body } = await admin.ask('POST', 'keys', clientForm);
    const headers = { Authorization: `Bearer ${(body as { key: string }).key}` };
    await ask(url, `/v2/${endpointId}/purge-queue`, { method: 'POST', headers });
    expect(linesIn(dataDir, 'audit.jsonl').map(({ what }) => what)).toEqual([null, 'POST keys']);
  });

  it('shows the address of each wrong key, once, and the name of one that was revoked', async () => {
    const { url, dataDir, admin } = await openForAdmin();
    const old = withKeys(dataDir, (keys) => {
      const { key: text } = keys.add({ ...clientForm, name: 'old' });
      keys.revoke('old');
      return text;
    });
    for (const wrong of ['guess-1', 'guess-1', 'guess-2', old]) await knock(url, wrong, '198.51.100.7');
    await knock(url, 'guess-1', '2001:db8::1');
    const guest = withKeys(dataDir, (keys) => keys.add(clientForm));
    expect((await send(url, 'POST', 'session', { key: guest.key })).status).toBe(401);
    const wrong = { event: 'wrong-key', key: null, from: '198.51.100.7', what: null };
    const lines = linesIn(dataDir, 'wrong-keys.jsonl').map(({ at: _at, ...line }) => line);
    expect(lines).toEqual([
      wrong,
      wrong,
      { ...wrong, key: 'old' },
      { ...wrong, from: '2001:db8::1' },
      { ...wrong, key: 'guest', from: '127.0.0.1', what: 'the console, with a client key' },
    ]);
    const shown = await admin.get<AuditEntry[]>('audit');
    expect(shown.map(({ event }) => event)).toEqual([...lines.map(() => 'wrong-key'), 'signed-in']);
  });
});

describe('the files', () => {
  it('stay small in a flood of wrong keys, which pushes out no change', async () => {
    let now = 0;
    const dataDir = await makeDataDir();
    const log = new AuditLog(dataDir, { now: () => now, onProblem: () => undefined, maxBytes: 10_000 });
    log.note({ event: 'change', key: 'me', from: '127.0.0.1', what: 'POST keys' });
    for (let minute = 1; minute <= 3; minute++) {
      now = minute * 60_000;
      for (let index = 0; index < 700; index++)
        log.note({ event: 'wrong-key', key: null, from: `198.51.100.${index}`, what: null });
    }
    const sizes = ['wrong-keys.jsonl', 'wrong-keys.jsonl.1'].map(
      (file) => statSync(join(dataDir, file)).size,
    );
    for (const size of sizes) expect(size).toBeLessThanOrEqual(10_000);
    expect(linesIn(dataDir, 'audit.jsonl')).toMatchObject([{ what: 'POST keys' }]);
    expect(log.latest()).toHaveLength(51);
    expect(log.latest().at(-1)).toMatchObject({ event: 'change', what: 'POST keys' });
    // 700 wrong keys came in a minute. 600 were written, and the others are counted.
    now += 60_000;
    log.note({ event: 'wrong-key', key: null, from: null, what: null });
    expect(linesIn(dataDir, 'wrong-keys.jsonl').at(-1)).toMatchObject({ omitted: '100' });
  });

  it('are read over their change, also if a crash has cut a line', async () => {
    let now = 0;
    const dataDir = await makeDataDir();
    const log = new AuditLog(dataDir, { now: () => now, onProblem: () => undefined, maxBytes: 1 });
    for (const what of ['one', 'two']) {
      now += 1;
      log.note({ event: 'change', key: 'me', from: null, what });
    }
    appendFileSync(join(dataDir, 'audit.jsonl'), '{"at":"1970\n');
    const other = new AuditLog(dataDir, { now: () => 3, onProblem: () => undefined });
    other.note({ event: 'change', key: 'me', from: null, what: 'x'.repeat(5_000) });
    expect(other.latest().map(({ what }) => what)).toEqual([`${'x'.repeat(1_000)}…`, 'two', 'one']);
  });

  it('do not stop the service if they cannot be written, which is reported once', async () => {
    const dataDir = await makeDataDir();
    mkdirSync(join(dataDir, 'audit.jsonl'));
    const { url, troubles } = await openWithConsole({ dataDir });
    const admin = await enter(url);
    expect((await admin.ask('POST', 'keys', clientForm)).status).toBe(201);
    expect(troubles).toEqual([expect.stringContaining('the audit log cannot be written: ')]);
  });
});

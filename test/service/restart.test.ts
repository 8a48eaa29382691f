/**
 * Promise: an accepted job survives restarts, kills and full disks, and only one service uses a folder at a
 * time.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageFile } from '../../src/lib/files/package-file.ts';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DataFolderInUse } from '../../src/service/jobs/data-folder.ts';
import { runPath } from '../../src/protocol/paths.ts';
import {
  askStatus,
  endpointId,
  instantWorkload,
  makeDataDir,
  openService,
  post,
  statusOnce,
  submit,
} from './service-harness.ts';

const script = packageFile('dist/test/fixtures/service-process.js');

it('the service keeps the queue, its order and the results over a restart', async () => {
  const dataDir = await makeDataDir();
  const first = await openService({ dataDir, workers: 1 });
  const done = await submit(first.url, { scene: 'done' });
  (await first.held.next()).complete([{ seed: 1 }]);
  await statusOnce(first.url, done, 'COMPLETED');
  const before = (await askStatus(first.url, done)).text;
  const ids = [];
  for (let count = 0; count < 5; count++) ids.push(await submit(first.url, { count }));
  await first.held.next();
  await first.close();

  const second = await openService({ dataDir, workers: 1 });
  expect((await askStatus(second.url, done)).text).toBe(before);
  const late = await submit(second.url, { scene: 'late' });
  const order = [];
  for (let count = 0; count < 6; count++) {
    const run = await second.held.next();
    order.push(run.job.id);
    run.complete('done');
  }
  expect(order).toEqual([...ids, late]);
});

it('the service knows the workers of a cluster after a restart, although no endpoint of the file has any', async () => {
  const dataDir = await makeDataDir();
  const secretAfterStart = async (): Promise<string> => {
    await (await openService({ dataDir, workers: 1 })).close();
    return readFile(join(dataDir, 'cluster.key'), 'hex');
  };
  const first = await secretAfterStart();
  expect(first).toHaveLength(64);
  expect(await secretAfterStart()).toBe(first);
});

describe('a service that was killed without warning', () => {
  it('does jobs in progress again, then the rest, and keeps the results', async () => {
    const dataDir = await makeDataDir();
    const { child, url } = await forkService(dataDir, 2);
    const done = await submit(url, { ends: true });
    await statusOnce(url, done, 'COMPLETED');
    const ids = [];
    for (let count = 0; count < 5; count++) ids.push(await submit(url, { count }));
    await statusOnce(url, ids[1] ?? '', 'IN_PROGRESS');
    await kill(child);

    const { url: next, held } = await openService({ dataDir, workers: 2 });
    expect(await statusOnce(next, done, 'COMPLETED')).toMatchObject({ output: { ends: true } });
    for (const id of ids) {
      const run = await held.next();
      expect(run.job.id).toBe(id);
      expect(run.job.input).toEqual({ count: ids.indexOf(id) });
      run.complete('done after all');
      await statusOnce(next, id, 'COMPLETED');
    }
  });
});

describe('a second service on the same folder', () => {
  it('is refused in the same process, and harms nothing', async () => {
    const first = await openService();
    const id = await submit(first.url, { scene: 'x' });
    await expect(openService({ dataDir: first.dataDir })).rejects.toThrow(DataFolderInUse);
    await expect(openService({ dataDir: first.dataDir })).rejects.toThrow(first.dataDir);
    expect((await first.held.next()).job.id).toBe(id);
    expect((await askStatus(first.url, id)).status).toBe(200);
  });

  it('is refused while another process holds it, and started once that was killed', async () => {
    const dataDir = await makeDataDir();
    const { child } = await forkService(dataDir, 1);
    await expect(openService({ dataDir })).rejects.toThrow(/another service/);
    await kill(child);
    await openService({ dataDir });
  });
});

it('the service makes its folder for its owner only', async () => {
  const dataDir = join(await makeDataDir(), 'a', 'b');
  await openService({ dataDir });
  expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
});

it('the service leaves a file that is not a database unchanged, and releases the folder', async () => {
  const dataDir = await makeDataDir();
  await mkdir(dataDir, { recursive: true });
  await writeFile(
    join(dataDir, 'service.sqlite'),
    'no database, but long enough to look like one '.repeat(100),
  );
  await expect(openService({ dataDir })).rejects.toThrow(/not changed/);
  await expect(openService({ dataDir })).rejects.toThrow(/not changed/);
});

it('the service releases the folder if it cannot listen', async () => {
  const { url } = await openService();
  const dataDir = await makeDataDir();
  await expect(openService({ dataDir, port: Number(new URL(url).port) })).rejects.toThrow('EADDRINUSE');
  await openService({ dataDir });
});

it('the service accepts nothing that the disk does not take, and answers on', async () => {
  const dataDir = await makeDataDir();
  // A limit on file sizes simulates a full disk: the kernel refuses to write beyond it.
  const limited = spawn(
    'sh',
    ['-c', 'ulimit -f 1024; exec "$0" "$@"', process.execPath, script, dataDir, '0'],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    },
  );
  const { child, url } = await whenListening(limited);
  const accepted: string[] = [];
  const statuses: number[] = [];
  const body = JSON.stringify({ input: { scene: 'x'.repeat(20_000) } });
  for (let count = 0; count < 100; count++) {
    const reply = await post(url, body, runPath('v2', endpointId));
    statuses.push(reply.status);
    if (reply.status === 200) accepted.push((reply.json as { id: string }).id);
    else expect(reply.json).toEqual({ error: expect.any(String) as string });
  }
  expect(new Set(statuses)).toEqual(new Set([200, 500]));
  for (const id of accepted) expect((await askStatus(url, id)).status).toBe(200);
  await kill(child);

  const worked: string[] = [];
  const next = await openService({ dataDir, workload: instantWorkload(({ id }) => worked.push(id)) });
  const last = await submit(next.url, { scene: 'there is room again' });
  await statusOnce(next.url, last, 'COMPLETED');
  expect(worked).toEqual([...accepted, last]);
});

interface ServiceProcess {
  child: ChildProcess;
  url: string;
}

function forkService(dataDir: string, workers: number): Promise<ServiceProcess> {
  return whenListening(fork(script, [dataDir, String(workers)]));
}

async function whenListening(child: ChildProcess): Promise<ServiceProcess> {
  onTestFinished(() => kill(child));
  const [url] = (await once(child, 'message')) as [string];
  return { child, url };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

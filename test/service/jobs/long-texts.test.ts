/**
 * Promise: long inputs, outputs and streams are kept complete in files, do not slow down other jobs, and are
 * deleted in time.
 */
import { readdirSync, rmSync, statSync, truncateSync, writeFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Sqlite } from '../../../src/lib/sqlite/database.ts';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  byteCountOf,
  closeFilesOf,
  OpenFile,
  type OpenText,
  type Text,
  wholeOf,
} from '../../../src/lib/files/filed-text.ts';
import { longText, LongTexts, type StoredText } from '../../../src/service/jobs/long-texts.ts';
import { type FileStore, SharedFiles } from '../../../src/service/replication/page-store.ts';
import type { JobStore } from '../../../src/service/jobs/job-store.ts';
import { jobSchema } from '../../../src/service/jobs/job-schema.ts';
import { openStore, accepted, bytesIn, makeDataDir } from '../service-harness.ts';

const taker = { workerId: 'w', isPulled: true };
const retentionMs = 1_000;

let dir: string;
let now: number;

beforeEach(async () => {
  dir = await makeDataDir();
  now = 1_000_000;
});

function openJobStore(): Promise<JobStore> {
  return openStore({ retentionMs, now: () => now }, dir);
}

function inputOf(mark: string, length: number): string {
  return JSON.stringify({ scene: mark, picture: `${mark}${'x'.repeat(length)}${mark}` });
}

function filesIn(folder: string): string[] {
  return readdirSync(join(dir, folder));
}

async function textOf(stored: Text | OpenText | null | undefined): Promise<string | undefined> {
  return stored === null || stored === undefined ? undefined : (await wholeOf([stored])).toString();
}

async function takeOne(store: JobStore): Promise<string | undefined> {
  return (await store.work.take('a', [taker]))[0]?.input.toString();
}

describe('a move of a job', () => {
  it.each([100_000, 10_000_000])('writes nothing of its input of %i bytes', async (length) => {
    const store = await openJobStore();
    const ids = [];
    for (let count = 0; count < 3; count++) ids.push(await accepted(store, 'a', inputOf('MARK', length)));
    const [one = '', two = ''] = ids;
    const written = async (move: () => Promise<unknown>): Promise<number> => {
      store.file.db.pragma('wal_checkpoint(TRUNCATE)');
      await move();
      return statSync(join(dir, 'service.sqlite-wal')).size;
    };
    const moves = {
      take: () => store.work.take('a', [taker]),
      requeue: () => store.work.requeue({ id: one, workerId: 'w' }, 'it died'),
      takeAgain: () => store.work.take('a', [taker]),
      settle: () => store.work.settle({ id: one, workerId: 'w' }, { state: 'FAILED', error: 'no' }),
      retry: () => store.retry('a', one),
      cancel: () => store.cancel('a', two),
      purge: () => store.bulk.purgeQueue('a'),
    };
    for (const [name, move] of Object.entries(moves))
      expect([name, (await written(move)) < 100_000]).toEqual([name, true]);
  });
});

describe('a long input', () => {
  it('is whole for every worker that gets it, and shown as any other', async () => {
    const store = await openJobStore();
    const input = inputOf('MÄRK', 400_000);
    const id = await accepted(store, 'a', input);
    expect(await takeOne(store)).toBe(input);
    const job = store.reads.find('a', id);
    expect(await textOf((job && (await store.reads.open(job)))?.payload)).toBe(input);
    await store.work.settle({ id, workerId: 'w' }, { state: 'FAILED', error: 'no' });
    expect(await store.retry('a', id)).toBe('FAILED');
    expect(await takeOne(store)).toBe(input);
    expect(await textOf(await store.reads.inputOf(id))).toBe(input);
  });

  it('is there after a restart, and a file that a dead service did not name is not', async () => {
    const first = await openJobStore();
    const input = inputOf('MARK', 400_000);
    await accepted(first, 'a', input);
    first.close();
    for (const folder of ['inputs', 'results', 'streams'])
      writeFileSync(join(dir, folder, 'unnamed.json'), '"UNNAMED"');
    const second = await openJobStore();
    expect([filesIn('inputs').length, filesIn('results'), filesIn('streams')]).toEqual([1, [], []]);
    expect(await takeOne(second)).toBe(input);
  });

  it('is not kept if the queue is full', async () => {
    const store = await openJobStore();
    await accepted(store, 'a', '{"scene":"x"}');
    const both = [1, 2].map(() => store.accept('a', inputOf('MARK', 400_000), {}, { maxQueued: 2 }));
    expect((await Promise.all(both)).filter((id) => id === undefined)).toHaveLength(1);
    expect(await store.accept('a', inputOf('MARK', 400_000), {}, { maxQueued: 2 })).toBeUndefined();
    expect(filesIn('inputs')).toHaveLength(1);
  });

  it('fails its job with a message if its file was deleted, and the worker gets the next one', async () => {
    const store = await openJobStore();
    const id = await accepted(store, 'a', inputOf('MARK', 400_000));
    const next = '{"scene":"next"}';
    await accepted(store, 'a', next);
    for (const name of filesIn('inputs')) rmSync(join(dir, 'inputs', name));
    expect(await takeOne(store)).toBe(next);
    expect(store.reads.find('a', id)).toMatchObject({
      state: 'FAILED',
      error: 'the service cannot read the input of this job: its file is missing from the data folder',
    });
  });

  it('keeps no worker from the jobs taken with it, if that cannot be written either', async () => {
    const store = await openJobStore();
    await accepted(store, 'a', inputOf('MARK', 400_000));
    const next = '{"scene":"next"}';
    await accepted(store, 'a', next);
    for (const name of filesIn('inputs')) rmSync(join(dir, 'inputs', name));
    vi.spyOn(store.work, 'settle').mockRejectedValueOnce(new Error('disk I/O error'));
    const taken = await store.work.take('a', [taker, { ...taker, workerId: 'other' }]);
    expect(taken.map(({ input }) => input)).toEqual([next]);
  });
});

it.each(['runs', 'ends'])('leaves nothing of a job that was long in every way, when it %s', async (when) => {
  const store = await openJobStore();
  const id = await accepted(store, 'a', inputOf('MARK', 400_000));
  await store.work.take('a', [taker]);
  const part = JSON.stringify(`MARK${'x'.repeat(300_000)}`);
  for (const each of [part, '"MARK"']) await store.streams.add({ id, workerId: 'w' }, each);
  await store.work.settle({ id, workerId: 'w' }, { state: 'COMPLETED', output: part });
  expect(['inputs', 'results', 'streams'].map((folder) => filesIn(folder).length)).toEqual([1, 1, 1]);
  now += retentionMs;
  if (when === 'runs') while ((await store.expiry.deleteSome()) > 0);
  else store.close();
  expect(['inputs', 'results', 'streams'].flatMap(filesIn)).toEqual([]);
  if (when === 'runs') store.close();
  expect((await bytesIn(dir)).includes('MARK')).toBe(false);
});

it('deletes with a retry all that the failed try has left, and keeps the input', async () => {
  const store = await openJobStore();
  const id = await accepted(store, 'a', inputOf('MARK', 400_000));
  await store.work.take('a', [taker]);
  const long = JSON.stringify('x'.repeat(300_000));
  await store.streams.add({ id, workerId: 'w' }, long);
  await store.work.settle({ id, workerId: 'w' }, { state: 'FAILED', error: 'no', output: long });
  const counts = () => ['inputs', 'results', 'streams'].map((folder) => filesIn(folder).length);
  expect(counts()).toEqual([1, 1, 1]);
  expect(await store.retry('a', id)).toBe('FAILED');
  expect(counts()).toEqual([1, 0, 0]);
});

it('hands a long part of a stream out once, in its place', async () => {
  const store = await openJobStore();
  const id = await accepted(store, 'a', '{"scene":"x"}');
  await store.work.take('a', [taker]);
  const parts = ['1', JSON.stringify('x'.repeat(300_000)), '3'];
  for (const part of parts) await store.streams.add({ id, workerId: 'w' }, part);
  expect((await store.streams.drain(id)).map(String)).toEqual(parts);
  expect([filesIn('streams'), await store.streams.drain(id)]).toEqual([[], []]);
});

it('deletes a long unread stream a little at a time', async () => {
  const store = await openJobStore();
  const id = await accepted(store, 'a', '{"scene":"x"}');
  await store.work.take('a', [taker]);
  await Promise.all(Array.from({ length: 1_600 }, () => store.streams.add({ id, workerId: 'w' }, '1')));
  await store.cancel('a', id);
  now += retentionMs;
  const steps = [];
  for (let count = 1; count > 0; steps.push(count)) count = await store.expiry.deleteSome();
  expect(steps.length).toBeGreaterThan(3);
});

it('does not keep a message of progress as long as a result', async () => {
  const store = await openJobStore();
  const id = await accepted(store, 'a', '{"scene":"x"}');
  await store.work.take('a', [taker]);
  const job = { id, workerId: 'w' };
  expect(await store.work.setProgress(job, '"half"')).toBe(true);
  expect(await store.work.setProgress(job, JSON.stringify('x'.repeat(300_000)))).toBe(false);
  expect(store.reads.find('a', id)?.progress).toBe('"half"');
});

it('upgrades a store of the last version with all its content', async () => {
  const db = new Sqlite(join(dir, 'service.sqlite'));
  db.pragma('journal_mode = WAL');
  for (const statements of jobSchema.migrations.slice(0, 3)) db.exec(statements);
  db.pragma(`application_id = ${jobSchema.applicationId}`);
  db.pragma('user_version = 3');
  const insert = db.prepare(
    `INSERT INTO job (id, endpointId, state, acceptedAt, queuedAt, startedAt, endedAt, expiresAt, ttlMs,
       executionTimeoutMs, isLowPriority, maxRetries, retries, keyId, workerId, isPulled, outputFile, summary, input)
     VALUES (?, 'a', ?, 1, 1, ?, ?, 9e12, 9e12, 9e12, 0, 2, 0, 'none', 'w', 1, ?, '', ?)`,
  );
  const inputs = ['DONE', 'RUNNING', 'WAITING'].map((mark) => inputOf(mark, 1_000_000));
  insert.run('done', 'COMPLETED', 1, now, 'old.json', inputs[0]);
  insert.run('running', 'IN_PROGRESS', now, null, null, inputs[1]);
  insert.run('waiting', 'IN_QUEUE', null, null, null, inputs[2]);
  db.prepare("INSERT INTO part (job, output) VALUES (2, '1'), (2, '2')").run();
  db.close();
  mkdirSync(join(dir, 'results'));
  writeFileSync(join(dir, 'results', 'old.json'), '["an old result"]');

  const store = await openJobStore();
  const done = store.reads.find('a', 'done');
  expect(await textOf((done && (await store.reads.open(done)))?.payload)).toBe('["an old result"]');
  expect(await store.streams.drain('running')).toEqual(['1', '2']);
  expect(await takeOne(store)).toBe(inputs[2]);
  for (const [index, id] of ['done', 'running', 'waiting'].entries())
    expect(await textOf(await store.reads.inputOf(id))).toBe(inputs[index]);
  expect(store.reads.tally('a')).toMatchObject({ COMPLETED: 1, IN_PROGRESS: 2, IN_QUEUE: 0 });
  now += retentionMs;
  store.close();
  const bytes = await bytesIn(dir);
  expect(['DONE', 'RUNNING', 'WAITING'].filter((mark) => bytes.includes(mark))).toEqual([
    'RUNNING',
    'WAITING',
  ]);
});

describe('long texts outside of a store', () => {
  const text = 'x'.repeat(longText);
  const texts = (shared?: FileStore) =>
    new LongTexts(dir, shared && new SharedFiles(shared, () => undefined));
  const nameOf = (stored: StoredText): string => stored.file ?? '';

  it('are in a file from their length on, on the disk by the time they are named', async () => {
    const book = texts();
    const stored: StoredText[] = [];
    for (const each of [text, text.slice(1)])
      expect(
        await book.withStored('results', each, async (one) => {
          stored.push(one);
          if (one.file !== null) expect(statSync(join(dir, one.file)).size).toBe(longText);
          return true;
        }),
      ).toBe(true);
    expect(stored).toEqual([
      { text: null, file: expect.stringMatching(/^results\/[-\w]+\.json$/) },
      { text: text.slice(1), file: null },
    ]);
    const kept = await Promise.all(stored.map((one) => book.textOf(one)));
    expect(kept.map(String)).toEqual([text, text.slice(1)]);
    expect(statSync(join(dir, nameOf(stored[0] as StoredText))).mode & 0o777).toBe(0o600);
    expect(await book.textOf({ text: null, file: 'results/none.json' })).toBeUndefined();
    await book.delete(stored);
    await book.delete(stored);
    expect(filesIn('results')).toEqual([]);
  });

  it('are neither shared nor named if they cannot be written', async () => {
    const put: string[] = [];
    const shared: FileStore = {
      putFile: async (name) => void put.push(name),
      getFile: async () => undefined,
      removeFiles: async () => undefined,
      fileNames: async () => [],
    };
    const book = texts(shared);
    rmSync(join(dir, 'inputs'), { recursive: true });
    const name = vi.fn(() => Promise.resolve(true));
    await expect(book.withStored('inputs', text, name)).rejects.toThrow('ENOENT');
    expect([put, name.mock.calls]).toEqual([[], []]);
  });

  it('are deleted if no row refers to them, and kept if that is unknown', async () => {
    const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));
    expect(await texts().withStored('inputs', text, () => Promise.resolve(false))).toBe(false);
    await expect(texts().withStored('inputs', text, failing('ENOSPC'))).rejects.toThrow('ENOSPC');
    expect(filesIn('inputs')).toEqual([]);
    await expect(texts().withStored('inputs', text, failing('EIO'))).rejects.toThrow('EIO');
    expect(filesIn('inputs')).toHaveLength(1);
    await texts().deleteAllBut(new Set([`inputs/${filesIn('inputs')[0]}`]));
    expect(filesIn('inputs')).toHaveLength(1);
    texts().deleteNow([{ file: `inputs/${filesIn('inputs')[0]}` }, { file: null }]);
    expect(filesIn('inputs')).toEqual([]);
  });

  it('of a shared service are where all its processes find them, and go from there', async () => {
    const files = new Map<string, Buffer>();
    const shared: FileStore = {
      putFile: async (name, bytes) => {
        await nextTurn();
        files.set(name, bytes);
      },
      getFile: async (name) => files.get(name),
      removeFiles: async (names) => names.forEach((name) => files.delete(name)),
      fileNames: async () => [...files.keys()],
    };
    const book = texts(shared);
    const stored: StoredText[] = [];
    for (let count = 0; count < 3; count++)
      await book.withStored('streams', text, async (one) => {
        expect(files.has(nameOf(one))).toBe(true);
        stored.push(one);
        return true;
      });
    for (const name of filesIn('streams')) rmSync(join(dir, 'streams', name));
    const opened = await book.open(nameOf(stored[0] as StoredText));
    expect([opened?.byteCount, await textOf(opened)]).toEqual([text.length, text]);
    expect(await book.open('streams/none.json')).toBeUndefined();
    await book.delete(stored.slice(0, 1));
    expect(files.size).toBe(2);
    book.deleteNow(stored.slice(1, 2));
    expect(files.size).toBe(1);
    await book.deleteAllBut(new Set(stored.slice(2).map(nameOf)));
    expect(files.size).toBe(1);
    await book.deleteAllBut(new Set());
    expect(files.size).toBe(0);
  });
});

describe('a file that is read piece by piece', () => {
  const path = () => join(dir, 'text.json');

  it('is whole, also if it is deleted meanwhile', async () => {
    const bytes = Buffer.alloc(200_000, 'äbc');
    writeFileSync(path(), bytes);
    const file = await OpenFile.open(path());
    if (file === undefined) throw new Error('it is there');
    rmSync(path());
    expect([file.byteCount, byteCountOf(['é', file, Buffer.of(1)]), byteCountOf('é')]).toEqual([
      200_000, 200_003, 2,
    ]);
    const whole = await wholeOf(['[', file, Buffer.from(']')]);
    expect(Buffer.from(whole).equals(Buffer.concat([Buffer.from('['), bytes, Buffer.from(']')]))).toBe(true);
    // Reading the whole file closes it.
    await expect(wholeOf([file])).rejects.toThrow();
    expect(await OpenFile.open(path())).toBeUndefined();
    await expect(OpenFile.open(join(dir, 'x'.repeat(300)))).rejects.toThrow('ENAMETOOLONG');
  });

  it('throws if it has become shorter', async () => {
    writeFileSync(path(), 'x'.repeat(100_000));
    const file = await OpenFile.open(path());
    truncateSync(path(), 50_000);
    await expect(wholeOf(file === undefined ? [] : [file])).rejects.toThrow('shorter than it was');
    await expect(closeFilesOf(undefined)).resolves.toBeUndefined();
    await expect(closeFilesOf('text')).resolves.toBeUndefined();
  });
});

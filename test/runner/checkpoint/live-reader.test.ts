/** Promise: a reader that polls a batch always has the same data as a reader that reads all of it. */
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LiveReader, maxArrived, type LiveList } from '../../../src/runner/checkpoint/live-reader.ts';
import { openCheckpoint, openCheckpointForReading } from '../../../src/runner/checkpoint/open-checkpoint.ts';
import { Sqlite, UnusableDatabase } from '../../../src/lib/sqlite/database.ts';
import { putBackSession } from '../../../src/runner/checkpoint/put-back.ts';
import { readRecords } from '../../../src/runner/checkpoint/scene-records.ts';
import { readEnded, readNumbers } from '../../../src/runner/checkpoint/read-summary.ts';
import type { Attempt, SettledState, Settlement } from '../../../src/runner/core/attempt.ts';
import { throughputOf, type BatchOnRecord } from '../../../src/runner/core/forecast.ts';
import type { SceneRecord } from '../../../src/runner/core/scene-record.ts';
import { endpoint, manifestOf, unstopped } from '../../fakes/world.ts';

const pricing = { perSecond: 0.5, perPicture: 0.25, perMegapixel: 1, currency: 'USD' };
const batch = { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'], pricing };
const failure = { kind: 'job-failed', text: 'out of memory' } as const;

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function opened(dir: string, at: number, about: Parameters<typeof openCheckpoint>[2] = batch) {
  const { checkpoint, close } = openCheckpoint(dir, 'test', about, at);
  let isClosed = false;
  const closeOnce = (): void => {
    if (!isClosed) close();
    isClosed = true;
  };
  onTestFinished(closeOnce);
  return { checkpoint, close: closeOnce };
}

async function begun(dir: string, count: number) {
  const batchOf = opened(dir, 1_000);
  const pairs = Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
  await batchOf.checkpoint.reconcile(manifestOf(pairs), unstopped);
  return batchOf;
}

type Opened = ReturnType<typeof opened>;

/** Returns the result of an attempt that ends in this state. */
function settlementOf({ key, sceneId }: Attempt, state: SettledState, at: number): Settlement {
  if (state === 'saved') {
    const picture = { file: `${key}.png`, width: 512, height: 512, bytes: 300_000, sha256: 'ab'.repeat(32) };
    return {
      state,
      at,
      executionTimeMs: 10 * key,
      scene: { state },
      pictures: [{ ...picture, seed: sceneId }],
    };
  }
  const scene =
    state === 'failed' && key % 2 === 0
      ? { state: 'failed' as const, failure }
      : { state: 'waiting' as const, dueAt: 1 };
  return { state, at, scene, ...(state === 'failed' && { failure }) };
}

async function settle({ checkpoint }: Opened, attempt: Attempt, state: SettledState): Promise<void> {
  const isAccepted = state === 'saved' || state === 'failed' || state === 'expired';
  const job = { jobId: `job-${attempt.key}`, status: 'IN_QUEUE', at: 2_000 };
  if (isAccepted) await checkpoint.recordSubmitted(attempt, job);
  await checkpoint.settle(attempt, settlementOf(attempt, state, 3_000 + attempt.key));
}

/** Reads everything at once, as `status` does. Has the same shape as a poll of the live reader. */
function allOf(dir: string) {
  const db = openCheckpointForReading(dir);
  if (db === undefined) throw new Error('there is no checkpoint');
  const { scenes, attempts, cost, part, failures } = readNumbers(db);
  const ended = readEnded(db);
  db.close();
  return {
    scenes,
    total: attempts.total,
    inFlight: attempts.submitted,
    cost,
    pace: paceAt({ scenes, part, inFlight: attempts.submitted, ended }),
    failures,
  };
}

function paceAt(record: BatchOnRecord) {
  return throughputOf({ kind: 'running', since: 0 }, record, 4_000);
}

async function told(reader: LiveReader) {
  const reading = await reader.read(Date.now());
  if (reading === undefined) throw new Error('there is no reading');
  const { scenes, tally, cost, part, ended, lastTexts } = reading;
  const { total, inFlight } = tally;
  const failures = [...tally.kinds].map(([kind, { attempts }]) => ({
    kind,
    attempts,
    lastText: lastTexts.get(kind),
  }));
  const pace = paceAt({ scenes, part, inFlight, ended });
  return { scenes, total, inFlight, cost, pace, failures };
}

it('a reader has the same data as all rows, whatever was settled in which order and read in between', async () => {
  const step = fc.record({
    state: fc.constantFrom<SettledState[]>('saved', 'failed', 'unanswered', 'expired', 'refused'),
    which: fc.nat(9),
    isReadAfter: fc.boolean(),
    claims: fc.nat(2),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const dir = folder();
      const run = await begun(dir, 8);
      const reader = new LiveReader(dir);
      const follower = new Follower();
      const compare = async (): Promise<void> => {
        expect(await told(reader)).toEqual(allOf(dir));
        expect(follower.rows(reader, (await reader.read(Date.now()))?.list)).toEqual(rowsOf(dir));
      };
      const open: Attempt[] = [];
      for (const { state, which, isReadAfter, claims } of steps) {
        open.push(...(await run.checkpoint.claim(claims, endpoint, 1_500)));
        const [attempt] = open.splice(which % Math.max(1, open.length), 1);
        if (attempt !== undefined) await settle(run, attempt, state);
        if (isReadAfter) await compare();
      }
      await compare();
      run.close();
    }),
    { numRuns: 15 },
  );
});

it('a reader reads nothing again while nothing changes, and every change at once', async () => {
  const dir = folder();
  const run = await begun(dir, 2);
  const reader = new LiveReader(dir);
  const later = Date.now() + 60_000;
  const first = await reader.read(later);
  expect(await reader.read(later)).toBe(first);
  const [attempt] = await run.checkpoint.claim(1, endpoint, 1_500);
  if (attempt !== undefined) await settle(run, attempt, 'saved');
  expect((await reader.read(later))?.scenes.saved).toBe(1);
});

it('a reader does not keep a run from tidying up its journal at its end', async () => {
  const dir = folder();
  const run = await begun(dir, 2);
  await new LiveReader(dir).read(Date.now());
  run.close();
  expect(readdirSync(dir)).not.toContain('checkpoint.sqlite-wal');
});

it('a reader counts another batch that takes the place of the first from its start', async () => {
  const dir = folder();
  const first = await begun(dir, 3);
  for (const attempt of await first.checkpoint.claim(3, endpoint, 1)) await settle(first, attempt, 'saved');
  const reader = new LiveReader(dir);
  expect((await reader.read(Date.now()))?.tally.total).toBe(3);
  first.close();
  for (const name of readdirSync(dir).filter((each) => /^\.?checkpoint/.test(each)))
    renameSync(join(dir, name), join(dir, `old-${name}`));
  expect(await reader.read(Date.now())).toBeUndefined();
  opened(dir, 9_999);
  expect((await reader.read(Date.now()))?.tally.total).toBe(0);
});

it('a reader counts the payments for pictures that are rendered again, and the observed time of jobs that state none', async () => {
  const dir = folder();
  const run = await begun(dir, 3);
  const reader = new LiveReader(dir);
  const [a, b, c] = await run.checkpoint.claim(3, endpoint, 1_500);
  if (a === undefined || b === undefined || c === undefined) throw new Error('three were claimed');
  await settle(run, a, 'saved');
  for (const attempt of [b, c]) {
    await run.checkpoint.recordSubmitted(attempt, { jobId: attempt.sceneId, status: 'IN_QUEUE', at: 2_000 });
    await run.checkpoint.recordStatus(attempt, { status: 'IN_PROGRESS', isExecuting: true, at: 2_100 });
    const { executionTimeMs: _, ...untold } = settlementOf(attempt, 'saved', 2_900);
    await run.checkpoint.settle(attempt, attempt === b ? untold : settlementOf(c, 'expired', 9_000));
  }
  // Times of 10 and 800 ms are known. The lost job counts as the shorter of them.
  const pictures = 3 * 0.25 + (3 * 512 * 512) / 1e6;
  expect((await told(reader)).cost?.spent).toBeCloseTo(0.5 * 0.82 + pictures);
  const db = new Sqlite(join(dir, 'checkpoint.sqlite'));
  putBackSession(db).putBack({ kinds: [], ids: ['s0'], notAt: undefined, isAgain: true }, 9_500);
  db.close();
  const { cost } = await told(reader);
  expect(cost).toEqual(allOf(dir).cost);
  expect(cost?.spent).toBeCloseTo(0.5 * 0.82 + pictures);
});

it('a reader counts the picture of a job without a price that follows one with a price, rendered again', async () => {
  const dir = folder();
  const at = 'output.cost';
  const { checkpoint } = opened(dir, 1_000, { ...batch, pricing: { at, perMegapixel: 1, currency: 'USD' } });
  await checkpoint.reconcile(manifestOf([['s0', 'sea']]), unstopped);
  const reader = new LiveReader(dir);
  for (const cost of [{ at, amount: 2 }, { at }]) {
    const [attempt] = await checkpoint.claim(1, endpoint, 9_600);
    if (attempt === undefined) throw new Error('one was claimed');
    await checkpoint.recordSubmitted(attempt, { jobId: `job-${attempt.key}`, status: 'IN_QUEUE', at: 9_700 });
    await checkpoint.settle(attempt, { ...settlementOf(attempt, 'saved', 9_800), cost });
    expect((await told(reader)).cost).toEqual(allOf(dir).cost);
    const db = new Sqlite(join(dir, 'checkpoint.sqlite'));
    putBackSession(db).putBack({ kinds: [], ids: ['s0'], notAt: undefined, isAgain: true }, 9_900);
    db.close();
  }
  expect((await told(reader)).cost).toMatchObject({ spent: 2 + (512 * 512) / 1e6, stated: 2 });
});

it('a reader says of a damaged file what every command says', async () => {
  const dir = folder();
  writeFileSync(join(dir, 'checkpoint.sqlite'), 'not a database, but somebody wants to keep it');
  await expect(new LiveReader(dir).read(Date.now())).rejects.toThrow(UnusableDatabase);
});

/** A reader that keeps the pieces of the list, and reads only the changed ones again. */
class Follower {
  readonly #kept = new Map<number, SceneRecord[]>();
  #list: LiveList | undefined;

  rows(reader: LiveReader, list: LiveList | undefined): SceneRecord[] {
    if (list === undefined) throw new Error('there is no list');
    if (list.layout !== this.#list?.layout) this.#kept.clear();
    if (list !== this.#list) for (const piece of list.changed) this.#kept.delete(piece);
    this.#list = list;
    return list.layout.rows.flatMap((count, piece) => {
      const rows = this.#kept.get(piece) ?? reader.piece(piece) ?? [];
      this.#kept.set(piece, rows);
      expect(rows).toHaveLength(count);
      return rows;
    });
  }
}

function rowsOf(dir: string): SceneRecord[] {
  const db = openCheckpointForReading(dir);
  if (db === undefined) throw new Error('there is no checkpoint');
  const rows = [...readRecords(db)];
  db.close();
  return rows;
}

describe('the list', () => {
  it('is complete for a reader that reads only changed pieces again, also if another list replaces it', async () => {
    const dir = folder();
    const run = await begun(dir, 450);
    const reader = new LiveReader(dir);
    const follower = new Follower();
    const compare = async (): Promise<LiveList | undefined> => {
      const list = (await reader.read(Date.now()))?.list;
      expect(follower.rows(reader, list)).toEqual(rowsOf(dir));
      return list;
    };
    expect((await compare())?.layout).toEqual({ rows: [199, 200, 51], listed: 3 });
    const attempts = await run.checkpoint.claim(230, endpoint, 1_500);
    expect((await compare())?.changed).toEqual([0, 1]);
    for (const [i, attempt] of attempts.entries())
      await settle(run, attempt, i % 3 === 0 ? 'failed' : 'saved');
    expect((await compare())?.changed).toEqual([0, 1]);
    const [last] = attempts.splice(-1);
    expect((await compare())?.arrived[0]?.row.id).toBe(last?.sceneId);
    const pairs = Array.from({ length: 300 }, (_, i): [string, string] => [`s${2 * i}`, `scene ${2 * i}`]);
    await run.checkpoint.reconcile(manifestOf(pairs.toReversed()), unstopped);
    expect((await compare())?.layout.rows).toEqual([199, 101, 115]);
  });

  it('changes if scenes are put back, although no attempt changes', async () => {
    const dir = folder();
    const run = await begun(dir, 3);
    for (const attempt of await run.checkpoint.claim(3, endpoint, 1)) await settle(run, attempt, 'failed');
    const reader = new LiveReader(dir);
    const follower = new Follower();
    follower.rows(reader, (await reader.read(Date.now()))?.list);
    run.close();
    const db = new Sqlite(join(dir, 'checkpoint.sqlite'));
    db.exec("UPDATE scenes SET state = 'waiting', failure_kind = NULL, failure_text = NULL");
    db.close();
    expect(follower.rows(reader, (await reader.read(Date.now()))?.list)).toEqual(rowsOf(dir));
  });

  it('names the rows of the latest pictures, the newest first', async () => {
    const dir = folder();
    const run = await begun(dir, 230);
    const reader = new LiveReader(dir);
    expect((await reader.read(Date.now()))?.list.arrived).toEqual([]);
    const attempts = await run.checkpoint.claim(230, endpoint, 1);
    for (const attempt of attempts.slice(0, 210)) await settle(run, attempt, 'saved');
    const arrived = (await reader.read(Date.now()))?.list.arrived ?? [];
    expect(arrived.map(({ index }) => index)).toEqual(Array.from({ length: maxArrived }, (_, i) => 209 - i));
    expect(arrived[0]?.row).toEqual(rowsOf(dir)[209]);
    for (const attempt of attempts.slice(210, 212)) await settle(run, attempt, 'saved');
    const later = (await reader.read(Date.now()))?.list.arrived ?? [];
    expect(later.map(({ index }) => index)).toEqual(Array.from({ length: maxArrived }, (_, i) => 211 - i));
  });

  it('has no pieces beyond its length', async () => {
    const dir = folder();
    await begun(dir, 3);
    const reader = new LiveReader(dir);
    expect(reader.piece(0)).toBeUndefined();
    await reader.read(Date.now());
    expect(reader.piece(0)).toHaveLength(3);
    for (const odd of [-1, 1, 1e6, Number.NaN]) expect(reader.piece(odd)).toBeUndefined();
  });
});

it('the time from the end of a job to its picture is measured by the times of the service', async () => {
  const dir = folder();
  const run = await begun(dir, 3);
  const reader = new LiveReader(dir);
  expect((await reader.read(Date.now()))?.lagMs).toBeNull();
  for (const attempt of await run.checkpoint.claim(3, endpoint, 1)) {
    await run.checkpoint.recordSubmitted(attempt, {
      jobId: `job-${attempt.key}`,
      status: 'IN_QUEUE',
      at: 2_000,
    });
    const settlement = settlementOf(attempt, 'saved', 3_000 + 100 * attempt.key);
    await run.checkpoint.settle(attempt, { ...settlement, delayTimeMs: 500, executionTimeMs: 250 });
  }
  expect((await reader.read(Date.now()))?.lagMs).toBe(450);
});

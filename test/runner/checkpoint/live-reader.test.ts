/** Promise: who reads a batch again and again is told what one who reads all of it is told, at every moment. */
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { LiveReader, pageOfPictures } from '../../../src/runner/checkpoint/live-reader.ts';
import { openCheckpoint, openCheckpointForReading } from '../../../src/runner/checkpoint/open-checkpoint.ts';
import { readEnded, readNumbers } from '../../../src/runner/checkpoint/read-summary.ts';
import type { Attempt, SettledState } from '../../../src/runner/core/attempt.ts';
import { throughputOf, type BatchOnRecord } from '../../../src/runner/core/time-left.ts';
import type { Settlement } from '../../../src/runner/core/settlement.ts';
import { UnusableDatabase } from '../../../src/lib/sqlite/database.ts';
import { fingerprintOf } from '../../../src/runner/core/scene.ts';
import { endpoint, manifestOf, unstopped } from '../../fakes/world.ts';

const pricing = { perSecond: 0.5, currency: 'USD' };
const batch = { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'], pricing };
const failure = { kind: 'job-failed', text: 'out of memory' } as const;

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function opened(dir: string, at: number) {
  const { checkpoint, close } = openCheckpoint(dir, 'test', batch, at);
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

/** How an attempt ends, and when. */
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

/** What `status` would say, in the words of the reading. */
function allOf(dir: string) {
  const db = openCheckpointForReading(dir);
  if (db === undefined) throw new Error('there is no checkpoint');
  const { scenes, pictures, attempts, cost, part, failures } = readNumbers(db);
  const ended = readEnded(db);
  db.close();
  return {
    scenes,
    files: pictures.files,
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
  const { scenes, pictures: files, tally, cost, part, ended, lastTexts } = reading;
  const { total, inFlight } = tally;
  const failures = [...tally.kinds].map(([kind, { attempts }]) => ({
    kind,
    attempts,
    lastText: lastTexts.get(kind),
  }));
  const pace = paceAt({ scenes, part, inFlight, ended });
  return { scenes, files, total, inFlight, cost, pace, failures };
}

it('tells the same as all rows do, whatever was settled in which order and read in between', async () => {
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
      const open: Attempt[] = [];
      for (const { state, which, isReadAfter, claims } of steps) {
        open.push(...(await run.checkpoint.claim(claims, endpoint, 1_500)));
        const [attempt] = open.splice(which % Math.max(1, open.length), 1);
        if (attempt !== undefined) await settle(run, attempt, state);
        if (isReadAfter) expect(await told(reader)).toEqual(allOf(dir));
      }
      expect(await told(reader)).toEqual(allOf(dir));
      run.close();
    }),
    { numRuns: 15 },
  );
});

it('reads nothing again while nothing changes, and what is new as soon as something does', async () => {
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

it('does not keep a run from tidying up its journal at its end', async () => {
  const dir = folder();
  const run = await begun(dir, 2);
  await new LiveReader(dir).read(Date.now());
  run.close();
  expect(readdirSync(dir)).not.toContain('checkpoint.sqlite-wal');
});

it('counts another batch that takes the place of the first from its start', async () => {
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

it('says of a damaged file what every command says', async () => {
  const dir = folder();
  writeFileSync(join(dir, 'checkpoint.sqlite'), 'not a database, but somebody wants to keep it');
  await expect(new LiveReader(dir).read(Date.now())).rejects.toThrow(UnusableDatabase);
});

describe('pictures', () => {
  it('come a page at a time, the newest first, each once', async () => {
    const dir = folder();
    const run = await begun(dir, 60);
    for (const attempt of await run.checkpoint.claim(60, endpoint, 1)) await settle(run, attempt, 'saved');
    const reader = new LiveReader(dir);
    const newest = (await reader.read(Date.now()))?.newest ?? [];
    expect(newest).toHaveLength(pageOfPictures);
    const older = reader.picturesBefore(newest.at(-1)?.id ?? 0);
    expect([...newest, ...older].map(({ id }) => id)).toEqual(Array.from({ length: 60 }, (_, i) => 60 - i));
    expect(reader.picturesBefore(1)).toEqual([]);
    expect(newest[0]).toMatchObject({
      sceneId: 's59',
      prompt: 'scene 59',
      digest: 'abababababababab',
      thumbnail: `thumbnails/ab/${'ab'.repeat(16)}.jpg`,
    });
  });

  it('tell their story, without the files that were sent along', async () => {
    const dir = folder();
    const run = opened(dir, 1_000);
    const [scene] = [...manifestOf([['s0', 'a fox']]).scenes()];
    if (scene === undefined) throw new Error('there is no scene');
    const sent = { scene: 'a fox', photo: 'A'.repeat(2_000_000) };
    const listed = { ...scene, input: JSON.stringify(sent), fingerprint: fingerprintOf(sent) };
    const list = { ...manifestOf([]), scenes: () => [listed] };
    await run.checkpoint.reconcile(list, unstopped);
    for (const attempt of await run.checkpoint.claim(1, endpoint, 1)) await settle(run, attempt, 'saved');
    const reader = new LiveReader(dir);
    const [picture] = (await reader.read(Date.now()))?.newest ?? [];
    // Of the row, since what was sent is too long to be looked through.
    expect(picture?.prompt).toBe('a fox');
    const story = reader.story(picture?.id ?? 0);
    expect(story).toMatchObject({ seed: 's0', jobId: 'job-1', attempt: 1, source: 'list.csv:2' });
    expect(story?.input).toContain('"scene": "a fox"');
    expect(story?.input).toContain('… (2,000,000 characters)');
    expect(story?.input.length).toBeLessThan(5_000);
    expect(reader.story(99)).toBeUndefined();
  });
});

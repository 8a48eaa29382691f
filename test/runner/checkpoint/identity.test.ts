/**
 * Promise: rows are identified by their content. Reordered lists keep every state, and edited lists lose no
 * picture and pay nothing twice.
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CheckedList } from '../../../src/runner/checkpoint/checked-list.ts';
import type { Settlement } from '../../../src/runner/core/attempt.ts';
import { SqliteCheckpoint } from '../../../src/runner/checkpoint/sqlite-checkpoint.ts';
import { CrashMarkersInMemory } from '../../fakes/in-hand-in-memory.ts';
import { endpoint, manifestOf, unstopped, World } from '../../fakes/world.ts';
import { runs } from '../../fakes/tier.ts';

/** The first two have the same prefix of 12 digits, so ids made of this prefix collide. */
const fingerprints = ['a'.repeat(32), `${'a'.repeat(12)}${'b'.repeat(20)}`, 'c'.repeat(32)];

test('the order of rows, with ids of their own or without, equal or not, changes the id of none', () => {
  const row = fc.record({ isOwn: fc.boolean(), fingerprint: fc.constantFrom(...fingerprints) });
  const shuffled = fc.array(row, { maxLength: 12 }).chain((list) => {
    const rows = list.map(({ isOwn, fingerprint }, i): Row => ({
      id: isOwn ? `row ${i}` : undefined,
      fingerprint,
    }));
    return fc.tuple(fc.constant(rows), fc.shuffledSubarray(rows, { minLength: rows.length }));
  });
  fc.assert(
    fc.property(shuffled, ([list, other]) => {
      expect(stagedIds(other)).toEqual(stagedIds(list));
    }),
  );
});

interface Row {
  id: string | undefined;
  fingerprint: string;
}

function stagedIds(rows: Row[]): string[] {
  const list = new CheckedList();
  for (const [i, row] of rows.entries())
    list.add({ ...row, input: {}, columns: {}, position: i + 1, source: `list.csv:${i + 2}` }, row.id);
  list.settleIds();
  const ids = Array.from(list.scenes(), ({ id, fingerprint }) => `${id} ${fingerprint}`).toSorted();
  expect(list.count()).toEqual({ scenes: rows.length, badRows: 0 });
  list.close();
  return ids;
}

type Pair = [id: string, scene: string];
const pairs = Array.from({ length: 8 }, (_, i): Pair => [`s${i}`, `scene ${i}`]);

test('a list in any other order finds every scene in the state it had, with its attempts and pictures', async () => {
  const fates = fc.array(fc.constantFrom('waiting', 'active', 'saved', 'failed', 'retried'), {
    minLength: pairs.length,
    maxLength: pairs.length,
  });
  const order = fc.shuffledSubarray(pairs, { minLength: pairs.length });
  await fc.assert(
    fc.asyncProperty(fates, order, async (fate, other) => {
      const world = new World();
      const checkpoint = checkpointOf(world);
      await checkpoint.reconcile(manifestOf(pairs), unstopped);
      const attempts = await checkpoint.claim(pairs.length, endpoint, 1);
      for (const [i, attempt] of attempts.entries()) {
        if (fate[i] === 'active') continue;
        if (fate[i] === 'waiting') {
          await checkpoint.settle(attempt, {
            state: 'refused',
            at: 2,
            scene: { state: 'waiting', dueAt: 2 },
          });
          continue;
        }
        await checkpoint.recordSubmitted(attempt, { jobId: `job-${i}`, status: 'IN_QUEUE', at: 2 });
        await checkpoint.settle(attempt, settlementOf(fate[i] ?? '', i));
      }
      const before = standOf(world);
      const plan = await checkpoint.reconcile(manifestOf(other), unstopped);
      expect(plan).toEqual({ added: 0, changed: 0, unchanged: pairs.length, withdrawn: 0 });
      expect(standOf(world)).toEqual(before);
      const positions = world.rows<{ id: string }>('SELECT id FROM scenes ORDER BY position');
      expect(positions.map(({ id }) => id)).toEqual(other.map(([id]) => id));
    }),
    { numRuns: runs(60, { ms: 50 }) },
  );
});

/** Random sequences of lists. Each list has some of these ids, and each row has one of three texts. */
function edits(ids: string[]): fc.Arbitrary<Pair[][]> {
  const rowOf = (id: string): fc.Arbitrary<Pair> =>
    fc.constantFrom('sea', 'hills', 'moon').map((text) => [id, `${id}: ${text}`]);
  const list = fc.shuffledSubarray(ids).chain((chosen) => fc.tuple(...chosen.map(rowOf)));
  return fc.array(list, { minLength: 1, maxLength: 6 });
}

/**
 * Some file systems treat `a` and `A` as one name. `a-2` and `a.png` resemble names that the program makes.
 */
const alike = ['a', 'A', 'b', 'a-2', 'a.png'];
const deaths = fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 6, maxLength: 6 });

test('no sequence of edits loses or misnames a picture or pays for a row again, although runs die', async () => {
  await fc.assert(
    fc.asyncProperty(edits(['a', 'b', 'c', 'a-2']), deaths, async (lists, killAts) => {
      const world = new World();
      for (const [i, list] of lists.entries()) {
        await world.run({ manifest: manifestOf(list), killAt: killAts[i] ?? Infinity });
        const result = await world.run({ manifest: manifestOf(list) });
        expect(result?.ending.kind).toBe('complete');
        expect(await checkpointOf(world).counts()).toMatchObject({
          saved: list.length,
          waiting: 0,
          active: 0,
        });
        expectRecorded(world);
        expectRecordedFiles(world);
        expect(world.images.files.size).toBe(world.rows('SELECT 1 FROM pictures').length);
        const listed = world.rows<{ file: string }>(`
          SELECT p.file FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene) WHERE s.state = 'saved'`);
        expect(listed.map(({ file }) => file).toSorted()).toEqual(list.map(([id]) => `${id}.png`).toSorted());
        expectPaidOnce(world);
      }
    }),
    { numRuns: runs(50, { ms: 25 }) },
  );
});

test('a file that a crash left under a name that an edit needs is recognized', async () => {
  await fc.assert(
    fc.asyncProperty(edits(alike), deaths, async (lists, killAts) => {
      const world = new World();
      for (const [i, list] of lists.entries()) {
        await world.run({ manifest: manifestOf(list), killAt: killAts[i] ?? Infinity });
        expectRecorded(world);
      }
      let result = await world.run({ manifest: manifestOf(lists.at(-1) ?? []) });
      // A scene that was in progress at three of the crashes is quarantined, and `retry` puts it back.
      if (result?.ending.kind === 'incomplete') {
        await world.putBack({ kinds: ['quarantined'], ids: [], notAt: undefined });
        result = await world.run({ manifest: manifestOf(lists.at(-1) ?? []) });
      }
      expect(result?.ending.kind).toBe('complete');
      expectRecorded(world);
      expectRecordedFiles(world);
      expect(world.images.files.size).toBe(world.rows('SELECT 1 FROM pictures').length);
      expectPaidOnce(world);
    }),
    {
      numRuns: runs(50, { ms: 25 }),
      // In this example the run crashes three times with the first scene in progress.
      examples: [
        [
          [
            [
              ['A', 'A: sea'],
              ['a', 'a: sea'],
            ],
            [],
            [],
            [],
            [
              ['b', 'b: sea'],
              ['A', 'A: sea'],
              ['a-2', 'a-2: sea'],
              ['a', 'a: sea'],
            ],
          ],
          [55, 36, 36, 1, 56, 1],
        ],
      ],
    },
  );
});

/** Expects that every saved attempt has a recorded picture. */
function expectRecorded(world: World): void {
  const lost = world.rows(`
    SELECT s.id FROM attempts a JOIN scenes s USING (scene)
    WHERE a.state = 'saved' AND NOT EXISTS (SELECT 1 FROM pictures p WHERE p.attempt = a.attempt)`);
  expect(lost).toEqual([]);
}

/**
 * Expects that each recorded picture is on disk, unchanged and under its own name or the name that it is
 * being moved to.
 */
function expectRecordedFiles(world: World): void {
  const rows = world.rows<{ job_id: string; file: string; to: string | null }>(
    'SELECT a.job_id, p.file, p.move_to AS "to" FROM pictures p JOIN attempts a USING (attempt)',
  );
  const saved = rows.map(({ job_id, file, to }) => {
    const isMoved = to !== null && !world.images.files.has(file);
    return { job_id, file: isMoved ? to : file };
  });
  for (const { job_id, file } of saved)
    expect(world.images.files.get(file), file).toBe(`picture of ${job_id}`);
  expect(new Set(saved.map(({ file }) => file.toLowerCase())).size).toBe(saved.length);
}

function expectPaidOnce(world: World): void {
  const again = world.rows(`
    SELECT s.id, s.input FROM attempts a JOIN scenes s USING (scene)
    WHERE a.state = 'saved' GROUP BY s.scene HAVING count(*) > 1`);
  expect(again).toEqual([]);
  const declared = world.rows<{ n: number }>(
    "SELECT count(*) AS n FROM attempts WHERE job_id IS NOT NULL OR state = 'unanswered'",
  );
  expect(world.service.jobs.length).toBeLessThanOrEqual(declared[0]?.n ?? 0);
}

function checkpointOf(world: World): SqliteCheckpoint {
  const run = world.db.prepare(
    "INSERT INTO runs (pid, host, program, started_at) VALUES (1, 'here', 'test', 0)",
  );
  return new SqliteCheckpoint(world.db, Number(run.run().lastInsertRowid), new CrashMarkersInMemory());
}

function settlementOf(fate: string, i: number): Settlement {
  const failure = { kind: 'job-failed', text: 'no memory' } as const;
  const picture = { file: `${i}.png`, width: 1, height: 1, bytes: 9, sha256: 'ab' };
  if (fate === 'saved') return { state: 'saved', at: 3, pictures: [picture], scene: { state: 'saved' } };
  const scene =
    fate === 'failed' ? ({ state: 'failed', failure } as const) : ({ state: 'waiting', dueAt: 9 } as const);
  return { state: 'failed', at: 3, failure, scene };
}

/** Returns everything known about the scenes except their positions in the list. */
function standOf(world: World): unknown[] {
  return world.rows(`
    SELECT s.id, s.state, s.due_at, s.attempts, s.failure_kind, a.state AS attempt, a.job_id, p.file, p.name, p.move_to
    FROM scenes s LEFT JOIN attempts a USING (scene) LEFT JOIN pictures p USING (attempt) ORDER BY s.id`);
}

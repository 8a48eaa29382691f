/**
 * Promise: an interrupted comparison of the manifest leaves the batch unchanged, and the next comparison is
 * correct.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { checkpointSchema } from '../../../src/runner/checkpoint/checkpoint-schema.ts';
import { SqliteCheckpoint } from '../../../src/runner/checkpoint/sqlite-checkpoint.ts';
import type { ListedScene } from '../../../src/runner/core/scene.ts';
import type { ManifestScenes } from '../../../src/runner/pipeline/ports.ts';
import { openForWriting, type Database } from '../../../src/lib/sqlite/database.ts';
import { CrashMarkersInMemory } from '../../fakes/in-hand-in-memory.ts';
import { endpoint, manifestOf, unstopped, World } from '../../fakes/world.ts';
import { runs } from '../../fakes/tier.ts';

type Pair = [id: string, scene: string];
const many = Array.from({ length: 3_000 }, (_, i): Pair => [`s${i}`, `scene ${i}`]);

it('a comparison of a long list can be stopped in the middle without changing the batch', async () => {
  const world = new World();
  const checkpoint = checkpointOf(world.db);
  await checkpoint.reconcile(manifestOf([['old', 'sea']]), unstopped);
  const before = allOf(world.db);
  const stopped = new AbortController();
  let read = 0;
  const list = watched(many, () => {
    read += 1;
    if (read === 1_200) stopped.abort();
  });
  expect(await checkpoint.reconcile(list, stopped.signal)).toBeUndefined();
  expect(read).toBeLessThan(many.length);
  expect(allOf(world.db)).toEqual(before);
  const plan = { added: many.length, changed: 0, unchanged: 0, withdrawn: 1 };
  expect(await checkpoint.reconcile(manifestOf(many), unstopped)).toEqual(plan);
});

it('a comparison that is stopped at any step of any edit changes nothing, and the next comparison has the same result', async () => {
  const row = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom('sea', 'hills'));
  const list = fc.uniqueArray(row, { selector: ([id]) => id, minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(list, { minLength: 2, maxLength: 5 }), fc.nat(4), async (lists, turns) => {
      const [stopped, plain] = [new World(), new World()];
      for (const pairs of lists) {
        const before = allOf(stopped.db);
        const plan = await reconcileUpTo(checkpointOf(stopped.db), pairs, turns);
        if (plan === undefined) {
          expect(allOf(stopped.db)).toEqual(before);
          await checkpointOf(stopped.db).reconcile(manifestOf(pairs), unstopped);
        }
        await checkpointOf(plain.db).reconcile(manifestOf(pairs), unstopped);
        for (const world of [stopped, plain]) await saveSome(checkpointOf(world.db));
        expect(allOf(stopped.db)).toEqual(allOf(plain.db));
      }
    }),
    { numRuns: runs(60, { ms: 60 }) },
  );
});

it('a batch is unchanged if the program is killed while it compares a long list', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'nightrender-checkpoint-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'living.sqlite');
  const living = openForWriting(path, checkpointSchema);
  // The cache is small, so uncommitted pages are already on disk.
  living.pragma('cache_size = 10');
  const checkpoint = checkpointOf(living);
  await checkpoint.reconcile(manifestOf([['old', 'sea']]), unstopped);
  const before = allOf(living);
  let read = 0;
  const dead = join(folder, 'dead.sqlite');
  const list = watched(many, () => {
    read += 1;
    if (read === 2_400) for (const end of ['', '-wal']) copyFileSync(path + end, dead + end);
  });
  await checkpoint.reconcile(list, unstopped);
  living.close();
  const left = openForWriting(dead, checkpointSchema);
  onTestFinished(() => void left.close());
  expect(allOf(left)).toEqual(before);
  const plan = { added: many.length, changed: 0, unchanged: 0, withdrawn: 1 };
  expect(await checkpointOf(left).reconcile(manifestOf(many), unstopped)).toEqual(plan);
});

it('a write during a comparison waits for its end, and is kept if the comparison is stopped', async () => {
  const world = new World();
  const checkpoint = checkpointOf(world.db);
  await checkpoint.reconcile(manifestOf([['old', 'sea']]), unstopped);
  const stopped = new AbortController();
  let claimed: Promise<unknown> | undefined;
  let read = 0;
  const list = watched(many, () => {
    read += 1;
    if (read === 100) claimed = checkpoint.claim(5, endpoint, 1);
    if (read === 2_000) stopped.abort();
  });
  expect(await checkpoint.reconcile(list, stopped.signal)).toBeUndefined();
  expect(await claimed).toMatchObject([{ sceneId: 'old' }]);
  expect(await checkpoint.counts()).toMatchObject({ active: 1, waiting: 0 });
});

/** Returns a list that calls `onRow` for each row it is asked for. */
function watched(pairs: Pair[], onRow: () => void): ManifestScenes {
  const { scenes, badRows } = manifestOf(pairs);
  function* told(): Generator<ListedScene> {
    for (const scene of scenes()) {
      onRow();
      yield scene;
    }
  }
  return { scenes: told, badRows };
}

/** Compares the list, and stops after this many turns of the event loop. */
async function reconcileUpTo(checkpoint: SqliteCheckpoint, pairs: Pair[], turns: number): Promise<unknown> {
  const stopped = new AbortController();
  const count = (left: number): void => {
    if (left === 0) stopped.abort();
    else setImmediate(() => count(left - 1));
  };
  count(turns);
  return checkpoint.reconcile(manifestOf(pairs), stopped.signal);
}

/** Saves pictures for two waiting scenes, so that later lists have pictures to move. */
async function saveSome(checkpoint: SqliteCheckpoint): Promise<void> {
  for (const attempt of await checkpoint.claim(2, endpoint, 1)) {
    await checkpoint.recordSubmitted(attempt, { jobId: `job-${attempt.key}`, status: 'IN_QUEUE', at: 2 });
    const picture = { file: `${attempt.key}.png`, width: 1, height: 1, bytes: 9, sha256: 'ab' };
    await checkpoint.settle(attempt, {
      state: 'saved',
      at: 3,
      pictures: [picture],
      scene: { state: 'saved' },
    });
  }
}

/** Returns all rows of the batch. */
function allOf(db: Database): unknown[] {
  return ['scenes', 'attempts', 'pictures', 'bad_rows'].map((table) =>
    db.prepare(`SELECT * FROM ${table} ORDER BY 1`).all(),
  );
}

function checkpointOf(db: Database): SqliteCheckpoint {
  db.exec(
    "INSERT OR IGNORE INTO runs (run, pid, host, program, started_at) VALUES (1, 1, 'here', 'test', 0)",
  );
  return new SqliteCheckpoint(db, 1, new CrashMarkersInMemory());
}

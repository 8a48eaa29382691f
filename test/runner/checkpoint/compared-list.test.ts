/**
 * Promise: a list that is unchanged since the last comparison is not compared again, and the result is the
 * same.
 */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { rememberBatch } from '../../../src/runner/checkpoint/batch-identity.ts';
import { SqliteCheckpoint } from '../../../src/runner/checkpoint/sqlite-checkpoint.ts';
import type { ManifestScenes } from '../../../src/runner/pipeline/ports.ts';
import type { Database } from '../../../src/lib/sqlite/database.ts';
import { CrashMarkersInMemory } from '../../fakes/in-hand-in-memory.ts';
import { endpoint, manifestOf, unstopped, World } from '../../fakes/world.ts';
import { runs } from '../../fakes/tier.ts';

type Pair = [id: string, scene: string];

const list: Pair[] = [
  ['a', 'sea'],
  ['b', 'hills'],
];
const other: Pair[] = [['b', 'hills']];

it('the rows of an unchanged list are not read', async () => {
  const { checkpoint } = batchOf();
  await checkpoint.reconcile(manifestOf(list), unstopped);
  const plan = { added: 0, changed: 0, unchanged: 2, withdrawn: 0 };
  expect(await checkpoint.reconcile(unread(list), unstopped)).toEqual(plan);
});

it.each<[string, (batch: Batch) => Promise<void> | void]>([
  ['after another list', ({ checkpoint }) => reconciled(checkpoint, manifestOf(other))],
  ['after a list that nobody can tell from others', ({ checkpoint }) => reconciled(checkpoint, untold(list))],
  ['once a scene of it is gone', ({ db }) => void db.exec("DELETE FROM scenes WHERE id = 'a'")],
  ['once another list came as far as its columns', ({ db }) => void rememberBatch(db, identity(['x', 'id']))],
])('%s its rows are read', async (_, happen) => {
  const batch = batchOf();
  rememberBatch(batch.db, identity(['id', 'scene']));
  await batch.checkpoint.reconcile(manifestOf(list), unstopped);
  await happen(batch);
  await expect(batch.checkpoint.reconcile(unread(list), unstopped)).rejects.toThrow('asked for');
});

it('after another comparison that was interrupted, the rows of an unchanged list are not read', async () => {
  const { checkpoint } = batchOf();
  await checkpoint.reconcile(manifestOf(list), unstopped);
  const many = Array.from({ length: 1_000 }, (_, i): Pair => [`s${i}`, 'sea']);
  expect(await checkpoint.reconcile(manifestOf(many), AbortSignal.abort())).toBeUndefined();
  expect(await checkpoint.reconcile(unread(list), unstopped)).toMatchObject({ unchanged: 2 });
});

it('any sequence of lists, of saved pictures and of renames makes the same batch as with every list read', async () => {
  const row = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('sea', 'hills'));
  const rows = fc.uniqueArray(row, { selector: ([id]) => id, minLength: 1 });
  const badRow = { position: 9, source: 'list.csv:10', problem: 'is bad' };
  const bad = fc.constantFrom<(typeof badRow)[]>([], [badRow]);
  const step = fc.tuple(fc.tuple(rows, bad), fc.nat(2), fc.boolean());
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
      const [shortened, read] = [batchOf(), batchOf()];
      for (const [[pairs, badRows], again, isMoved] of steps) {
        const told = manifestOf(pairs, badRows);
        for (let turn = 0; turn <= again; turn++) {
          const plan = await shortened.checkpoint.reconcile(told, unstopped);
          expect(plan).toEqual(await read.checkpoint.reconcile(untold(pairs, badRows), unstopped));
          for (const batch of [shortened, read]) {
            await saveOne(batch.checkpoint);
            if (isMoved) await moveAll(batch.checkpoint);
          }
          expect(allOf(shortened.db)).toEqual(allOf(read.db));
        }
      }
    }),
    { numRuns: runs(150, { ms: 60 }) },
  );
});

interface Batch {
  db: Database;
  checkpoint: SqliteCheckpoint;
}

function batchOf(): Batch {
  const { db } = new World();
  db.exec("INSERT INTO runs (run, pid, host, program, started_at) VALUES (1, 1, 'here', 'test', 0)");
  return { db, checkpoint: new SqliteCheckpoint(db, 1, new CrashMarkersInMemory()) };
}

function identity(columns: string[]): Parameters<typeof rememberBatch>[1] {
  return { manifest: ['list.csv'], endpoint, columns };
}

async function reconciled(checkpoint: SqliteCheckpoint, manifest: ManifestScenes): Promise<void> {
  await checkpoint.reconcile(manifest, unstopped);
}

function untold(...rows: Parameters<typeof manifestOf>): ManifestScenes {
  return { ...manifestOf(...rows), digest: undefined };
}

function unread(pairs: Pair[]): ManifestScenes {
  const ask = (): never => {
    throw new Error('the list was asked for its rows');
  };
  return { ...manifestOf(pairs), scenes: ask, badRows: ask };
}

/** Saves one scene. If the name is taken by the picture of an earlier input, the file gets another name. */
async function saveOne(checkpoint: SqliteCheckpoint): Promise<void> {
  for (const attempt of await checkpoint.claim(1, endpoint, 1)) {
    await checkpoint.recordSubmitted(attempt, { jobId: `job-${attempt.key}`, status: 'IN_QUEUE', at: 2 });
    const wanted = `${attempt.sceneId}.png`;
    const isTaken = (await checkpoint.ownerOf(wanted)) !== undefined;
    const file = isTaken ? `${attempt.key}.png` : wanted;
    const pictures = [{ file, width: 1, height: 1, bytes: 9, sha256: 'ab' }];
    await checkpoint.settle(attempt, { state: 'saved', at: 3, pictures, scene: { state: 'saved' } });
  }
}

async function moveAll(checkpoint: SqliteCheckpoint): Promise<void> {
  for (const move of await checkpoint.pendingMoves()) await checkpoint.recordMoved(move);
}

function allOf(db: Database): unknown[] {
  return ['scenes', 'attempts', 'pictures', 'bad_rows'].map((table) =>
    db.prepare(`SELECT * FROM ${table} ORDER BY 1`).all(),
  );
}

/** Finds the scenes to submit next, of the whole batch or of the part that `--limit` and `--sample` choose (`choosePart`). */
import { hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../lib/sqlite/database.ts';
import type { Part, PartRecord } from '../core/scene.ts';
import { readBatch } from './batch-identity.ts';
import { storedJson } from './damage.ts';

export interface DueScenes {
  /** Takes up to `max` scenes: retries due by `dueBy` (epoch ms), then new ones. The caller submits all. */
  take(max: number, dueBy: number): number[];
  /** Returns one scene in which the program crashed repeatedly, if there is any. */
  suspect(): number[];
  /** Returns when the next other scene is due: epoch ms, or 0 for now. Undefined if none waits. */
  nextAt(): number | undefined;
  /** Call after scenes were settled that had not been taken. */
  dropSettled(): void;
}

/** Scenes per turn of the event loop. */
const sliceScenes = 20_000;

/**
 * Chooses the scenes of a part, whatever their state, so that saved scenes count. Fills `temp.part` with
 * them, and `temp.part_fresh` with those that were never submitted, in manifest order. Call in the
 * transaction of the comparison. Throws the reason of `signal`.
 */
export async function choosePart(db: Database, part: Part | undefined, signal: AbortSignal): Promise<void> {
  db.exec("DELETE FROM batch WHERE name = 'part'");
  if (part === undefined) return;
  db.function('turn_of', { deterministic: true }, (id, fingerprint) =>
    turnOf(String(id), String(fingerprint)),
  );
  db.exec(`
    DROP TABLE IF EXISTS temp.turns; DROP TABLE IF EXISTS temp.part; DROP TABLE IF EXISTS temp.part_fresh;
    CREATE TEMP TABLE turns (scene INTEGER PRIMARY KEY, turn INTEGER NOT NULL);
    CREATE TEMP TABLE part (scene INTEGER PRIMARY KEY);
    CREATE TEMP TABLE part_fresh (n INTEGER PRIMARY KEY, scene INTEGER NOT NULL)`);
  // A part contains first seeds only. A run of the whole batch renders the other seeds if they are needed.
  const onlyFirst = readBatch(db)?.until === undefined ? '' : "AND id GLOB '*-s1'";
  const take = db.prepare<[object]>(
    `INSERT INTO temp.turns SELECT scene, turn_of(id, fingerprint) FROM scenes
     WHERE scene BETWEEN @from AND @to AND position IS NOT NULL ${onlyFirst}`,
  );
  const last = db.prepare<[], { key: number | null }>('SELECT max(scene) AS key FROM scenes').get();
  for (let from = 1; from <= (last?.key ?? 0); from += sliceScenes) {
    take.run({ from, to: from + sliceScenes - 1 });
    await nextTurn();
    signal.throwIfAborted();
  }
  const listed = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM temp.turns').get()?.n ?? 0;
  const scenes = sizeOfPart(part, listed);
  db.prepare('INSERT INTO temp.part SELECT scene FROM temp.turns ORDER BY turn, scene LIMIT ?').run(scenes);
  db.exec(`
    DROP TABLE temp.turns;
    INSERT INTO temp.part_fresh (scene) SELECT scene FROM temp.part JOIN scenes USING (scene)
      WHERE state = 'waiting' AND due_at = 0 ORDER BY position`);
  const record: PartRecord = { ...part, scenes };
  db.prepare("INSERT INTO batch VALUES ('part', ?)").run(JSON.stringify(record));
}

/** Returns a scene's place in the order in which parts are filled: pseudo-random, below 2^48. */
function turnOf(id: string, fingerprint: string): number {
  return Number.parseInt(hash('sha256', JSON.stringify([id, fingerprint])).slice(0, 12), 16);
}

/** Returns the number of scenes in the part. A share is rounded up, so a preview is never empty. */
export function sizeOfPart({ share = 1, limit = Infinity }: Part, scenes: number): number {
  // Floating point: 7 % of 100 is 7.000000000000001.
  const shared = Math.ceil(Number((share * scenes).toPrecision(12)));
  return Math.min(scenes, shared, limit);
}

/** Returns null if the latest run had the whole batch to render. */
export function readPart(db: Database): PartRecord | null {
  const row = db.prepare<[], { value: string }>("SELECT value FROM batch WHERE name = 'part'").get();
  return row === undefined ? null : (storedJson(row.value, 'the batch') as PartRecord);
}

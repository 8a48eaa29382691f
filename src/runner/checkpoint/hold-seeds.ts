/** Holds back the seeds that are not needed (`scenes.until`), judged by the recorded seeds before them. */
import type { Database } from '../../lib/sqlite/database.ts';
import { judgeOf, nextSeed, type Rendered, type SeedRow } from '../core/seeds-until.ts';
import { readBatch, resultColumns, type BatchIdentity } from './batch-identity.ts';
import { sentBy } from './damage.ts';
import { savedReader } from './recorded-pictures.ts';
import type { SceneRow } from './schema.ts';

/** Scenes between two pauses. */
const pageScenes = 500;

/** Returns a function that judges a saved scene; undefined if the batch sends every seed. */
export function judgeIn(batch: BatchIdentity | undefined): ReturnType<typeof judgeOf> | undefined {
  if (batch?.until === undefined) return undefined;
  const { until, axes = [], values } = batch;
  return judgeOf({ until, columns: [...resultColumns(batch), ...axes], ...(values && { values }) });
}

/** True if `holdSeeds` may have something to change. */
export function hasHeldSeeds(db: Database): boolean {
  const isAny = "SELECT 1 FROM scenes WHERE state = 'unneeded' LIMIT 1";
  return readBatch(db)?.until !== undefined || db.prepare(isAny).get() !== undefined;
}

/**
 * Marks each seed as waiting or unneeded. `due_at` of an unneeded seed is 1 if a seed before it is good,
 * otherwise 0. Call in a transaction, after everything else that changes which seeds are needed. Pauses after
 * each page. Returns how many seeds wait for the outcome of a seed before them.
 */
export function* holdSeeds(db: Database): Generator<undefined, number> {
  if (!hasHeldSeeds(db)) return 0;
  const isGood = judgeIn(readBatch(db));
  if (isGood === undefined) {
    db.exec("UPDATE scenes SET state = 'waiting', due_at = 0 WHERE state = 'unneeded'");
    return 0;
  }
  const page = db.prepare<
    [number],
    Pick<SceneRow, 'scene' | 'id' | 'state'> & { dueAt: number; position: number }
  >(
    `SELECT scene, id, state, due_at AS dueAt, position FROM scenes WHERE position > ? ORDER BY position LIMIT ${pageScenes}`,
  );
  const move = db.prepare<[object]>('UPDATE scenes SET state = @state, due_at = @dueAt WHERE scene = @scene');
  const readSaved = renderedReader(db);
  let row: SeedRow | undefined;
  let held = 0;
  for (let scenes = page.all(0); scenes.length > 0; scenes = page.all(scenes.at(-1)?.position ?? 0)) {
    for (const { scene, id, state, dueAt } of scenes) {
      const next = nextSeed(row, { id, state }, () => isGood(readSaved(scene)));
      const known = state === 'unneeded' ? 0 : dueAt;
      const wanted = next.state === 'unneeded' ? Number(!next.isHeld) : known;
      if (next.state !== state || wanted !== dueAt) move.run({ scene, state: next.state, dueAt: wanted });
      if (next.isHeld) held += 1;
      ({ row } = next);
    }
    yield;
  }
  return held;
}

/** Runs `holdSeeds` without pauses. */
export function holdSeedsNow(db: Database): void {
  for (const _ of holdSeeds(db));
}

function renderedReader(db: Database): (sceneKey: number) => Rendered {
  const read = db.prepare<
    [number],
    Pick<SceneRow, 'id' | 'columns' | 'input' | 'seed'> & { attempt: number }
  >(
    `SELECT s.id, s.columns, s.input, s.seed, a.attempt FROM scenes s JOIN attempts a USING (scene)
     WHERE scene = ? AND a.state = 'saved' ORDER BY a.number DESC LIMIT 1`,
  );
  const savedOf = savedReader(db);
  return (sceneKey) => {
    const row = read.get(sceneKey);
    if (row === undefined) return { id: null, columns: {}, input: null, saved: [] };
    const { pictures, files } = savedOf(row.attempt);
    return { id: row.id, ...sentBy(row), saved: [...pictures, ...files] };
  };
}

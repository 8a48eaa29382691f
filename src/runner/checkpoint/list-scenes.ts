/** Records the scenes of a list in the batch, and reads them. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ListedScene, sentColumns, sentInput } from '../core/scene.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { FoundScene, SceneToName } from '../core/adoption.ts';
import { insertGrouped } from './grouped-insert.ts';
import { storedJson, storedSeed } from './damage.ts';

interface Lister {
  /** Records one listed scene; returns what it is to the batch. */
  add(scene: ListedScene): 'added' | 'changed' | 'unchanged';
  /** Whether a row of an unchanged scene reads or stands otherwise than before. */
  isEdited(): boolean;
  /** To be called after the last. */
  flush(): void;
}

/** `known`: the last key that the batch had before. Scenes beyond it are listed; those up to it are in `temp.listed`. */
export function lister(db: Database, known: number): Lister {
  const find = finder(db, known);
  const insert = insertGrouped(
    db,
    'scenes (id, fingerprint, position, source, input, columns, state)',
    "(?, ?, ?, ?, ?, ?, 'waiting')",
  );
  const update = db.prepare<[object]>(
    `UPDATE scenes SET position = @position, source = @source, input = @input, columns = @columns
     WHERE scene = @sceneKey`,
  );
  const list = insertGrouped(db, 'temp.listed', '(?)');
  let isEdited = false;
  return {
    isEdited: () => isEdited,
    add: ({ id, fingerprint, input, columns, position, source }) => {
      const found = find(id, fingerprint);
      if (found === 'added' || found === 'changed') {
        insert.add([id, fingerprint, position, source, input, columns]);
        return found;
      }
      const { sceneKey } = found;
      // Equal inputs may be spelled in several ways; and a file that is sent may have been moved.
      const isSame =
        found.position === position &&
        found.source === source &&
        found.input === input &&
        found.columns === columns;
      if (!isSame) update.run({ sceneKey, position, source, input, columns });
      isEdited ||= !isSame;
      list.add([sceneKey]);
      return 'unchanged';
    },
    flush: () => {
      insert.flush();
      list.flush();
    },
  };
}

interface KnownScene {
  sceneKey: number;
  position: number | null;
  source: string;
  input: string;
  columns: string;
}

/** One that is not in the batch is `changed` where its id is. */
function finder(
  db: Database,
  known: number,
): (id: string, fingerprint: string) => KnownScene | 'added' | 'changed' {
  if (known === 0) return () => 'added';
  const same = db.prepare<[string, string], KnownScene>(
    'SELECT scene AS sceneKey, position, source, input, columns FROM scenes WHERE id = ? AND fingerprint = ?',
  );
  const sameId = db.prepare<[string]>('SELECT 1 FROM scenes WHERE id = ? LIMIT 1');
  return (id, fingerprint) =>
    same.get(id, fingerprint) ?? (sameId.get(id) === undefined ? 'added' : 'changed');
}

/** Read between two turns of the event loop. */
const pageSize = 500;

interface SceneRow {
  sceneKey: number;
  id: string;
  input: string;
  columns: string;
  seed: string | null;
  isWaiting: 0 | 1;
}

export async function* readListedScenes(db: Database): AsyncGenerator<FoundScene> {
  const page = db.prepare<[number], SceneRow>(`
    SELECT scene AS sceneKey, id, input, columns, seed, state IN ('waiting', 'unneeded') AS isWaiting FROM scenes
    WHERE scene > ? AND state <> 'withdrawn' ORDER BY scene LIMIT ${pageSize}`);
  for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)?.sceneKey ?? 0)) {
    for (const row of rows) {
      const { sceneKey, id, isWaiting } = row;
      yield { sceneKey, id, input: inputOf(row), columns: columnsOf(row), isWaiting: isWaiting === 1 };
    }
    await nextTurn();
  }
}

export function readNextScenes(db: Database, max: number): SceneToName[] {
  return db
    .prepare<[number], Pick<SceneRow, 'id' | 'input' | 'columns' | 'seed'>>(
      "SELECT id, input, columns, seed FROM scenes WHERE state = 'waiting' ORDER BY due_at, position LIMIT ?",
    )
    .all(max)
    .map((row) => ({ id: row.id, input: inputOf(row), columns: columnsOf(row) }));
}

function inputOf({ id, input, seed }: Pick<SceneRow, 'id' | 'input' | 'seed'>): JsonObject {
  return sentInput(storedJson(input, `scene ${id}`) as JsonObject, storedSeed(seed, `scene ${id}`));
}

function columnsOf({ id, columns, seed }: Pick<SceneRow, 'id' | 'columns' | 'seed'>): JsonObject {
  return sentColumns(storedJson(columns, `scene ${id}`) as JsonObject, storedSeed(seed, `scene ${id}`));
}

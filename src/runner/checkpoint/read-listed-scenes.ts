/** Scenes of the list, for whoever looks which of them a picture belongs to. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../lib/text/json.ts';
import { sentColumns, sentInput } from '../core/scene.ts';
import type { FoundScene } from '../pipeline/ports.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { storedJson, storedSeed } from './damage.ts';

/** Read between two turns of the event loop. */
const pageSize = 500;

interface SceneRow {
  key: number;
  id: string;
  input: string;
  columns: string;
  seed: string | null;
  isWaiting: 0 | 1;
}

export async function* readListedScenes(db: Database): AsyncGenerator<FoundScene> {
  const page = db.prepare<[number], SceneRow>(`
    SELECT scene AS key, id, input, columns, seed, state = 'waiting' AS isWaiting FROM scenes
    WHERE scene > ? AND state <> 'withdrawn' ORDER BY scene LIMIT ${pageSize}`);
  for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)?.key ?? 0)) {
    for (const row of rows) {
      const of = `scene ${row.id}`;
      const input = sentInput(storedJson(row.input, of) as JsonObject, storedSeed(row.seed, of));
      yield { key: row.key, id: row.id, input, columns: columnsOf(row), isWaiting: row.isWaiting === 1 };
    }
    await nextTurn();
  }
}

export function readNextScenes(db: Database, max: number): Pick<FoundScene, 'id' | 'columns'>[] {
  return db
    .prepare<[number], Pick<SceneRow, 'id' | 'columns' | 'seed'>>(
      "SELECT id, columns, seed FROM scenes WHERE state = 'waiting' ORDER BY due_at, position LIMIT ?",
    )
    .all(max)
    .map((row) => ({ id: row.id, columns: columnsOf(row) }));
}

function columnsOf({ id, columns, seed }: Pick<SceneRow, 'id' | 'columns' | 'seed'>): JsonObject {
  return sentColumns(storedJson(columns, `scene ${id}`) as JsonObject, storedSeed(seed, `scene ${id}`));
}

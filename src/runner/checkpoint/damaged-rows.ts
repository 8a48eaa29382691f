/** Rows that SQLite finds nothing wrong with, and that do not hold together. */
import type { JsonObject } from '../../lib/text/json.ts';
import type { SceneState } from '../core/scene.ts';
import { UnusableDatabase, type Database } from '../../lib/sqlite/database.ts';
import { isCounted } from './commit-mark.ts';
import { DamagedCheckpoint, isInputOf, storedJson, storedSeed } from './damage.ts';
import { findLoss, LostCommits } from './find-loss.ts';
import { openCheckpointForReading } from './open-checkpoint.ts';
import { readSubmittedAttempt } from './attempt-records.ts';
import { prepareStatements } from './statements.ts';

export interface DamagedRow {
  table: 'scenes' | 'attempts';
  key: number;
  error: UnusableDatabase;
}

/** Looks at every row that something may be sent or saved by. Throws `UnusableDatabase` for all that is wrong. */
export function assertSound(dir: string): void {
  const loss = findLoss(dir);
  if (loss !== undefined) throw new LostCommits(dir, loss);
  assertRows(dir);
}

export function assertRows(dir: string): void {
  const db = openCheckpointForReading(dir);
  try {
    // One of an earlier version kept nothing to be checked by.
    const [damaged] = db !== undefined && isCounted(db) ? damagedRows(db) : [];
    if (damaged !== undefined) throw damaged.error;
  } finally {
    db?.close();
  }
}

interface SceneRow {
  scene: number;
  id: string;
  fingerprint: string;
  state: SceneState;
  input: string;
  columns: string;
  seed: string | null;
}

export function damagedRows(db: Database): DamagedRow[] {
  const scenes = db.prepare<[], SceneRow>(
    'SELECT scene, id, fingerprint, state, input, columns, seed FROM scenes',
  );
  const sql = prepareStatements(db);
  const damaged: DamagedRow[] = [];
  const hold = (table: DamagedRow['table'], key: number, check: () => unknown): void => {
    try {
      check();
    } catch (error) {
      if (!(error instanceof UnusableDatabase)) throw error;
      damaged.push({ table, key, error });
    }
  };
  for (const row of scenes.iterate()) hold('scenes', row.scene, () => assertScene(row));
  for (const row of sql.submitted.all()) hold('attempts', row.key, () => readSubmittedAttempt(sql, row));
  return damaged;
}

function assertScene({ id, fingerprint, state, input, columns, seed }: SceneRow): void {
  const of = `scene ${id}`;
  storedJson(columns, of);
  storedSeed(seed, of);
  const read = storedJson(input, of) as JsonObject;
  // Of what is over nothing is sent any more.
  const isToBeSent = state === 'waiting' || state === 'active';
  if (isToBeSent && !isInputOf(fingerprint, read))
    throw new DamagedCheckpoint(`the input of ${of} is not the one that was recorded`);
}

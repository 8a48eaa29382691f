/** Checks a checkpoint for damage that SQLite does not detect: lost commits, a changed schema, inconsistent rows. */
import { Sqlite } from '../../lib/sqlite/better-sqlite3.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import type { SceneState } from '../core/scene.ts';
import { runMigrations, UnusableDatabase, type Database } from '../../lib/sqlite/database.ts';
import { DamagedCheckpoint, isInputOf, storedJson, storedSeed } from './damage.ts';
import { findLoss, LostCommits } from './find-loss.ts';
import { openCheckpointForReading } from './open-checkpoint.ts';
import { readAttempt, readSubmittedAttempt } from './attempt-records.ts';
import { checkpointSchema } from './schema.ts';
import { prepareReads } from './statements.ts';

export interface DamagedRow {
  table: 'scenes' | 'attempts';
  key: number;
  error: UnusableDatabase;
}

/** Throws `UnusableDatabase` where anything is damaged or lost. */
export function assertSound(dir: string): void {
  const loss = findLoss(dir);
  if (loss !== undefined) throw new LostCommits(dir, loss);
  assertContent(dir);
}

/** As above, of the file alone. */
export function assertContent(dir: string): void {
  const db = openCheckpointForReading(dir);
  if (db === undefined) return;
  try {
    assertSchema(db);
    const [damaged] = damagedRows(db);
    if (damaged !== undefined) throw damaged.error;
  } finally {
    db.close();
  }
}

/** Existing rows may satisfy a damaged constraint that rejects the next row. */
function assertSchema(db: Database): void {
  const sound = new Sqlite(':memory:');
  const version = Number(db.pragma('user_version', { simple: true }));
  runMigrations(sound, checkpointSchema.migrations.slice(0, version));
  const isSame = schemaOf(db) === schemaOf(sound);
  sound.close();
  if (!isSame) throw new DamagedCheckpoint('its schema was changed');
}

function schemaOf(db: Database): string {
  return JSON.stringify(
    db.prepare('SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name').all(),
  );
}

interface SceneRow {
  sceneKey: number;
  sceneId: string;
  fingerprint: string;
  state: SceneState;
  input: string;
  columns: string;
  seed: string | null;
}

export function damagedRows(db: Database): DamagedRow[] {
  const scenes = db.prepare<[], SceneRow>(
    'SELECT scene AS sceneKey, id AS sceneId, fingerprint, state, input, columns, seed FROM scenes',
  );
  const sql = prepareReads(db);
  const damaged: DamagedRow[] = [];
  const hold = (table: DamagedRow['table'], key: number, check: () => unknown): void => {
    try {
      check();
    } catch (error) {
      if (!(error instanceof UnusableDatabase)) throw error;
      damaged.push({ table, key, error });
    }
  };
  for (const row of scenes.iterate()) hold('scenes', row.sceneKey, () => assertScene(row));
  for (const row of sql.intended.all()) hold('attempts', row.key, () => readAttempt(sql, row));
  for (const row of sql.submitted.all()) hold('attempts', row.key, () => readSubmittedAttempt(sql, row));
  return damaged;
}

function assertScene({ sceneId, fingerprint, state, input, columns, seed }: SceneRow): void {
  const of = `scene ${sceneId}`;
  storedJson(columns, of);
  storedSeed(seed, of);
  const read = storedJson(input, of) as JsonObject;
  // Of what is over nothing is sent any more.
  const isToBeSent = state === 'waiting' || state === 'active';
  if (isToBeSent && !isInputOf(fingerprint, read))
    throw new DamagedCheckpoint(`the input of ${of} is not the one that was recorded`);
}

/** Which list the batch was last compared with, kept so that the same one need not be compared again. */
import type { Database } from '../../lib/sqlite/database.ts';
import { storedJson } from './damage.ts';
import { readCounts } from './read-counts.ts';

export interface ComparedList {
  digest: string;
  /** How many of its rows are scenes. */
  scenes: number;
}

/** Undefined where nobody knows, and where scenes of that list are not there any more. */
export function readComparedList(db: Database): ComparedList | undefined {
  const row = db.prepare<[], { value: string }>("SELECT value FROM batch WHERE name = 'compared'").get();
  if (row === undefined) return undefined;
  const compared = storedJson(row.value, 'the batch') as ComparedList;
  return listedScenes(db) === compared.scenes ? compared : undefined;
}

/** How many scenes of the batch are in its list, as far as that was compared. */
export function listedScenes(db: Database): number {
  const { waiting, active, saved, failed } = readCounts(db);
  return waiting + active + saved + failed;
}

/** In the transaction of the comparison. */
export function rememberComparedList(db: Database, digest: string | undefined, scenes: number): void {
  forgetComparedList(db);
  if (digest === undefined) return;
  const compared: ComparedList = { digest, scenes };
  db.prepare("INSERT INTO batch VALUES ('compared', ?)").run(JSON.stringify(compared));
}

export function forgetComparedList(db: Database): void {
  db.exec("DELETE FROM batch WHERE name = 'compared'");
}

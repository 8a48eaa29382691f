/** Takes pictures that are missing or damaged off the record, so that their scenes are rendered again. */
import { nameKey } from '../core/naming.ts';
import type { PictureMove } from '../pipeline/ports.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { prepareStatements } from './statements.ts';

export interface PictureRepair {
  /** Renames that a dead run had decided, in the order to do them in. */
  pendingMoves: () => PictureMove[];
  recordMoved: (move: PictureMove) => Promise<void>;
  /** Forgets every picture of the attempt; resolves to whether its scene now waits, as it does unless it is withdrawn. */
  putBack: (attempt: number) => Promise<boolean>;
}

/** Only for whoever holds the batch's lock. */
export function pictureRepair(db: Database): PictureRepair {
  const sql = prepareStatements(db);
  const wait = db.prepare<[number]>(`
    UPDATE scenes SET state = 'waiting', due_at = 0, deaths = 0, counted_from = attempts,
      failure_kind = NULL, failure_text = NULL
    WHERE scene = (SELECT scene FROM attempts WHERE attempt = ?) AND state = 'saved'`);
  const forget = db.prepare<[number]>('DELETE FROM pictures WHERE attempt = ?');
  return {
    pendingMoves: () => sql.pendingMoves.all(),
    recordMoved: async ({ key, to }) => void sql.recordMoved.run({ key, to, fileKey: nameKey(to) }),
    putBack: async (attempt) =>
      db
        .transaction(() => {
          forget.run(attempt);
          return wait.run(attempt).changes > 0;
        })
        .immediate(),
  };
}

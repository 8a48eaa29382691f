/** A commit that costs no fsync: it outlives the program, and a power cut only once a later commit is on the disk. */
import type { Database } from '../sqlite/database.ts';

/** At once, in a transaction of its own; all else stays at `synchronous=FULL`. */
export function commitUnsynced<T>(db: Database, work: () => T): T {
  db.pragma('synchronous = NORMAL');
  try {
    return db.transaction(work).immediate();
  } finally {
    db.pragma('synchronous = FULL');
  }
}

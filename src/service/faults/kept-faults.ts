/** What happens to jobs, over restarts: a client that was told of a fault is told the same by the next service. */
import Sqlite from 'better-sqlite3';
import { type Database, openForWriting, type Schema } from '../../lib/sqlite/database.ts';

/** A job to which something happens; the book knows nothing of it. */
export interface KeptFault {
  id: string;
  /** Among the jobs of the service that accepted it. */
  number: number;
  fault: string;
  /** Whether a client was told that it is. */
  isCancelled: 0 | 1;
}

const schema: Schema = {
  applicationId: 0x6e724654,
  migrations: [
    `CREATE TABLE faultyJob (
       position    INTEGER PRIMARY KEY,
       id          TEXT NOT NULL UNIQUE,
       number      INTEGER NOT NULL,
       fault       TEXT NOT NULL,
       isCancelled INTEGER NOT NULL
     ) STRICT;`,
  ],
};

export class KeptFaults {
  readonly #db: Database;
  readonly #sql: ReturnType<typeof prepareStatements>;

  /** Holds the newest `most`. Throws `UnusableDatabase`. */
  constructor(path: string, most: number) {
    this.#db = openForWriting(path, schema);
    // What a power cut takes away is told honestly: it is a service for trying things out.
    this.#db.pragma('synchronous = NORMAL');
    this.#sql = prepareStatements(this.#db);
    this.#sql.deleteOld.run(most);
  }

  /** Oldest first. */
  all(): KeptFault[] {
    return this.#sql.all.all();
  }

  add(job: KeptFault): void {
    write(() => this.#sql.add.run(job));
  }

  cancel(id: string): void {
    write(() => this.#sql.cancel.run(id));
  }

  /** The book itself says by now what is to be told. */
  forget(id: string): void {
    write(() => this.#sql.forget.run(id));
  }

  close(): void {
    this.#db.close();
  }
}

/** Where the disk is full, the job is told of honestly after the next start: it is accepted, whatever happens to it. */
function write(change: () => unknown): void {
  try {
    change();
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
  }
}

function prepareStatements(db: Database) {
  return {
    all: db.prepare<[], KeptFault>('SELECT id, number, fault, isCancelled FROM faultyJob ORDER BY position'),
    add: db.prepare<[KeptFault]>(
      `INSERT INTO faultyJob (id, number, fault, isCancelled) VALUES (@id, @number, @fault, @isCancelled)
       ON CONFLICT DO NOTHING`,
    ),
    cancel: db.prepare<[string]>('UPDATE faultyJob SET isCancelled = 1 WHERE id = ?'),
    forget: db.prepare<[string]>('DELETE FROM faultyJob WHERE id = ?'),
    deleteOld: db.prepare<[number]>(
      'DELETE FROM faultyJob WHERE position <= (SELECT max(position) FROM faultyJob) - ?',
    ),
  };
}

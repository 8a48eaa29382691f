/** Many small writes, few fsyncs: all that is asked for in one turn of the event loop is committed as one. */
import type { Database } from './database.ts';

interface Write {
  work: () => unknown;
  resolve: (value: unknown) => void;
  reject: (reason: unknown) => void;
}

/** Queues writes and commits them together; a write's promise settles after the commit, so its order is kept. */
export class GroupCommit {
  readonly #db: Database;
  #queue: Write[] = [];
  /** A transaction is open over many turns: what is written now would be lost with it. */
  #isHeld = false;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Runs `work` inside the next transaction. Where any work of a group throws, none of the group is kept and all reject. */
  write<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#queue.length === 0) setImmediate(() => this.flush());
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
    });
  }

  /**
   * Runs `work` inside a transaction of its own that stays open over as many turns of the event loop as `work` takes;
   * what else is asked for meanwhile is committed after it. Where `work` throws, nothing of it is kept.
   */
  async writeAlone<T>(work: () => Promise<T>): Promise<T> {
    this.flush();
    this.#db.exec('BEGIN IMMEDIATE');
    this.#isHeld = true;
    try {
      const result = await work();
      this.#db.exec('COMMIT');
      return result;
    } finally {
      // Some of SQLite's own errors have taken the transaction back already.
      if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
      this.#isHeld = false;
      this.flush();
    }
  }

  /** Commits what is queued now, without waiting for the turn to end. */
  flush(): void {
    const group = this.#queue;
    if (group.length === 0 || this.#isHeld) return;
    this.#queue = [];
    try {
      const results = this.#db.transaction(() => group.map((write) => write.work())).immediate();
      group.forEach((write, index) => write.resolve(results[index]));
    } catch (error) {
      for (const write of group) write.reject(error);
    }
  }
}

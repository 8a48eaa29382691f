/** Many small writes, few fsyncs: what is asked for while the disk is busy is committed and made to last as one. */
import type { Database, Statement } from './database.ts';
import { closeSync, fdatasync, openSync } from 'node:fs';

/** Counts the groups, and hears which of them are on the disk. */
export interface CommitMarker {
  /** Inside every group's transaction, at its end. */
  beforeCommit(): void;
  /** Asked when what is committed so far is about to be synced; the answer is called once it is, before anybody hears of it. */
  reached(): () => void;
}

interface Write {
  work: () => void;
  /** Whether it counts as done only when it is on the disk. */
  isLasting: boolean;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/**
 * Queues writes and commits them in groups, in their order. A group is committed without an fsync, its log is synced
 * beside the event loop, and only then its promises resolve; the next group is what came meanwhile, so that a slower
 * disk makes larger groups. Only who waits for no sync is not kept waiting by one.
 */
export class GroupCommit {
  readonly #db: Database;
  /** Undefined for a database in memory. */
  readonly #log: WriteAheadLog | undefined;
  readonly #isElsewhere: boolean;
  readonly #begin: Statement<[]>;
  readonly #end: Statement<[]>;
  readonly #marker: CommitMarker | undefined;
  #queue: Write[] = [];
  /** Committed, and waiting for the next sync. */
  #unsynced: Write[] = [];
  #synced: Promise<void> = Promise.resolve();
  #isPlanned = false;
  #isSyncing = false;
  #isClosing = false;
  /** A transaction is open over many turns: what is written now would be lost with it. */
  #isHeld = false;
  /** After a failed fsync it is unknown what is on the disk, and the system reports it only once. */
  #broken: Error | undefined;

  /** `db` is in WAL mode with `synchronous=FULL`, or in memory. `log`: what makes commits last, where the disk does not. */
  constructor(db: Database, marker?: CommitMarker, log?: WriteAheadLog) {
    this.#db = db;
    this.#marker = marker;
    this.#isElsewhere = log !== undefined;
    this.#log = log ?? (db.memory ? undefined : openWriteAheadLog(db));
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#end = db.prepare('COMMIT');
  }

  /** Runs `work` inside the next transaction. Where any work of a group throws, none of the group is kept and all reject. */
  write<T>(work: () => T): Promise<T> {
    return this.#ask(work, true);
  }

  /** As `write`, but resolves at the commit: it outlives the program, and a power cut once a later write is done. */
  writeUnsynced<T>(work: () => T): Promise<T> {
    return this.#ask(work, false);
  }

  /**
   * Runs `work` inside a transaction of its own that stays open over as many turns of the event loop as `work` takes;
   * what else is asked for meanwhile is committed after it. Where `work` throws, nothing of it is kept.
   */
  async writeAlone<T>(work: () => Promise<T>): Promise<T> {
    void this.flush();
    if (this.#broken !== undefined) throw this.#broken;
    this.#db.exec('BEGIN IMMEDIATE');
    this.#isHeld = true;
    try {
      const result = await work();
      this.#marker?.beforeCommit();
      this.#db.exec('COMMIT');
      this.#marker?.reached()();
      return result;
    } finally {
      this.#takeBack();
      this.#isHeld = false;
      this.#commitSoon();
    }
  }

  /**
   * Commits what is queued now, and waits here until it is on the disk. Resolves when what was on its way there before
   * has arrived as well, or failed.
   */
  async flush(): Promise<void> {
    if (!this.#isHeld) this.#commitNow();
    while (this.#isSyncing) await this.#synced;
  }

  /** To be called before the database is closed; nothing is written any more. */
  close(): void {
    void this.flush();
    this.#isClosing = true;
    if (!this.#isSyncing) this.#log?.close();
  }

  #ask<T>(work: () => T, isLasting: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      let result: T;
      const write = (): void => void (result = work());
      this.#queue.push({ work: write, isLasting, resolve: () => resolve(result), reject });
      this.#commitSoon();
    });
  }

  /** All that is asked for in this turn of the event loop belongs to the group. */
  #commitSoon(): void {
    if (this.#isPlanned || this.#isHeld || this.#queue.length === 0) return;
    if (this.#isSyncing && this.#queue.every((write) => write.isLasting)) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      if (this.#isHeld) return;
      if (this.#log === undefined) resolveAll(this.#commitLasting());
      else this.#commitGroup(this.#log);
    });
  }

  #commitNow(): void {
    if (this.#isElsewhere && this.#log !== undefined) this.#commitGroup(this.#log);
    else resolveAll(this.#commitLasting());
  }

  #commitGroup(log: WriteAheadLog): void {
    const group = this.#commit('NORMAL');
    resolveAll(group.filter((write) => !write.isLasting));
    this.#unsynced.push(...group.filter((write) => write.isLasting));
    this.#sync(log);
  }

  #sync(log: WriteAheadLog): void {
    if (this.#isSyncing || this.#unsynced.length === 0) return;
    const group = this.#unsynced.splice(0);
    let mark: (() => void) | undefined;
    try {
      mark = this.#marker?.reached();
    } catch (error) {
      return rejectAll(group, error);
    }
    this.#isSyncing = true;
    this.#synced = new Promise((resolve) => {
      log.sync((error) => {
        this.#isSyncing = false;
        this.#broken ??= error ?? undefined;
        if (this.#broken === undefined) {
          mark?.();
          resolveAll(group);
        } else rejectAll(group, this.#broken);
        this.#sync(log);
        if (!this.#isSyncing && this.#isClosing) log.close();
        this.#commitSoon();
        resolve();
      });
    });
  }

  #commitLasting(): Write[] {
    const group = this.#commit('FULL');
    try {
      if (group.length > 0) this.#marker?.reached()();
      return group;
    } catch (error) {
      rejectAll(group, error);
      return [];
    }
  }

  /** Returns what was queued and is committed now. With `NORMAL` the commit is not synced. */
  #commit(synchronous: 'NORMAL' | 'FULL'): Write[] {
    const group = this.#queue;
    if (group.length === 0) return group;
    this.#queue = [];
    try {
      if (this.#broken !== undefined) throw this.#broken;
      if (synchronous === 'FULL') this.#transact(group);
      else this.#withoutSync(() => this.#transact(group));
      return group;
    } catch (error) {
      rejectAll(group, error);
      return [];
    }
  }

  #withoutSync(work: () => void): void {
    this.#db.exec('PRAGMA synchronous = NORMAL');
    try {
      work();
    } finally {
      this.#db.exec('PRAGMA synchronous = FULL');
    }
  }

  #transact(group: Write[]): void {
    this.#begin.run();
    try {
      for (const write of group) write.work();
      this.#marker?.beforeCommit();
      this.#end.run();
    } finally {
      this.#takeBack();
    }
  }

  /** Some of SQLite's own errors have done so already. */
  #takeBack(): void {
    if (this.#db.inTransaction) this.#db.exec('ROLLBACK');
  }
}

function resolveAll(group: Write[]): void {
  for (const write of group) write.resolve();
}

function rejectAll(group: Write[], reason: unknown): void {
  for (const write of group) write.reject(reason);
}

export interface WriteAheadLog {
  /** Has all that was committed before this call on the disk; one call at a time. */
  sync(done: (error: Error | null) => void): void;
  /** Right away, or as soon as a sync in progress has ended. */
  close(): void;
}

/**
 * Opens the log of a database in WAL mode, which is the same file for as long as a connection is open. No lock is on
 * it, so that closing it drops none: the database itself must not be opened like this. Errors are the system's.
 */
function openWriteAheadLog(db: Database): WriteAheadLog {
  const file = openSync(`${db.name}-wal`, 'r+');
  let isSyncing = false;
  let isClosed = false;
  return {
    sync: (done) => {
      isSyncing = true;
      fdatasync(file, (error) => {
        isSyncing = false;
        if (isClosed) closeSync(file);
        done(error);
      });
    },
    close: () => {
      if (isClosed) return;
      isClosed = true;
      if (!isSyncing) closeSync(file);
    },
  };
}

/** Groups many small writes into few fsyncs: what is requested while the disk is busy is committed and synced together. */
import type { Database, Statement } from './database.ts';
import { closeSync, fdatasync, openSync } from 'node:fs';

/** Counts the groups, and learns which of them are on disk. */
export interface CommitMarker {
  /** Called inside every group's transaction, at its end. */
  beforeCommit(): void;
  /** Called before a sync. The returned function is called when everything committed so far is on disk. */
  reached(): () => void;
}

interface Write {
  work: () => void;
  /** True if the write is done only when it is on disk. */
  isLasting: boolean;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/**
 * Queues writes and commits them in groups, in order. A group is committed without an fsync, its log is
 * synced outside of the event loop, and only then do its promises resolve. Writes that arrive meanwhile form
 * the next group, so a slower disk makes larger groups. Only writes that wait for no sync are not delayed by
 * one.
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
  /** True while a transaction is open over many turns. Other writes would be lost if it failed. */
  #isPaused = false;
  /** Set by a failed fsync. After it nobody knows what is on disk, and the system reports it only once. */
  #broken: Error | undefined;

  /** `db` is in WAL mode with `synchronous=FULL`, or in memory. `log`: makes commits durable if the disk does not. */
  constructor(db: Database, marker?: CommitMarker, log?: WriteAheadLog) {
    this.#db = db;
    this.#marker = marker;
    this.#isElsewhere = log !== undefined;
    this.#log = log ?? (db.memory ? undefined : openWriteAheadLog(db));
    this.#begin = db.prepare('BEGIN IMMEDIATE');
    this.#end = db.prepare('COMMIT');
  }

  /** Runs `work` inside the next transaction. If any work of a group throws, all of the group reject. */
  write<T>(work: () => T): Promise<T> {
    return this.#ask(work, true);
  }

  /** Like `write`, but resolves at the commit, which survives a crash; a power cut only after a later write. */
  writeUnsynced<T>(work: () => T): Promise<T> {
    return this.#ask(work, false);
  }

  /** Runs `work` in its own transaction, which stays open meanwhile. Other writes wait. An error undoes it. */
  async writeAlone<T>(work: () => Promise<T>): Promise<T> {
    void this.flush();
    if (this.#broken !== undefined) throw this.#broken;
    this.#db.exec('BEGIN IMMEDIATE');
    this.#isPaused = true;
    try {
      const result = await work();
      this.#marker?.beforeCommit();
      this.#db.exec('COMMIT');
      this.#marker?.reached()();
      return result;
    } finally {
      this.#takeBack();
      this.#isPaused = false;
      this.#commitSoon();
    }
  }

  /** Commits queued writes now, blocking. Resolves when earlier writes are synced too, or have failed. */
  async flush(): Promise<void> {
    if (!this.#isPaused) this.#commitNow();
    while (this.#isSyncing) await this.#synced;
  }

  /** Call before the database is closed. Nothing is written afterwards. */
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

  /** Commits everything that is requested in this turn of the event loop as one group. */
  #commitSoon(): void {
    if (this.#isPlanned || this.#isPaused || this.#queue.length === 0) return;
    if (this.#isSyncing && this.#queue.every((write) => write.isLasting)) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      if (this.#isPaused) return;
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

  /** Commits the queued writes and returns them. With `NORMAL` the commit is not synced. */
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

  /** Rolls back, unless SQLite's error has already done so. */
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
  /** Syncs everything that was committed before this call. Only one call at a time. */
  sync(done: (error: Error | null) => void): void;
  /** Closes the log at once, or when a sync in progress ends. */
  close(): void;
}

/** Opens the log of a database in WAL mode. Unlike the database, closing it drops no locks. */
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

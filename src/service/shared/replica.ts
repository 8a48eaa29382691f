/** Brings what SQLite has committed into the shared store, before anybody is told that it is done. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Database } from '../../lib/sqlite/database.ts';
import { type Changes, pageBytes } from './page-store.ts';

/** Resolves once the changes are in the store; rejects where that will never be. */
type Write = (database: string, changes: Changes) => Promise<void>;

/** https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
const headerBytes = 32;
const frameHeaderBytes = 24;
const frameBytes = frameHeaderBytes + pageBytes;
const framesAtOnce = 256;

/** The log is brought into the file, and begun anew, when it has grown to this: the event loop waits for it. */
const maxLogBytes = 16 * 1024 * 1024;

/** Of one database in WAL mode, which this process alone writes to. */
export class Replica {
  readonly #db: Database;
  readonly #name: string;
  readonly #write: Write;
  readonly #log: number;
  #isClosed = false;
  /** Up to where the log was read. */
  #offset = 0;
  /** Of the log that it belongs to. */
  #salt = '';
  /** Read and not written yet. */
  #changed = new Map<number, Buffer>();
  #pageCount = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, name: string, write: Write) {
    if (db.pragma('page_size', { simple: true }) !== pageBytes)
      throw new Error(`${db.name} has pages of another size than ${pageBytes} bytes`);
    db.pragma('wal_autocheckpoint = 0');
    this.#db = db;
    this.#name = name;
    this.#write = write;
    this.#log = openSync(`${db.name}-wal`, 'r');
  }

  /** Has all that was committed before this call in the store. */
  sync(done: (error: Error | null) => void): void {
    void this.#syncThen(done);
  }

  /** As `sync`. */
  settled(): Promise<void> {
    this.#collect();
    const { size } = this.#changed;
    if (size === 0) return this.#writing;
    // What is on its way is waited for; what comes meanwhile goes with the next.
    const next = this.#writing.then(() => this.#writeChanged());
    this.#writing = next;
    return next;
  }

  /** Begins the log anew. */
  truncate(): void {
    this.#collect();
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#log);
  }

  async #syncThen(done: (error: Error | null) => void): Promise<void> {
    let failure: Error | null = null;
    try {
      await this.settled();
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
    }
    done(failure);
  }

  async #writeChanged(): Promise<void> {
    const pages = this.#changed;
    if (pages.size === 0) return;
    this.#changed = new Map();
    await this.#write(this.#name, { pages, count: this.#pageCount });
  }

  /** Reads the commits that the log has since the last time. */
  #collect(): void {
    if (this.#isClosed) return;
    const { size } = fstatSync(this.#log);
    const header = Buffer.alloc(headerBytes);
    if (size < headerBytes || readSync(this.#log, header, 0, headerBytes, 0) < headerBytes) return;
    const salt = header.toString('hex', 16, 24);
    if (salt !== this.#salt) {
      this.#salt = salt;
      this.#offset = headerBytes;
    }
    this.#readFrames(size);
    if (this.#offset < maxLogBytes || this.#db.inTransaction) return;
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
  }

  #readFrames(size: number): void {
    const open = new Map<number, Buffer>();
    for (let at = this.#offset; at + frameBytes <= size;) {
      const count = Math.min(framesAtOnce, Math.floor((size - at) / frameBytes));
      const frames = Buffer.allocUnsafe(count * frameBytes);
      readSync(this.#log, frames, 0, frames.length, at);
      for (let i = 0; i < count; i++) {
        const frame = frames.subarray(i * frameBytes, (i + 1) * frameBytes);
        // What is behind the newest commit is of a transaction that is not over, or was undone, or of an older log.
        if (frame.toString('hex', 8, 16) !== this.#salt) return;
        open.set(frame.readUInt32BE(0), frame.subarray(frameHeaderBytes));
        at += frameBytes;
        const pageCount = frame.readUInt32BE(4);
        if (pageCount > 0) this.#commit(open, pageCount, at);
      }
    }
  }

  #commit(pages: Map<number, Buffer>, pageCount: number, at: number): void {
    for (const [page, bytes] of pages) this.#changed.set(page, bytes);
    pages.clear();
    for (const page of this.#changed.keys()) if (page > pageCount) this.#changed.delete(page);
    this.#pageCount = pageCount;
    this.#offset = at;
  }
}

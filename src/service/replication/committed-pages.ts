/** Sends committed changes of an SQLite database to the shared store, before any commit is acknowledged. */
import { closeSync, fstatSync, openSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Database } from '../../lib/sqlite/database.ts';
import { type Changes, packPage, pageBytes } from './leading-session.ts';

/** Stores changes of a database. Resolves once they are stored; rejects if they never will be. */
type Write = (database: string, changes: Changes) => Promise<void>;

/** Write-ahead log format, see https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
const headerBytes = 32;
const frameHeaderBytes = 24;
const frameBytes = frameHeaderBytes + pageBytes;
const framesAtOnce = 256;

/** Log size in bytes at which the log is copied into the database and restarted, which blocks the event loop. */
const maxLogBytes = 16 * 1024 * 1024;

const readAsync = promisify(read);

interface Frame {
  page: number;
  bytes: Buffer;
  /** Position of the page's bytes in the log. */
  at: number;
  /** True if the database did not contain the page before. */
  isNew?: true;
}

/** Follows the write-ahead log of one database, which only this process writes to. */
export class Replica {
  readonly #db: Database;
  readonly name: string;
  readonly #write: Write;
  readonly #file: number;
  readonly #log: number;
  #isClosed = false;
  /** End of the part of the log that was read. */
  #offset = 0;
  /** Salt in the header of that log, which changes when the log restarts. */
  #salt = '';
  /** Positions in the log of the newest version of each page. Pages that are not listed are in the database file. */
  readonly #placeOf = new Map<number, number>();
  /** Packed changes that were read and not yet sent. */
  #changed: Buffer[] = [];
  #pageCount = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, name: string, write: Write) {
    if (db.pragma('page_size', { simple: true }) !== pageBytes)
      throw new Error(`${db.name} has pages of another size than ${pageBytes} bytes`);
    db.pragma('wal_autocheckpoint = 0');
    this.#db = db;
    this.name = name;
    this.#write = write;
    this.#file = openSync(db.name, 'r');
    this.#log = openSync(`${db.name}-wal`, 'r');
  }

  /** Calls `done` once everything committed before this call is stored. */
  sync(done: (error: Error | null) => void): void {
    void this.#syncThen(done);
  }

  /** Resolves once everything committed before this call is stored. Rejects if it never will be. */
  settled(): Promise<void> {
    this.#collect();
    if (this.#changed.length === 0) return this.#writing;
    // Waits for the write in progress. Changes that arrive meanwhile are sent with the next write.
    const next = this.#writing.then(() => this.#writeChanged());
    this.#writing = next;
    return next;
  }

  /** Copies the log into the database file and restarts it. False if a reader prevents it. */
  truncate(): boolean {
    this.#collect();
    return this.#db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#log);
    closeSync(this.#file);
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
    const packed = this.#changed;
    if (packed.length === 0) return;
    this.#changed = [];
    await this.#write(this.name, { packed: Buffer.concat(packed), count: this.#pageCount });
  }

  /** Reads pages from `first` on, fewer at the end. They may have changed since `truncate`, and be torn. */
  async read(first: number, pages: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(pages * pageBytes);
    const { bytesRead } = await readAsync(this.#file, bytes, 0, bytes.length, (first - 1) * pageBytes);
    // The descriptor may already belong to another file.
    if (this.#isClosed) throw new Error(`${this.name} is closed`);
    return bytes.subarray(0, bytesRead);
  }

  /** Reads the commits that were added to the log since the last call. */
  #collect(): void {
    if (this.#isClosed) return;
    const { size } = fstatSync(this.#log);
    const header = Buffer.alloc(headerBytes);
    if (size < headerBytes || readSync(this.#log, header, 0, headerBytes, 0) < headerBytes) return;
    const salt = header.toString('hex', 16, 24);
    if (salt !== this.#salt) {
      this.#salt = salt;
      this.#offset = headerBytes;
      this.#placeOf.clear();
    }
    this.#pack(this.#readFrames(size));
    if (this.#offset < maxLogBytes || this.#db.inTransaction) return;
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
  }

  /** Returns the newest version of each changed page, from complete commits only. */
  #readFrames(size: number): Map<number, Frame> {
    const committed = new Map<number, Frame>();
    const open: Frame[] = [];
    for (let at = this.#offset; at + frameBytes <= size;) {
      const count = Math.min(framesAtOnce, Math.floor((size - at) / frameBytes));
      const frames = Buffer.allocUnsafe(count * frameBytes);
      readSync(this.#log, frames, 0, frames.length, at);
      for (let i = 0; i < count; i++) {
        const frame = frames.subarray(i * frameBytes, (i + 1) * frameBytes);
        // A frame with another salt is from before the log was restarted.
        if (frame.toString('hex', 8, 16) !== this.#salt) return committed;
        open.push({
          page: frame.readUInt32BE(0),
          bytes: frame.subarray(frameHeaderBytes),
          at: at + frameHeaderBytes,
        });
        at += frameBytes;
        const pageCount = frame.readUInt32BE(4);
        if (pageCount === 0) continue;
        this.#commit(committed, open.splice(0), pageCount);
        this.#offset = at;
      }
    }
    return committed;
  }

  #commit(committed: Map<number, Frame>, frames: Frame[], pageCount: number): void {
    for (const frame of frames) {
      const isNew = frame.page > this.#pageCount || committed.get(frame.page)?.isNew === true;
      committed.set(frame.page, isNew ? { ...frame, isNew } : frame);
    }
    if (pageCount < this.#pageCount)
      for (const pages of [committed, this.#placeOf])
        for (const page of pages.keys()) if (page > pageCount) pages.delete(page);
    this.#pageCount = pageCount;
  }

  #pack(frames: Map<number, Frame>): void {
    for (const { page, bytes, at, isNew } of frames.values()) {
      this.#changed.push(packPage(page, isNew === true ? undefined : this.#latest(page), bytes));
      this.#placeOf.set(page, at);
    }
  }

  /** Returns the page as it was last read; undefined if the file does not contain it. */
  #latest(page: number): Buffer | undefined {
    const place = this.#placeOf.get(page);
    const [from, at] = place === undefined ? [this.#file, (page - 1) * pageBytes] : [this.#log, place];
    const bytes = Buffer.allocUnsafe(pageBytes);
    return readSync(from, bytes, 0, pageBytes, at) === pageBytes ? bytes : undefined;
  }
}

/** Brings what SQLite has committed into the shared store, before anybody is told that it is done. */
import { closeSync, fstatSync, openSync, read, readSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Database } from '../../lib/sqlite/database.ts';
import { type Changes, packPage, pageBytes } from './page-changes.ts';

/** Resolves once the changes are in the store; rejects where that will never be. */
type Write = (database: string, changes: Changes) => Promise<void>;

/** https://www.sqlite.org/fileformat2.html#the_write_ahead_log */
const headerBytes = 32;
const frameHeaderBytes = 24;
const frameBytes = frameHeaderBytes + pageBytes;
const framesAtOnce = 256;

/** The log is brought into the file, and begun anew, when it has grown to this: the event loop waits for it. */
const maxLogBytes = 16 * 1024 * 1024;

const readAsync = promisify(read);

interface Frame {
  page: number;
  bytes: Buffer;
  /** Where its bytes are in the log. */
  at: number;
  /** The database did not have it before. */
  isNew?: true;
}

/** Of one database in WAL mode, which this process alone writes to. */
export class Replica {
  readonly #db: Database;
  readonly name: string;
  readonly #write: Write;
  readonly #file: number;
  readonly #log: number;
  #isClosed = false;
  /** Up to where the log was read. */
  #offset = 0;
  /** Of the log that it belongs to. */
  #salt = '';
  /** Where the log has the newest of each page; the others are in the file as they were read last. */
  readonly #placeOf = new Map<number, number>();
  /** Read and not written yet. */
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

  /** Has all that was committed before this call in the store. */
  sync(done: (error: Error | null) => void): void {
    void this.#syncThen(done);
  }

  /** As `sync`. */
  settled(): Promise<void> {
    this.#collect();
    if (this.#changed.length === 0) return this.#writing;
    // What is on its way is waited for; what comes meanwhile goes with the next.
    const next = this.#writing.then(() => this.#writeChanged());
    this.#writing = next;
    return next;
  }

  /** Begins the log anew: the file has all of the database. False where another program that reads it is in the way. */
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

  /** Pages of the file from `first` on, fewer at its end: each as of some time since `truncate` was called last, or newer in places. */
  async read(first: number, pages: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(pages * pageBytes);
    const { bytesRead } = await readAsync(this.#file, bytes, 0, bytes.length, (first - 1) * pageBytes);
    // It may have been of another file by then.
    if (this.#isClosed) throw new Error(`${this.name} is closed`);
    return bytes.subarray(0, bytesRead);
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
      this.#placeOf.clear();
    }
    this.#pack(this.#readFrames(size));
    if (this.#offset < maxLogBytes || this.#db.inTransaction) return;
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
  }

  /** The newest of each page, of commits alone. */
  #readFrames(size: number): Map<number, Frame> {
    const committed = new Map<number, Frame>();
    const open: Frame[] = [];
    for (let at = this.#offset; at + frameBytes <= size;) {
      const count = Math.min(framesAtOnce, Math.floor((size - at) / frameBytes));
      const frames = Buffer.allocUnsafe(count * frameBytes);
      readSync(this.#log, frames, 0, frames.length, at);
      for (let i = 0; i < count; i++) {
        const frame = frames.subarray(i * frameBytes, (i + 1) * frameBytes);
        // What is behind the newest commit is of a transaction that is not over, or was undone, or of an older log.
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

  /** As it was read before; undefined where the file does not have it. */
  #latest(page: number): Buffer | undefined {
    const place = this.#placeOf.get(page);
    const [from, at] = place === undefined ? [this.#file, (page - 1) * pageBytes] : [this.#log, place];
    const bytes = Buffer.allocUnsafe(pageBytes);
    return readSync(from, bytes, 0, pageBytes, at) === pageBytes ? bytes : undefined;
  }
}

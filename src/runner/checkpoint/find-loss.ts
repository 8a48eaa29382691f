/** Detects commits that the checkpoint has lost, with the sidecar file that records how much was on disk. */
import { createHash, hash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { assertPlainFile } from '../../lib/files/temporary-files.ts';
import { type Database, openForReading, UnusableDatabase } from '../../lib/sqlite/database.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { checkpointSchema } from './checkpoint-schema.ts';

export interface Loss {
  submissions: number;
  /** Progress of the checkpoint before the loss. */
  reached: Reached;
}

/**
 * Returns what the newest, lost commits contained; undefined if none are lost. Changes nothing. Call only if
 * nobody else can write to the checkpoint. Throws `UnusableDatabase` if the file is missing, damaged or
 * another one.
 */
export function findLoss(dir: string): Loss | undefined {
  const path = checkpointFile(dir);
  const mark = readCommitMark(dir);
  if (!existsSync(path)) {
    const isGone = lstatSync(path, { throwIfNoEntry: false }) === undefined;
    if (isGone && mark !== undefined && mark.attempts > 0) throw gone(path, mark);
    return undefined;
  }
  if (mark !== undefined && mark.sha256 !== null) {
    if (isSealed(path, mark.sha256)) return undefined;
    throw new UnusableDatabase(
      `${path} has changed since the last run: it is damaged, an older copy, or another program wrote to it. It was not changed. Put the right file back, or check and accept this one: ${repair}`,
    );
  }
  const reached = readWhole(path);
  if (mark === undefined || reached.commit >= mark.commit) return undefined;
  return { submissions: Math.max(0, mark.attempts - reached.attempts), reached: mark };
}

/** Thrown if commits are lost and nobody has accepted that. */
export class LostCommits extends UnusableDatabase {
  constructor(dir: string, { submissions }: Loss) {
    const path = checkpointFile(dir);
    super(
      `the newest part of ${path} is lost: ${path}-wal was removed, cut or damaged, or one of the two was put back from an older copy. ${whatIsGone(submissions)}; it was left as it is. Put both files back, or continue without it: \`nightrender run <pipeline> --accept-loss\` (or \`cancel --accept-loss\`) counts the lost submissions as unanswered; \`--adopt\` also takes over the files that are there instead of paying for them again`,
    );
  }
}

function whatIsGone(submissions: number): string {
  if (submissions === 0)
    return 'The latest results of jobs are lost, and some jobs may be polled or paid again';
  return `${submissions.toLocaleString('en')} ${submissions === 1 ? 'submission is' : 'submissions are'} lost: they may be billed, and their scenes would be paid for again`;
}

export function checkpointFile(dir: string): string {
  return join(dir, 'checkpoint.sqlite');
}

/** Returns a hex digest. Closing the file drops the locks of SQLite connections of this process to it. */
export function sha256OfFile(path: string): string {
  const sum = createHash('sha256');
  assertPlainFile(path);
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.allocUnsafe(1024 * 1024);
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk))
      sum.update(chunk.subarray(0, read));
    return sum.digest('hex');
  } finally {
    closeSync(file);
  }
}

/** True if there is a write-ahead log with content. Readers leave an empty one behind. */
export function hasLog(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

const repair = '`nightrender verify <pipeline> --repair`';

function isSealed(path: string, sha256: string): boolean {
  return !hasLog(path) && sha256OfFile(path) === sha256;
}

function gone(path: string, { attempts }: CommitMark): UnusableDatabase {
  return new UnusableDatabase(
    `${path} is missing, and with it the record of ${attempts.toLocaleString('en')} ${attempts === 1 ? 'submission' : 'submissions'}. Put it back; or take over the files that are there, each checked: \`nightrender run <pipeline> --adopt\`; or begin afresh and keep them as .former: \`nightrender run <pipeline> --fresh\``,
  );
}

/** Checks the whole file and returns its progress. Opens it read-only, so that SQLite does not write the log into it. */
function readWhole(path: string): Reached {
  const db = openForReading(path, checkpointSchema, 'whole');
  try {
    return db === undefined ? { commit: 0, attempts: 0 } : readReached(db);
  } finally {
    db?.close();
  }
}

export interface Reached {
  commit: number;
  /** Number of attempts ever recorded, including those whose record was lost. */
  attempts: number;
}

export interface CommitMark extends Reached {
  /** Hex digest of `checkpoint.sqlite` after an orderly end; null while it is written to. */
  sha256: string | null;
}

/** Every mark has this length and is written in one call. */
const markBytes = 192;

/** Returns undefined if the file is missing or damaged. */
export function readCommitMark(dir: string): CommitMark | undefined {
  assertPlainFile(markFile(dir));
  let text: string;
  try {
    text = readFileSync(markFile(dir), 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const [, json = '', checksum] = /^(.*) ([0-9a-f]{8}) *\n$/.exec(text) ?? [];
  if (checksum === undefined || checksumOf(json) !== checksum) return undefined;
  const mark = JSON.parse(json) as unknown;
  return isJsonObject(mark) ? (mark as unknown as CommitMark) : undefined;
}

/** The sidecar file that records how far the checkpoint on disk has come, so that lost commits are detected. */
export class CommitMarkFile {
  readonly #file: number;
  #isOpen = true;

  /** Creates the file if it is missing. System errors pass through. */
  constructor(dir: string) {
    assertPlainFile(markFile(dir));
    this.#file = openSync(markFile(dir), constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  /** Writes the mark without syncing it. Ignores a failing disk, because an outdated mark is never taken for a loss. */
  write(mark: CommitMark): void {
    if (!this.#isOpen) return;
    try {
      this.#put(mark);
    } catch {
      return;
    }
  }

  /** Writes the mark and syncs it to disk. System errors pass through. */
  writeDurably(mark: CommitMark): void {
    this.#put(mark);
    fsyncSync(this.#file);
  }

  #put({ commit, attempts, sha256 }: CommitMark): void {
    const json = JSON.stringify({ commit, attempts, sha256 });
    const line = `${json} ${checksumOf(json)}`;
    writeSync(this.#file, `${line.padEnd(markBytes - 1)}\n`, 0, 'latin1');
  }

  close(): void {
    if (this.#isOpen) closeSync(this.#file);
    this.#isOpen = false;
  }
}

/** Returns the path of the mark. Remove it together with the checkpoint. */
export function markFile(dir: string): string {
  return join(dir, '.checkpoint.json');
}

function checksumOf(json: string): string {
  return hash('sha256', json).slice(0, 8);
}

export function readReached(db: Database): Reached {
  const attempts = db.prepare<[], number | null>('SELECT max(attempt) FROM attempts').pluck().get() ?? 0;
  const { number, lost_submissions: lost, unused_keys: unused } = readCommits(db);
  return { commit: number, attempts: attempts - unused + lost };
}

/** Returns the number of lost submissions whose loss a person accepted. They count as unanswered. */
export function readLostSubmissions(db: Database): number {
  return readCommits(db).lost_submissions;
}

interface Commits {
  number: number;
  lost_submissions: number;
  unused_keys: number;
}

export function readCommits(db: Database): Commits {
  const none = { number: 0, lost_submissions: 0, unused_keys: 0 };
  // A damaged file of an earlier version may lack a column.
  return { ...none, ...db.prepare<[], Partial<Commits>>('SELECT * FROM commits').get() };
}

/** Returns the folder of local copies of a shared checkpoint, one for each machine. `dir`: output folder. */
export function copiesFolder(dir: string): string {
  return join(dir, '.shared');
}

/** Returns the path of the batch's own checkpoint after it was moved to a database. */
export function movedFile(dir: string): string {
  return `${checkpointFile(dir)}.moved`;
}

/** The sidecar file that records how much of the checkpoint was on disk already, so that a loss is detected. */
import { hash } from 'node:crypto';
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { assertPlainFile } from '../../lib/files/plain-file.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import type { Database } from '../../lib/sqlite/database.ts';

/** How far a checkpoint has come. */
export interface Reached {
  /** Groups of commits. */
  commit: number;
  /** The highest key of an attempt, and what was lost of the record before. */
  attempts: number;
}

export interface CommitMark extends Reached {
  /** Hex, of `checkpoint.sqlite` as an orderly end has left it; null while it is written to. */
  sha256: string | null;
}

/** Written in one piece, and always of the same length. */
const markBytes = 192;

/** Undefined where it is missing or damaged. */
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

/** Whether the last run has ended in order, so that the checkpoint is known to be what it has left. */
export function isClosedInOrder(dir: string): boolean {
  return typeof readCommitMark(dir)?.sha256 === 'string';
}

export class CommitMarkFile {
  readonly #file: number;
  #isOpen = true;

  /** Makes it where there is none. System errors pass through. */
  constructor(dir: string) {
    assertPlainFile(markFile(dir));
    this.#file = openSync(markFile(dir), constants.O_RDWR | constants.O_CREAT, 0o600);
  }

  /** Reaches the kernel and no further. Where the disk does not take it, it stays behind, which never is taken for a loss. */
  write(mark: CommitMark): void {
    if (!this.#isOpen) return;
    try {
      this.#put(mark);
    } catch {
      return;
    }
  }

  /** Is on the disk when it returns. System errors pass through. */
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

/** To be removed with the checkpoint. */
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

/** Submissions whose record was lost, which a person has accepted: they count as unanswered. */
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

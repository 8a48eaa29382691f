/** The sidecar file that records how far the checkpoint on disk has come, so that lost commits are detected. */
import { hash } from 'node:crypto';
import { closeSync, constants, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { assertPlainFile } from '../../lib/files/plain-file.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import type { Database } from '../../lib/sqlite/database.ts';

export interface Reached {
  /** Number of commit groups. */
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

/** True if the last run ended in order, so the checkpoint must be as that run left it. */
export function isClosedInOrder(dir: string): boolean {
  return typeof readCommitMark(dir)?.sha256 === 'string';
}

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

/**
 * Returns the number of submissions whose record was lost and whose loss a person accepted. They count as
 * unanswered.
 */
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

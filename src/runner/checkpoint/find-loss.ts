/** Detects commits that the checkpoint has lost, before anything is written to it. */
import { createHash } from 'node:crypto';
import { closeSync, existsSync, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { assertPlainFile } from '../../lib/files/plain-file.ts';
import { openForReading, UnusableDatabase } from '../../lib/sqlite/database.ts';
import { readCommitMark, type CommitMark, type Reached, readReached } from './commit-mark.ts';
import { checkpointSchema } from './schema.ts';

export interface Loss {
  /** Number of submissions whose record is gone. */
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
      `the newest part of ${path} is lost: ${path}-wal was removed, cut or damaged, or one of the two was put back from an older copy. ${whatIsGone(submissions)}; it was left as it is. Put both files back, or continue without it: \`nightrender run <pipeline> --accept-loss\` (or \`cancel --accept-loss\`) counts the lost submissions as unanswered; \`--adopt\` also takes over the pictures that are there instead of paying for them again`,
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

/**
 * Returns a hex digest. No SQLite connection of this process may have the file open, because closing it here
 * drops the locks of that connection.
 */
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
    `${path} is missing, and with it the record of ${attempts.toLocaleString('en')} ${attempts === 1 ? 'submission' : 'submissions'}. Put it back; or take over the pictures that are there, each checked: \`nightrender run <pipeline> --adopt\`; or begin afresh and keep them as .former: \`nightrender run <pipeline> --fresh\``,
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

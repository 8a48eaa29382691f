/** Opens the checkpoint for writing. Checks that it is whole, and marks every group of commits from then on. */
import { closeSync, fsyncSync, openSync, statSync, type Stats } from 'node:fs';
import { FatalFailure } from '../core/failure.ts';
import { isOfDisk } from '../files/disk-failure.ts';
import { openForWriting, type Database } from '../../lib/sqlite/database.ts';
import type { CommitMarker } from '../../lib/sqlite/group-commit.ts';
import {
  checkpointFile,
  CommitMarkFile,
  findLoss,
  hasLog,
  isClosedInOrder,
  type Loss,
  LostCommits,
  type Reached,
  readCommitMark,
  readReached,
  sha256OfFile,
} from './find-loss.ts';
import { forgetComparedList } from './batch-identity.ts';
import { checkpointSchema } from './checkpoint-schema.ts';

export interface WritableCheckpoint {
  db: Database;
  marker: CommitMarker;
  /** Closes the file. Seals it if `isOrderly`, so that the next start need not check it. */
  close(isOrderly: boolean): void;
}

/** Throws as `findLoss` does, and `LostCommits` if a loss was not accepted. */
export function openForChanges(dir: string, isLossAccepted = false): WritableCheckpoint {
  const loss = findLoss(dir);
  if (loss !== undefined && !isLossAccepted) throw new LostCommits(dir, loss);
  const isKnown = isClosedInOrder(dir);
  const folder = statSync(dir);
  // After a power cut, a sealed file that was written to would look damaged.
  unseal(dir);
  const db = openForWriting(checkpointFile(dir), checkpointSchema, 'known');
  try {
    // If the disk went away, the log may be in the folder below its mount point. Nothing was written yet.
    if (statSync(dir).dev !== folder.dev) throw wentAway(dir);
    if (loss !== undefined) acceptLoss(db, loss);
    // Comparing the list again repairs what is stored of it.
    if (!isKnown) forgetComparedList(db);
    const file = new CommitMarkFile(dir);
    const marker = createMarker(db, file);
    db.transaction(() => marker.beforeCommit()).immediate();
    marker.reached()();
    return { db, marker, close: (isOrderly) => close(dir, folder, db, file, isOrderly) };
  } catch (error) {
    db.close();
    throw error;
  }
}

function isSameFolder(dir: string, { dev, ino }: Stats): boolean {
  const now = statSync(dir, { throwIfNoEntry: false });
  return now?.dev === dev && now.ino === ino;
}

function wentAway(dir: string): FatalFailure {
  const text = `${dir}: the output folder disappeared while the checkpoint was opened: it was moved, or its disk was unmounted. Put it back and give the same command again`;
  return new FatalFailure({ kind: 'output-unwritable', text });
}

/** Removes the seal, and syncs that to disk. If this throws, nothing may be written to the checkpoint. */
export function unseal(dir: string): void {
  const mark = readCommitMark(dir);
  if (mark === undefined) return;
  const file = new CommitMarkFile(dir);
  try {
    file.writeDurably({ ...mark, sha256: null });
  } finally {
    file.close();
  }
}

function acceptLoss(db: Database, { submissions, reached }: Loss): void {
  db.prepare<[object]>(
    'UPDATE commits SET lost_submissions = lost_submissions + @submissions, number = @commit',
  ).run({ submissions, commit: reached.commit });
}

/** Marks only commits that are on disk, so that a power cut is not taken for a loss. */
function createMarker(db: Database, file: CommitMarkFile): CommitMarker {
  const count = db.prepare('UPDATE commits SET number = number + 1');
  // Same as `readReached`, but prepared once, because it runs for every group.
  const read = db.prepare<[], Reached>(
    `SELECT number AS "commit", (SELECT coalesce(max(attempt), 0) FROM attempts) - unused_keys + lost_submissions AS attempts
     FROM commits`,
  );
  let latest = 0;
  return {
    beforeCommit: () => void count.run(),
    reached: () => {
      const reached = read.get();
      return () => {
        if (reached === undefined || reached.commit <= latest) return;
        latest = reached.commit;
        file.write({ ...reached, sha256: null });
      };
    },
  };
}

/** How long to wait for readers. If they take longer, the log stays. */
const readersMs = 500;

function close(dir: string, folder: Stats, db: Database, file: CommitMarkFile, isOrderly: boolean): void {
  const reached = isOrderly ? tidied(db) : undefined;
  db.close();
  const path = checkpointFile(dir);
  try {
    // If the disk went away, another file may have this name now.
    if (reached !== undefined && isSameFolder(dir, folder) && !hasLog(path))
      file.write({ ...reached, sha256: sha256OfFile(path) });
    file.close();
  } catch (error) {
    // All is recorded, and the ending was reported. The next start checks an unsealed file, or says why it cannot.
    if (!isOfDisk(error)) throw error;
  }
}

/** Writes the whole log into the file. Returns undefined if that fails; the next start then checks the whole file. */
function tidied(db: Database): Reached | undefined {
  try {
    db.pragma(`busy_timeout = ${readersMs}`);
    const reached = readReached(db);
    db.pragma('wal_checkpoint(TRUNCATE)');
    // Otherwise a power cut could restore the old log next to a sealed file.
    const log = openSync(`${db.name}-wal`, 'r+');
    fsyncSync(log);
    closeSync(log);
    return reached;
  } catch {
    return undefined;
  }
}

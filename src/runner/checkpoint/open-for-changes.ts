/** The checkpoint opened for writing: known to be whole, and marked from then on with every group of commits. */
import { closeSync, fsyncSync, openSync, statSync, type Stats } from 'node:fs';
import { FatalFailure } from '../core/failure.ts';
import { isOfDisk } from '../files/disk-failure.ts';
import { openForWriting, type Database } from '../../lib/sqlite/database.ts';
import type { CommitMarker } from '../../lib/sqlite/group-commit.ts';
import { CommitMarkFile, isClosedInOrder, readCommitMark, type Reached, readReached } from './commit-mark.ts';
import { forgetComparedList } from './batch-identity.ts';
import { checkpointFile, findLoss, hasLog, LostCommits, sha256OfFile, type Loss } from './find-loss.ts';
import { checkpointSchema } from './schema.ts';

export interface WritableCheckpoint {
  db: Database;
  marker: CommitMarker;
  /** Seals it where `isOrderly`: the next start need not check it. */
  close(isOrderly: boolean): void;
}

/** Throws as `findLoss`, and where there is a loss that is not accepted. */
export function openForChanges(dir: string, isLossAccepted = false): WritableCheckpoint {
  const loss = findLoss(dir);
  if (loss !== undefined && !isLossAccepted) throw new LostCommits(dir, loss);
  const isKnown = isClosedInOrder(dir);
  const folder = statSync(dir);
  // What is sealed and written to would be taken for damaged after a power cut.
  unseal(dir);
  const db = openForWriting(checkpointFile(dir), checkpointSchema, 'known');
  try {
    // The database may be the one on the disk, and its log one beside it below the disk: nothing was written to them yet.
    if (statSync(dir).dev !== folder.dev) throw wentAway(dir);
    if (loss !== undefined) acceptLoss(db, loss);
    // The list then puts right what was stored of it.
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
  const text = `${dir}: the output folder went away while the checkpoint was opened: it was moved, or its disk was unmounted. Put it back and give the same command again`;
  return new FatalFailure({ kind: 'output-unwritable', text });
}

/** On the disk when it returns; where the disk does not take it, nothing may be written to the checkpoint. */
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

/** Marks what is on the disk, never what is not yet: a power cut is not taken for a loss. */
function createMarker(db: Database, file: CommitMarkFile): CommitMarker {
  const count = db.prepare('UPDATE commits SET number = number + 1');
  // As `readReached`, prepared once: it is asked for with every group.
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

/** How long others may take to read on; the log stays there where they take longer. */
const readersMs = 500;

function close(dir: string, folder: Stats, db: Database, file: CommitMarkFile, isOrderly: boolean): void {
  const reached = isOrderly ? tidied(db) : undefined;
  db.close();
  const path = checkpointFile(dir);
  try {
    // Where its disk went away, another file may have its name now.
    if (reached !== undefined && isSameFolder(dir, folder) && !hasLog(path))
      file.write({ ...reached, sha256: sha256OfFile(path) });
    file.close();
  } catch (error) {
    // All is on record, and how the run ended was said: the next start checks what cannot be sealed, or says why not.
    if (!isOfDisk(error)) throw error;
  }
}

/** With all of its log in the file itself; undefined where that cannot be done: the next start then checks all of it. */
function tidied(db: Database): Reached | undefined {
  try {
    db.pragma(`busy_timeout = ${readersMs}`);
    const reached = readReached(db);
    db.pragma('wal_checkpoint(TRUNCATE)');
    // A power cut would restore it next to a sealed file.
    const log = openSync(`${db.name}-wal`, 'r+');
    fsyncSync(log);
    closeSync(log);
    return reached;
  } catch {
    return undefined;
  }
}

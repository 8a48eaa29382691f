/** Opens the checkpoint in an output folder: for a run, for maintenance, or to read it during a run. `joinBatch` opens a shared one. */
import { randomUUID } from 'node:crypto';
import { existsSync, statSync, type Stats, openSync, fsyncSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { FatalFailure } from '../core/failure.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { DefaultNames } from '../core/naming.ts';
import { newestRules, type RulesVersion } from '../core/scene.ts';
import type { Checkpoint, CheckpointFile, OtherRunners } from '../pipeline/ports.ts';
import { disorderlyExitCodes } from '../core/ending.ts';
import { DiskReserve } from '../../lib/files/disk-reserve.ts';
import { openForReading, type Database, openForWriting } from '../../lib/sqlite/database.ts';
import { CrashMarkerFile, ownRun } from './batch-lock.ts';
import {
  readBatch,
  readComparedList,
  rememberBatch,
  rulesOf,
  type BatchIdentity,
  type PicturesInBucket,
  forgetComparedList,
} from './batch-identity.ts';
import {
  checkpointFile,
  findLoss,
  LostCommits,
  CommitMarkFile,
  readCommitMark,
  type Loss,
  type Reached,
  hasLog,
  sha256OfFile,
  readReached,
} from './find-loss.ts';
import { readRuns } from './read-summary.ts';
import { countUntold, jobsInFlight, type JobsInFlight } from './read-totals.ts';
import { checkpointSchema } from './checkpoint-schema.ts';
import { SqliteCheckpoint } from './sqlite-checkpoint.ts';
import type { CommitMarker } from '../../lib/sqlite/group-commit.ts';
import { isOfDisk } from '../files/disk-failure.ts';

export interface OpenCheckpoint {
  checkpoint: Checkpoint;
  /** Present if the checkpoint is a file, which only this run uses. */
  file?: CheckpointFile;
  /** Present if the batch is shared with other runners. */
  others?: OtherRunners;
  run: RunMark;
  /** Bucket for the pictures; undefined for the output folder. */
  pictures: PicturesInBucket | undefined;
  /** Folder that contains the readable `checkpoint.sqlite`. */
  dir: string;
  /** Brings the file in `dir` up to date with the record. */
  refresh(): Promise<void>;
  /** Present if other runners may take over the batch's jobs. */
  lease?: BatchLease;
  names: DefaultNames;
  rules: RulesVersion;
  /** Returns the number of submissions that may have been billed and whose outcome is unknown. */
  untold(): Promise<number>;
  /** Records how the run ended and its statistics. The last call counts. */
  recordEnd(ended: RunEnd): void | Promise<void>;
  /**
   * Removes a run that did nothing from the record, so that the previous run stays the latest. Returns false,
   * and changes nothing, if the previous run had not ended by `reportedAt` (epoch ms) or did not end like
   * `as`. Also returns false if the batch or its list has changed.
   */
  forgetRun(reportedAt: number, as?: Pick<RunEnd, 'exitCode' | 'ending'>): boolean;
  close(): void | Promise<void>;
}

/** A runner's right to work on a batch that it shares with other runners. */
export interface BatchLease {
  /** True if something may be submitted at this moment. */
  isFresh(): boolean;
  /** `onLost`: another runner has taken over. `onReach`: the database no longer answers, or answers again. */
  on(events: {
    onLost?(failure: FatalFailure): void;
    onReach?(isReached: boolean, text: string): void;
    /** The database had lost records of this run, and they are written back. */
    onWrittenBack?(text: string): void;
  }): void;
  /** Ends all waiting for a database that does not answer. */
  giveUp(): void;
}

/** A checkpoint file in the output folder. One run alone has it, and its calls are synchronous. */
export interface OpenFile extends OpenCheckpoint {
  checkpoint: SqliteCheckpoint;
  recordEnd(ended: RunEnd): void;
  close(): void;
}

/** Distinguishes what this run leaves outside the checkpoint from what other runs leave there. */
export interface RunMark {
  /** Unique to this run, even among copies of the checkpoint. */
  token: string;
  /** True if a run in this checkpoint, this one included, has the token. */
  isKnown(token: string): boolean;
  /** Highest recorded attempt if the previous run did not end: it may have begun more. Otherwise undefined. */
  lastAttempt: number | undefined;
}

export interface RunEnd {
  at: number;
  exitCode: number;
  ending: string;
  stats: RunStats | undefined;
}

/** Exit codes after which the checkpoint may be inconsistent: the next start checks all of it. */
const unsealed = new Set<number>(disorderlyExitCodes);

/**
 * Opens the checkpoint for a run that holds the lock; without `batch` the recorded identity stays. Throws
 * `LostCommits` unless `isLossAccepted`, `UnusableDatabase`, `FatalFailure` if the disk of `dir` went away, and errors
 * of SQLite and of the disk.
 */
export function openCheckpoint(
  dir: string,
  program: string,
  batch: BatchIdentity | undefined,
  now: number,
  isLossAccepted = false,
): OpenFile {
  const writable = openForChanges(dir, isLossAccepted);
  const { db, marker } = writable;
  const isChanged = batch !== undefined && rememberBatch(db, batch);
  const reserve = new DiskReserve(join(dir, '.reserve'), reserveBytes);
  // If the disk has no space for it, the run ends before anything is sent.
  reserve.take();
  const crashMarkers = new CrashMarkerFile(join(dir, '.in-hand'));
  const lastAttempt = lastAttemptOf(db);
  const run = recordRunStart(db, program, now);
  const end = db.prepare<[object]>(`
    UPDATE runs SET ended_at = @at, exit_code = @exitCode, ending = @ending, stats = coalesce(@stats, stats)
    WHERE run = @run`);
  const checkpoint = new SqliteCheckpoint(db, run, crashMarkers, () => reserve.release(), marker);
  let isOrderly = false;
  return {
    checkpoint,
    file: checkpoint,
    run: { ...markOf(db, run), lastAttempt },
    pictures: readBatch(db)?.pictures,
    dir,
    refresh: () => Promise.resolve(),
    names: readBatch(db)?.names ?? 'id',
    rules: rulesOf(db),
    untold: () => Promise.resolve(countUntold(db)),
    recordEnd: ({ stats, ...ended }) => {
      isOrderly = !unsealed.has(ended.exitCode);
      end.run({ ...ended, stats: stats === undefined ? null : JSON.stringify(stats), run });
    },
    forgetRun: (reportedAt, as) => {
      const [before] = readRuns(db, 2);
      if (before === undefined || before.run === run) return false;
      const isReported = before.endedAt !== null && before.endedAt <= reportedAt;
      const isSame = as === undefined || (before.exitCode === as.exitCode && before.ending === as.ending);
      if (isChanged || checkpoint.isListEdited || !isReported || !isSame) return false;
      db.prepare('DELETE FROM runs WHERE run = ?').run(run);
      isOrderly = true;
      return true;
    },
    close: () => {
      checkpoint.close();
      writable.close(isOrderly);
      crashMarkers.close();
      reserve.release();
    },
  };
}

/** Opens the checkpoint for reading, even while a run writes. Undefined if the folder has none. Throws `UnusableDatabase`. */
export function openCheckpointForReading(dir: string): Database | undefined {
  const path = checkpointFile(dir);
  return existsSync(path) ? openForReading(path, checkpointSchema) : undefined;
}

/** Opens the checkpoint for changes outside of a run, while holding the lock; undefined if there is none. */
export function openCheckpointForMaintenance(dir: string): WritableCheckpoint | undefined {
  const read = openCheckpointForReading(dir);
  if (read === undefined) return undefined;
  read.close();
  return openForChanges(dir);
}

export interface RecordedList {
  /** Rules by which the batch reads, or would read, its lists. */
  rules: RulesVersion;
  /**
   * Digest of the list that the batch was last compared with. Undefined if it is unknown. Also undefined after
   * an unclean end, because no checksum covers the stored list. A local copy of a shared batch is always trusted.
   */
  digest: string | undefined;
}

/** Reads the rules and the digest of the list on record. `isCopy`: the folder has a local copy of a shared batch. Throws as `openCheckpointForReading` does. */
export function readRecordedList(dir: string, isCopy = false): RecordedList {
  const db = openCheckpointForReading(dir);
  try {
    if (db === undefined) return { rules: newestRules, digest: undefined };
    const isTrusted = isCopy || isClosedInOrder(dir);
    return { rules: rulesOf(db), digest: isTrusted ? readComparedList(db)?.digest : undefined };
  } finally {
    db?.close();
  }
}

/** Returns the jobs in flight, none if there is no checkpoint. Throws as `openCheckpointForReading` does. */
export function readJobsInFlight(dir: string): JobsInFlight[] {
  const db = openCheckpointForReading(dir);
  try {
    return db === undefined ? [] : jobsInFlight(db);
  } finally {
    db?.close();
  }
}

function recordRunStart(db: Database, program: string, now: number): number {
  const start = db.prepare<[object]>(
    `INSERT INTO runs (pid, host, program, started_at, boot, process_started, idempotency_key, rules)
     VALUES (@pid, @host, @program, @startedAt, @boot, @started, @token, @rules)`,
  );
  return Number(
    start.run({ ...ownRun(program, now), token: randomUUID(), rules: rulesOf(db) }).lastInsertRowid,
  );
}

/** Returns the highest attempt if the last run did not record its end. Undefined if it did, or if there is no run. */
function lastAttemptOf(db: Database): number | undefined {
  const [before] = readRuns(db, 1);
  if (before === undefined || before.endedAt !== null) return undefined;
  const row = db.prepare<[], { last: number | null }>('SELECT max(attempt) AS last FROM attempts').get();
  return row?.last ?? 0;
}

function markOf(db: Database, run: number): Omit<RunMark, 'lastAttempt'> {
  const tokens = db.prepare<[number], { token: string }>(
    'SELECT idempotency_key AS token FROM runs WHERE run = ?',
  );
  const known = db.prepare<[string]>('SELECT 1 FROM runs WHERE idempotency_key = ?');
  return {
    token: tokens.get(run)?.token ?? '',
    isKnown: (token) => known.get(token) !== undefined,
  };
}

/** Space for the ids of some thousand jobs that are accepted while the disk is full. */
const reserveBytes = 1024 * 1024;

interface WritableCheckpoint {
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
  const db = openForWriting(checkpointFile(dir), checkpointSchema, isKnown ? 'sealed' : 'known');
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

/** Time to wait for readers. If they take longer, the log stays. */
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

/** True if the last run ended in order, so the checkpoint must be as that run left it. */
function isClosedInOrder(dir: string): boolean {
  return typeof readCommitMark(dir)?.sha256 === 'string';
}

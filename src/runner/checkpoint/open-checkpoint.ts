/** Opens the checkpoint of a batch: for a run, or to read it during a run. */
import { randomUUID } from 'node:crypto';
import { existsSync, closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Endpoint } from '../core/attempt.ts';
import type { FatalFailure } from '../core/failure.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { DefaultNames } from '../core/default-name.ts';
import { newestRules, type RulesVersion } from '../core/scene-rules.ts';
import type { Checkpoint, CheckpointFile, OtherRunners } from '../pipeline/ports.ts';
import { disorderlyExitCodes } from '../core/ending.ts';
import { assertPlainFile } from '../../lib/files/plain-file.ts';
import { openForReading, type Database } from '../../lib/sqlite/database.ts';
import { CrashMarkerFile } from './crash-markers.ts';
import {
  readBatch,
  readComparedList,
  rememberBatch,
  rulesOf,
  type BatchIdentity,
  type PicturesInBucket,
} from './batch-identity.ts';
import { isClosedInOrder } from './commit-mark.ts';
import { checkpointFile } from './find-loss.ts';
import { openForChanges, type WritableCheckpoint } from './open-for-changes.ts';
import { isOfDisk } from '../files/disk-failure.ts';
import { readRuns } from './read-summary.ts';
import { readAttemptStates } from './read-totals.ts';
import { ownRun } from './batch-lock.ts';
import { checkpointSchema } from './schema.ts';
import { SqliteCheckpoint } from './sqlite-checkpoint.ts';

export interface OpenCheckpoint {
  checkpoint: Checkpoint;
  file?: CheckpointFile;
  others?: OtherRunners;
  run: RunMark;
  /** Where pictures go, unless into the output folder. */
  pictures: PicturesInBucket | undefined;
  /** Where it can be read as `checkpoint.sqlite`. */
  dir: string;
  /** Brings that up to what is on record. */
  refresh(): Promise<void>;
  /** Where others may take over the batch's jobs. */
  lease?: BatchLease;
  names: DefaultNames;
  rules: RulesVersion;
  /** Submissions that may have been billed and whose outcome is unknown. */
  untold(): number;
  /** Puts on record how the run ended and what it needed; the last word counts. */
  recordEnd(ended: RunEnd): void | Promise<void>;
  /**
   * Takes a run that did nothing off the record, so that the one before stays the latest. False, and nothing is changed,
   * where that one has not ended before `reportedAt` (epoch ms), or otherwise than `as`, or where the batch or its list has
   * changed since.
   */
  forgetRun(reportedAt: number, as?: Pick<RunEnd, 'exitCode' | 'ending'>): boolean;
  close(): void | Promise<void>;
}

/** A runner's right to work on a batch that others work on, too. */
export interface BatchLease {
  /** Whether something may be submitted at this moment. */
  isFresh(): boolean;
  /** `onLost`: others have taken over; `onReach`: what grants it does not answer, or answers again. */
  on(events: {
    onLost?(failure: FatalFailure): void;
    onReach?(isReached: boolean, text: string): void;
    /** The database had lost what this run had put on record, and it is there again. */
    onWrittenBack?(text: string): void;
  }): void;
  /** Nothing waits for it any longer. */
  giveUp(): void;
}

/** A file in the output folder: of one run alone, and at once. */
export interface OpenFile extends OpenCheckpoint {
  checkpoint: SqliteCheckpoint;
  recordEnd(ended: RunEnd): void;
  close(): void;
}

/** By which what this run leaves elsewhere can be told from what others left. */
export interface RunMark {
  /** No other run's, in no copy of the checkpoint either. */
  token: string;
  /** Whether a run of that token is on record here. */
  isKnown(token: string): boolean;
  /** The highest attempt on record where the run before has not ended in order: there may have been more. */
  lastAttempt: number | undefined;
}

export interface RunEnd {
  at: number;
  exitCode: number;
  ending: string;
  stats: RunStats | undefined;
}

/** After these the checkpoint may be inconsistent: the next start checks all of it. */
const unsealed = new Set<number>(disorderlyExitCodes);

/** For a run that holds the batch's lock; without `batch`, that is what its latest run has made of it. Throws `UnusableDatabase` or SQLite's own errors. */
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
  const reserve = new Reserve(dir);
  const crashMarkers = new CrashMarkerFile(join(dir, '.in-hand'));
  const lastAttempt = lastAttemptOf(db);
  const run = startRun(db, program, now);
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
    untold: () => {
      const { unanswered, expired } = readAttemptStates(db);
      return unanswered + expired;
    },
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

/** For `status` and the report, also while a run writes; undefined where the folder has no checkpoint. */
export function openCheckpointForReading(dir: string): Database | undefined {
  const path = checkpointFile(dir);
  return existsSync(path) ? openForReading(path, checkpointSchema) : undefined;
}

/** To change what is on record without being a run: for whoever holds the batch's lock. Undefined as above. */
export function openCheckpointForMaintenance(dir: string): WritableCheckpoint | undefined {
  const read = openCheckpointForReading(dir);
  if (read === undefined) return undefined;
  read.close();
  return openForChanges(dir);
}

/**
 * The digest of the list that the batch was last compared with; undefined where it is unknown, and after an unclean end:
 * no checksum holds what is stored of the list, unless it `isCopy` of what a database has. Throws as above.
 */
export function readComparedDigest(dir: string, isCopy = false): string | undefined {
  if (!isCopy && !isClosedInOrder(dir)) return undefined;
  const db = openCheckpointForReading(dir);
  try {
    return db && readComparedList(db)?.digest;
  } finally {
    db?.close();
  }
}

/** By which the batch reads its lists, or would. Throws as above. */
export function readRules(dir: string): RulesVersion {
  const db = openCheckpointForReading(dir);
  try {
    return db === undefined ? newestRules : rulesOf(db);
  } finally {
    db?.close();
  }
}

/** Jobs of earlier runs that are still in flight at an endpoint. */
export interface JobsInFlight {
  endpoint: Endpoint;
  jobs: number;
  /** When the first of them was submitted, epoch ms. */
  oldestAt: number;
}

/** Each endpoint once. */
export function readJobsInFlight(dir: string): JobsInFlight[] {
  const db = openCheckpointForReading(dir);
  if (db === undefined) return [];
  try {
    return db
      .prepare<[], Endpoint & Omit<JobsInFlight, 'endpoint'>>(
        `SELECT base_url AS baseUrl, endpoint_id AS id, version, count(*) AS jobs, min(submitted_at) AS oldestAt
         FROM attempts WHERE state = 'submitted' GROUP BY base_url, endpoint_id, version`,
      )
      .all()
      .map(({ jobs, oldestAt, ...endpoint }) => ({ endpoint, jobs, oldestAt }));
  } finally {
    db.close();
  }
}

function startRun(db: Database, program: string, now: number): number {
  const start = db.prepare<[object]>(
    `INSERT INTO runs (pid, host, program, started_at, boot, process_started, idempotency_key, rules)
     VALUES (@pid, @host, @program, @startedAt, @boot, @started, @token, @rules)`,
  );
  return Number(
    start.run({ ...ownRun(program, now), token: randomUUID(), rules: rulesOf(db) }).lastInsertRowid,
  );
}

/** Undefined where the last run has ended in order. */
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

/** Room for the ids of some thousand jobs that were accepted while the disk ran full. */
const reserveBytes = 1024 * 1024;

class Reserve {
  readonly #path: string;

  /** Takes the room; throws the system's error where there is none, before anything is sent. */
  constructor(dir: string) {
    this.#path = join(dir, '.reserve');
    assertPlainFile(this.#path);
    const file = openSync(this.#path, 'w', 0o600);
    try {
      writeSync(file, Buffer.alloc(reserveBytes, 'nightrender '));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  /** Gives the room to whoever writes next; false where it was given away already. */
  release(): boolean {
    if (!existsSync(this.#path)) return false;
    try {
      rmSync(this.#path, { force: true });
      return true;
    } catch (error) {
      // It stays, and the next run makes it anew.
      if (!isOfDisk(error)) throw error;
      return false;
    }
  }
}

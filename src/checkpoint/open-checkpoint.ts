/** Opening the checkpoint of a batch: to run on it, or to read it beside a run. */
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Endpoint } from '../core/attempt.ts';
import type { RunStats } from '../core/run-stats.ts';
import type { SeedBits } from '../core/seeds.ts';
import { openForReading, openForWriting, type Database } from '../sqlite/database.ts';
import { InHandFile } from './in-hand.ts';
import { readComparedList } from './compared-list.ts';
import { rememberBatch, seedBitsOf, type BatchIdentity } from './batch-identity.ts';
import { processMark } from './recorded-owner.ts';
import { Reserve } from './reserve.ts';
import { checkpointSchema } from './schema.ts';
import { SqliteCheckpoint } from './sqlite-checkpoint.ts';

export interface OpenCheckpoint {
  checkpoint: SqliteCheckpoint;
  /** Submissions of the batch that may have been billed and of which nobody knows. */
  untold(): number;
  /** Puts on record how the run ended and what it needed; the last word counts. */
  recordEnd(ended: RunEnd): void;
  close(): void;
}

export interface RunEnd {
  at: number;
  exitCode: number;
  ending: string;
  stats: RunStats | undefined;
}

/** For a run that holds the batch's lock; without `batch`, that is what its latest run has made of it. Throws `UnusableDatabase` or SQLite's own errors. */
export function openCheckpoint(
  dir: string,
  program: string,
  batch: BatchIdentity | undefined,
  now: number,
): OpenCheckpoint {
  const db = openForWriting(checkpointFile(dir), checkpointSchema);
  if (batch !== undefined) rememberBatch(db, batch);
  const reserve = new Reserve(dir);
  const inHand = new InHandFile(join(dir, '.in-hand'));
  const run = startRun(db, program, now);
  const end = db.prepare<[object]>(`
    UPDATE runs SET ended_at = @at, exit_code = @exitCode, ending = @ending, stats = coalesce(@stats, stats)
    WHERE run = @run`);
  const untold = db.prepare<[], { n: number }>(
    "SELECT count(*) AS n FROM attempts WHERE state IN ('unanswered', 'expired')",
  );
  const checkpoint = new SqliteCheckpoint(db, run, inHand, () => reserve.release());
  return {
    checkpoint,
    untold: () => untold.get()?.n ?? 0,
    recordEnd: ({ stats, ...ended }) =>
      void end.run({ ...ended, stats: stats === undefined ? null : JSON.stringify(stats), run }),
    close: () => {
      checkpoint.close();
      db.close();
      inHand.close();
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
export function openCheckpointForMending(dir: string): Database | undefined {
  const read = openCheckpointForReading(dir);
  if (read === undefined) return undefined;
  read.close();
  return openForWriting(checkpointFile(dir), checkpointSchema);
}

/** The digest of the list that the batch was last compared with; undefined where nobody knows. Throws as above. */
export function readComparedDigest(dir: string): string | undefined {
  const db = openCheckpointForReading(dir);
  try {
    return db && readComparedList(db)?.digest;
  } finally {
    db?.close();
  }
}

/** Of the seeds that the batch has, or would have. Throws as above. */
export function readSeedBits(dir: string): SeedBits {
  const db = openCheckpointForReading(dir);
  try {
    return db === undefined ? 31 : seedBitsOf(db);
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

function checkpointFile(dir: string): string {
  return join(dir, 'checkpoint.sqlite');
}

function startRun(db: Database, program: string, now: number): number {
  const { boot, started } = processMark();
  const { lastInsertRowid } = db
    .prepare(
      'INSERT INTO runs (pid, host, program, started_at, boot, process_started) VALUES (?, ?, ?, ?, ?, ?)',
    )
    .run(process.pid, hostname(), program, now, boot, started);
  return Number(lastInsertRowid);
}

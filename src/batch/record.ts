/** The record of a batch, and the check that it is in the place where the batch began. */
import { existsSync } from 'node:fs';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { copiesFolder, movedFile } from '../runner/checkpoint/copies-folder.ts';
import { checkpointFile, findLoss, LostCommits } from '../runner/checkpoint/find-loss.ts';
import { readBatch } from '../runner/checkpoint/batch-identity.ts';
import {
  openCheckpointForReading,
  type JobsInFlight,
  type OpenCheckpoint,
} from '../runner/checkpoint/open-checkpoint.ts';
import type { Config } from '../runner/config/config.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import type { RunChoices } from './choices.ts';
import { assertMounted } from './disk-note.ts';
import { runArguments, shownPath } from './shown-path.ts';

/** Value of `checkpoint` and its place in pipeline.yaml. Undefined for a batch with its own checkpoint file. */
export type SharedAddress = { address: string; where: string } | undefined;

/**
 * A file in the output folder that one run holds, or a database that any number of runs share. It is not open
 * yet.
 */
export interface BatchRecord {
  /** Opens the record to read the batch, or to change it while no run is at work. Throws errors of the database. */
  open(): Promise<OpenRecord>;
  /** Opens the record for a run. Throws `BatchHeld` if another run holds the file. */
  openForRun(choices: RunChoices): Promise<RunRecord>;
  /**
   * Opens the record to cancel every job in flight. Throws `BatchHeld` if a run is at work, and errors like
   * `noBatch`.
   */
  openForCancel(isLossAccepted: boolean): Promise<CancelRecord>;
}

export interface OpenRecord {
  /** Folder in which the checkpoint is readable as `checkpoint.sqlite`, as of the latest `refresh`. */
  dir: string;
  /** True if a run was at work on the batch at the latest `refresh`. */
  isHeld(): boolean;
  refresh(): Promise<void>;
  /**
   * Works on the checkpoint while no run holds it. `prepare` runs under the lock before the checkpoint is
   * opened. Throws `BatchHeld` if a run is at work, and `ConfigError` if there is no batch.
   */
  maintain<Result>(
    work: (db: Database) => Promise<Result> | Result,
    prepare?: () => Promise<void>,
  ): Promise<Result>;
  close(): Promise<void>;
}

export interface RunRequest {
  /** Path of pipeline.yaml as given. */
  file: string;
  config: Config;
  choices: RunChoices;
}

export interface RunRecord {
  /** Folder in which the checkpoint is readable, or will be created. */
  dir: string;
  /** Checkpoint to compare the list with: a file, a shared checkpoint, or none yet. */
  known: 'own' | 'shared' | undefined;
  /** Opens the checkpoint. Without scenes, the batch stays as its latest run has left it. */
  begin(request: RunRequest, scenes: ReadScenes | undefined): Promise<BegunRun>;
  close(): Promise<void>;
}

export interface BegunRun {
  opened: OpenCheckpoint;
  /** Jobs that earlier runs left at each endpoint. */
  inFlight: JobsInFlight[];
  /** Number of pictures kept as `.former`. */
  kept: number;
}

export interface CancelRecord {
  /** Folder in which the checkpoint is readable. */
  dir: string;
  /** Opens the checkpoint. The batch stays as its latest run has left it. */
  begin(config: Config): Promise<OpenCheckpoint>;
  close(): Promise<void>;
}

export const stopFirst = 'Stop it first (Ctrl-C, or SIGTERM to its process), or wait for it to end.';

/** Error for a batch that has not begun. */
export class NoBatch extends ConfigError {}

/** Returns the error for a folder without a batch: `LostCommits` if it had one, unless its loss is accepted. */
export function noBatch(dir: string, isLossAccepted = false): Error {
  const loss = findLoss(dir);
  if (loss !== undefined && !isLossAccepted) return new LostCommits(dir, loss);
  const text = isLossAccepted
    ? 'no job is on record here; check the service itself for jobs that still run'
    : 'there is no batch here yet; start one with `nightrender run`';
  return new NoBatch([{ where: shownPath(dir), text }]);
}

/**
 * Throws `ConfigError` if the batch began with its own file and is now shared, or vice versa. Unless
 * `isFresh`, also throws if its disk is not mounted. `dir` is the output folder, `sharedAt` the place of
 * `checkpoint` in pipeline.yaml.
 */
export function assertPlace(dir: string, sharedAt: string | undefined, isFresh = false): void {
  if (!isFresh) assertDisk(dir);
  const isOwn = existsSync(checkpointFile(dir));
  if (sharedAt !== undefined && isOwn) {
    const text = `the batch in ${shownPath(dir)} has begun with a checkpoint of its own, ${shownPath(checkpointFile(dir))}, and would be rendered and paid for again; move it to the database with \`nightrender verify <pipeline> --move\`, leave checkpoint out to go on with it, or choose another output.dir for a batch that is shared`;
    throw new ConfigError([{ where: sharedAt, text }]);
  }
  if (sharedAt === undefined && !isOwn && isElsewhere(dir)) {
    const text = `the checkpoint of this batch is in a database (a run with checkpoint: has begun it), and it would be rendered and paid for again; set checkpoint: as it was, move it back to this folder with \`nightrender verify <pipeline> --move\` (DATABASE_URL in the environment says where it is), or choose another output.dir`;
    throw new ConfigError([{ where: shownPath(dir), text }]);
  }
}

/** Throws `ConfigError` if the disk of the batch is not mounted. */
export function assertDisk(dir: string): void {
  if (!isElsewhere(dir)) assertMounted(dir);
}

/** True if the folder has no checkpoint because it is in a database. */
export function isElsewhere(dir: string): boolean {
  return existsSync(copiesFolder(dir)) || existsSync(movedFile(dir));
}

/**
 * Returns the arguments of `nightrender run`. `others` are those of other commands, `dir` a folder with the
 * readable checkpoint.
 */
export function recordedRun(others: string, dir: string): string {
  const db = openCheckpointForReading(dir);
  try {
    return runArguments(others, db && readBatch(db)?.lists);
  } finally {
    db?.close();
  }
}

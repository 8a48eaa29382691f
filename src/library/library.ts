/** The public types of the library. They import only types, so that they can be published alone. */
import type { BatchNumbers, Verified } from '../runner/core/scene-record.ts';
import type { EndingKind } from '../runner/core/ending.ts';
import type { FailureKind } from '../runner/core/failure.ts';
import type { BatchPlan, FirstRequest } from '../runner/core/batch-plan.ts';
import type { Event, RunEnded } from '../runner/pipeline/event.ts';
import type { ResultRow } from '../runner/report/result-columns.ts';

export type { EndingKind, FailureKind, ResultRow };

/** Starts or resumes a batch, like `nightrender run`. `file`: a pipeline.yaml or its folder. */
export declare function runBatch(file: string, options?: RunOptions): BatchRun;

/**
 * Reads the state of a batch, also during a run: here, in another process or, if it is shared, on another
 * machine. `file`: a pipeline.yaml, its folder, or the output folder of a batch.
 */
export declare function readBatch(file: string, options?: ReadOptions): Promise<BatchReading | Unreadable>;

/**
 * Returns what `runBatch` with the same arguments would do, like `nightrender plan`. Sends nothing, changes
 * nothing, and works during a run.
 */
export declare function planBatch(file: string, options?: PlanRequest): Promise<PlannedBatch | Refused>;

/** Puts scenes back, like `nightrender retry`. The next run renders each of them as a new job. Sends nothing. */
export declare function retryScenes(file: string, options?: RetryRequest): Promise<RetriedScenes | Refused>;

/** Checks every saved picture and clip, like `nightrender verify`. With `repair`, puts scenes with bad files back. */
export declare function verifyBatch(file: string, options?: VerifyRequest): Promise<VerifiedBatch | Refused>;

/** Writes the saved pictures and clips as a dataset, like `nightrender export`. Only reads the batch, also during a run. */
export declare function exportBatch(file: string, options: ExportRequest): Promise<ExportedBatch | Refused>;

/** Asks the service to cancel every job in flight and saves finished ones, like `nightrender cancel`. */
export declare function cancelBatch(file: string, options?: CancelRequest): Promise<CancelledBatch>;

/** Options that override the file, like those of the command line with the same names. */
export interface ReadOptions {
  /** Path of the output folder. */
  output?: string;
  /** Environment for `${VARIABLES}`, keys, `NIGHTRENDER_…` and commands under `notify`. Default: `process.env`. */
  env?: Record<string, string | undefined>;
}

export interface RunOptions extends ReadOptions {
  /** Stops the run: it submits and polls no more. The next run collects the jobs in flight. */
  signal?: AbortSignal;
  manifest?: string | string[];
  /** Maximum number of jobs in flight. */
  concurrency?: number;
  /** Renders only this many scenes, drawn from the whole list. */
  limit?: number;
  /** Renders only this share of the scenes, greater than 0 and at most 1. */
  sample?: number;
  skipBadRows?: boolean;
  allowFewer?: boolean;
  acceptEdits?: 'always' | 'never';
}

export interface BatchRun {
  /**
   * Yields each event once until the run has ended. Supports one reader; events that it leaves unread for too
   * long are dropped and counted.
   */
  readonly events: AsyncIterable<BatchEvent>;
  /** Resolves once everything is closed. Rejects only for a bug. */
  readonly result: Promise<RunResult>;
}

/** An event as in a line of `--json`, but with files named as in rows (`images/…`). `at`: time in ISO 8601. */
export type BatchEvent = (Event | { type: 'events-dropped'; events: number }) & { at: string };

/**
 * Result of a run. The inherited fields are missing if the run was refused before it started. They are also
 * missing if a failing disk or database kept it from ending normally.
 */
export interface RunResult extends Partial<Omit<RunEnded, 'type' | 'ending' | 'exitCode' | 'text'>> {
  kind: EndingKind;
  /** True if the same call resumes the run. */
  isResumable: boolean;
  /** A sentence about the ending. */
  text: string;
  /** All problems of the file, the list and the options, if the run was refused. */
  problems: Problem[];
}

export interface Problem {
  /** Place such as `pipeline.yaml:7:14`, or the name of an argument, an option or a variable. */
  where: string;
  text: string;
}

export interface BatchReading extends BatchNumbers {
  kind: 'batch';
  /** Absolute path of the output folder. */
  dir: string;
  /** True if a run is working on the batch. */
  isRunning: boolean;
  /**
   * Yields the current rows of results.jsonl: first those of the list, in its order, then those no longer
   * listed. Throws an `Error & Unreadable` if they cannot be read, or if `chosen` is wrong.
   */
  rows(chosen?: RowsChosen): AsyncIterable<ResultRow>;
  /** Reads the batch again once no run works on it. Rejects with the reason of `signal` if it is aborted. */
  wait(options?: { signal?: AbortSignal }): Promise<BatchReading | Unreadable>;
}

/** Chooses rows that meet all given criteria. */
export interface RowsChosen {
  states?: ResultRow['state'][];
  /**
   * A condition as for `--where`, such as `score >= 0.6 and not style = 'ink'`. Rows that lack one of its
   * values are left out.
   */
  where?: string;
}

export interface Unreadable {
  /**
   * `no-batch`: no batch was started there. `damaged`: the checkpoint is damaged or lost. `output-unwritable`:
   * a disk or a database fails. `wrong-use`: the file or an argument is wrong.
   */
  kind: 'no-batch' | 'damaged' | 'output-unwritable' | 'wrong-use';
  text: string;
  problems: Problem[];
}

/** Confirms that scenes may be paid for again. */
export type Confirmation = 'paid again';

/** A refused call. Nothing was done, unless `text` says otherwise. */
export interface Refused {
  /**
   * Kinds of `Unreadable`, and two more. `already-running`: a run or another call holds the batch or folder.
   * `interrupted`: `signal` was aborted.
   */
  kind: Unreadable['kind'] | 'already-running' | 'interrupted';
  text: string;
  problems: Problem[];
}

export interface PlanRequest extends RunOptions {
  /** Number of requests to return. Default: 3. */
  requests?: number;
}

export interface PlannedBatch extends Omit<BatchPlan, 'requests' | 'notes'> {
  kind: 'plan';
  /** Absolute path of the output folder. */
  dir: string;
  requests: Omit<FirstRequest, 'before'>[];
  /** Sentences about the file and the list. */
  warnings: string[];
  /** A sentence that says why a run could not write; null if it could. */
  obstacle: string | null;
}

/** Criteria add up, but `where` cannot be combined with others. Without any, all failed scenes are put back. */
export interface RetryRequest extends ReadOptions {
  /** Chooses failed scenes of these kinds. */
  kinds?: FailureKind[];
  /** Chooses failed scenes by id. */
  ids?: string[];
  /** Chooses failed scenes by a condition. */
  where?: string;
  /** With `ids` or `where`: includes saved scenes. Their files in a folder are kept as `<name>.former`. */
  again?: boolean;
  /** With `again`: sends another seed from now on. */
  newSeed?: boolean;
  /** Chooses saved scenes that lack one of `output.files`. */
  lackingFiles?: boolean;
  /** With `ids` or `where`: gives up jobs in flight of these scenes. */
  giveUp?: boolean;
  /** Gives up jobs in flight at another address than `endpoint.baseUrl`. */
  elsewhere?: boolean;
  /** Required if a job of a chosen scene may have been paid for: it is saved, in flight, expired or unanswered. */
  confirm?: Confirmation;
}

export interface RetriedScenes {
  kind: 'retried';
  /**
   * Scenes that were put back, in the order of the list. `was`: former state or kind of failure, such as
   * `saved` or `job-failed`.
   */
  scenes: { id: string; was: string }[];
  /** Number of jobs in flight that were given up. They may still be billed. */
  givenUp: number;
  /** Number of files kept as `<name>.former`. */
  kept: number;
  /** Sentences about rows that the condition could not judge. */
  notes: string[];
}

export interface VerifyRequest extends ReadOptions {
  /** Ends the check early. Repairs made until then are kept. */
  signal?: AbortSignal;
  /** For pictures in a bucket: reads and decodes each, instead of trusting the checksums of the store. */
  deep?: boolean;
  /**
   * Repairs a damaged checkpoint and puts back scenes with missing or damaged files. The next run renders
   * and pays for them again.
   */
  repair?: boolean;
  /** Required with `repair`. */
  confirm?: Confirmation;
}

export interface BadFile {
  kind: 'missing' | 'damaged';
  scene: string;
  /** Path as in rows, such as `images/harbour.png`. */
  file: string;
  /** Description of the problem. */
  problem: string;
}

/** Number of files checked, and of scenes that a repair put back. */
export interface VerifiedBatch extends Verified {
  kind: 'verified';
  /** Missing and damaged files. `keptAs`: path under which a repair kept a damaged file. */
  bad: (BadFile & { keptAs?: string })[];
  /**
   * Set if the checkpoint was repaired. `lost`: number of lost submissions. `keptAs`: path of the damaged file,
   * or null if the file was sound.
   */
  checkpoint?: { lost: number; keptAs: string | null };
}

export interface ExportRequest extends ReadOptions {
  /** Ends the export early. The same call continues it. */
  signal?: AbortSignal;
  to: 'imagefolder' | 'webdataset' | 'captions' | 'parquet' | 'gallery';
  /** Path of a new or empty folder, or of an earlier export. */
  dir: string;
  /** Chooses scenes by a condition. */
  where?: string;
  /** Chooses scenes by id. */
  ids?: string[];
  /** For webdataset and parquet: number of pictures per file. Default: 1000. */
  shard?: number;
  /**
   * For captions, webdataset and gallery: text of each picture, such as `{{ prompt }}, {{ style }}`. Default: its
   * prompt, in a gallery its name.
   */
  caption?: string;
  /** Names of the files: a template such as `{{ shot }} {{ title }}`. Default: the names of the pictures. */
  name?: string;
  /** For parquet: includes the pictures or clips, as an Image, Video or Audio column of Hugging Face. */
  embed?: boolean;
  /** Exports this copy of `output.formats` instead of the PNG: `webp`, `512.jpg`. */
  copy?: string;
  /** For imagefolder and captions: creates hard links if the disk supports them. */
  link?: boolean;
  /** For gallery: keeps texts about the making of the pictures, and shows prompts. */
  withMetadata?: boolean;
}

export interface ExportedBatch {
  kind: 'exported';
  /** Absolute path of the folder. */
  dir: string;
  /** Number of pictures and clips in the folder. `written` and `bytes` count those that this call wrote. */
  pictures: number;
  written: number;
  bytes: number;
  /** Saved files that were left out because they are missing or damaged. */
  bad: BadFile[];
  /** Number of chosen scenes without a saved result, by state. The folder's missing.jsonl lists them. */
  missing: Partial<Record<ResultRow['state'], number>>;
  /** Sentences about what could not be judged, found or removed. */
  notes: string[];
}

export interface CancelRequest extends ReadOptions {
  /** Stops cancelling early. Jobs that are not cancelled by then stay in flight. */
  signal?: AbortSignal;
}

/**
 * Result of cancelling. The optional fields are missing if the call was refused before it started, or if a disk
 * or database failed.
 */
export interface CancelledBatch {
  /** `complete`: no jobs are in flight. `incomplete`: some still are. Others: as for a run. */
  kind: EndingKind;
  isResumable: boolean;
  /** A sentence about the ending. */
  text: string;
  problems: Problem[];
  /** Number of jobs that were in flight. */
  found?: number;
  /** Jobs still in flight, with the reason. */
  left?: { scene: string; jobId: string; why: string }[];
  /**
   * Number of submissions of crashed runs that got no answer. Their job ids are unknown, so they cannot be
   * cancelled.
   */
  unanswered?: number;
  /** Warnings, such as that a bucket did not answer. */
  notes?: string[];
  /** Number of jobs that were finished and saved, cancelled, already deleted by the service, or failed on their own. */
  ends?: { saved: number; cancelled: number; expired: number; failed: number };
}

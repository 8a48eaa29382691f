/** What other programs import, as types: they stand alone, so that they can be published without the rest. */
import type { Verified } from '../runner/core/verification.ts';
import type { BatchNumbers } from '../runner/core/batch-summary.ts';
import type { EndingKind } from '../runner/core/ending.ts';
import type { FailureKind } from '../runner/core/failure.ts';
import type { BatchPlan, FirstRequest } from '../runner/core/plan.ts';
import type { Event, RunEnded } from '../runner/pipeline/event.ts';
import type { ResultRow } from '../runner/report/result-json.ts';

export type { EndingKind, FailureKind, ResultRow };

/** Begins or continues a batch, as `nightrender run` does. `file`: a pipeline.yaml, or the folder with one. */
export declare function runBatch(file: string, options?: RunOptions): BatchRun;

/**
 * Reads where a batch stands, also while it runs here, in another process or, of a shared one, on another machine. `file`: a
 * pipeline.yaml, the folder with one, or the output folder of a batch.
 */
export declare function readBatch(file: string, options?: ReadOptions): Promise<BatchReading | Unreadable>;

/** Finds what the same call of `runBatch` would do, as `nightrender plan` does. Sends nothing and changes nothing, and works during a run. */
export declare function planBatch(file: string, options?: PlanRequest): Promise<PlannedBatch | Refused>;

/** Puts scenes back, as `nightrender retry` does: the next run renders them, each as a new job. Sends nothing. */
export declare function retryScenes(file: string, options?: RetryRequest): Promise<RetriedScenes | Refused>;

/** Checks every saved picture, as `nightrender verify` does; with `repair`, scenes with a bad one are put back. */
export declare function verifyBatch(file: string, options?: VerifyRequest): Promise<VerifiedBatch | Refused>;

/** Writes the saved pictures as a dataset, as `nightrender export` does. The batch is only read, also during a run. */
export declare function exportBatch(file: string, options: ExportRequest): Promise<ExportedBatch | Refused>;

/** Asks the service to cancel every job in flight, and saves what is done, as `nightrender cancel` does. */
export declare function cancelBatch(file: string, options?: CancelRequest): Promise<CancelledBatch>;

/** What the file says of these is overridden, as by the options of the same names. */
export interface ReadOptions {
  /** The output folder. */
  output?: string;
  /** `process.env` where left out: what `${VARIABLES}`, keys and `NIGHTRENDER_…` are read from, and what commands under `notify` get. */
  env?: Record<string, string | undefined>;
}

export interface RunOptions extends ReadOptions {
  /** Stops the run: nothing more is submitted or asked for, and the next run collects what is in flight. */
  signal?: AbortSignal;
  manifest?: string | string[];
  /** Jobs in flight at most. */
  concurrency?: number;
  /** Renders only so many scenes, drawn from the whole list. */
  limit?: number;
  /** Renders only such a share, above 0 and at most 1. */
  sample?: number;
  skipBadRows?: boolean;
  allowFewer?: boolean;
  acceptEdits?: 'always' | 'never';
}

export interface BatchRun {
  /** What happens, once each, until the run has ended. One reader; what it leaves for too long is dropped, and counted. */
  readonly events: AsyncIterable<BatchEvent>;
  /** Settles when all is closed. Rejects only for a bug. */
  readonly result: Promise<RunResult>;
}

/** As a line of `--json`, but files of a saved scene are named as rows name them (`images/…`). `at` is an instant in ISO 8601. */
export type BatchEvent = (Event | { type: 'events-dropped'; events: number }) & { at: string };

/** What it came to is left out where it was refused before it began, and where a failing disk or database kept it from ending in order. */
export interface RunResult extends Partial<Omit<RunEnded, 'type' | 'ending' | 'exitCode' | 'text'>> {
  kind: EndingKind;
  /** Whether the same call resumes it. */
  isResumable: boolean;
  /** One sentence. */
  text: string;
  /** Of a run that was refused: everything that is wrong with the file, the list and the options. */
  problems: Problem[];
}

export interface Problem {
  /** `pipeline.yaml:7:14`, or the name of an argument, an option or a variable. */
  where: string;
  text: string;
}

export interface BatchReading extends BatchNumbers {
  kind: 'batch';
  /** The output folder. */
  dir: string;
  /** Whether a run is at work on it. */
  isRunning: boolean;
  /** The rows of results.jsonl, as of now: the list in its order, then what is no longer in it. Throws an `Error & Unreadable` if they can no longer be read, or `chosen` is wrong. */
  rows(chosen?: RowsChosen): AsyncIterable<ResultRow>;
  /** Reads it again when no run is at work on it; rejects with the reason of `signal`. */
  wait(options?: { signal?: AbortSignal }): Promise<BatchReading | Unreadable>;
}

/** Rows that fulfil all that is given. */
export interface RowsChosen {
  states?: ResultRow['state'][];
  /** A condition as `--where` takes it, such as `score >= 0.6 and not style = 'ink'`; rows without a value that it asks for are left out. */
  where?: string;
}

export interface Unreadable {
  /** No batch has begun there; its checkpoint is damaged or lost; a disk or a database does not answer; or the file or an argument is wrong. */
  kind: 'no-batch' | 'damaged' | 'output-unwritable' | 'wrong-use';
  text: string;
  problems: Problem[];
}

/** Says that a person knows that scenes may be paid for again. */
export type Confirmation = 'paid again';

/** Nothing was done, unless `text` says so. */
export interface Refused {
  /** As in `Unreadable`; or a run, another export or another upkeep holds what is needed; or `signal` was aborted. */
  kind: Unreadable['kind'] | 'already-running' | 'interrupted';
  text: string;
  problems: Problem[];
}

export interface PlanRequest extends RunOptions {
  /** Number of first requests that are shown: 3 if left out. */
  requests?: number;
}

export interface PlannedBatch extends Omit<BatchPlan, 'requests' | 'notes'> {
  kind: 'plan';
  /** The output folder. */
  dir: string;
  requests: Omit<FirstRequest, 'before'>[];
  /** What should be known of the file and the list, in sentences. */
  warnings: string[];
  /** Why a run could not write, in a sentence; null if it could. */
  obstacle: string | null;
}

/** Choices add up, but `where` stands alone. Without any, every failed scene is meant. */
export interface RetryRequest extends ReadOptions {
  /** Failed scenes of these kinds. */
  kinds?: FailureKind[];
  /** Failed scenes of these ids. */
  ids?: string[];
  /** Failed scenes that a condition holds for. */
  where?: string;
  /** With `ids` or `where`: saved scenes, too. Pictures in a folder are kept as `<name>.former`. */
  again?: boolean;
  /** With `again`: another seed is sent from then on. */
  newSeed?: boolean;
  /** Saved scenes that lack one of `output.files`. */
  lackingFiles?: boolean;
  /** With `ids` or `where`: scenes whose job in flight is given up. */
  giveUp?: boolean;
  /** Jobs in flight at another address than `endpoint.baseUrl` are given up. */
  elsewhere?: boolean;
  /** Needed if a job of a chosen scene was paid for, or may have been: it is saved, in flight, expired or unanswered. */
  confirm?: Confirmation;
}

export interface RetriedScenes {
  kind: 'retried';
  /** Scenes that wait to be rendered again, in the order of the list, and why each was set aside, such as `job-failed` or `saved`. */
  scenes: { id: string; was: string }[];
  /** Number of jobs in flight that were given up: they may be billed. */
  givenUp: number;
  /** Number of pictures that are kept as `<name>.former`. */
  kept: number;
  /** What the condition could not judge, in sentences. */
  notes: string[];
}

export interface VerifyRequest extends ReadOptions {
  /** Ends the check early. What was repaired until then stays so. */
  signal?: AbortSignal;
  /** Pictures in a bucket are read and decoded, rather than the checksums of the store trusted. */
  deep?: boolean;
  /** Repairs a damaged checkpoint and puts scenes with missing or damaged pictures back: the next run renders and pays for them again. */
  repair?: boolean;
  /** Needed with `repair`. */
  confirm?: Confirmation;
}

export interface BadFile {
  kind: 'missing' | 'damaged';
  scene: string;
  /** `images/harbour.png`, as in rows. */
  file: string;
  /** What is wrong with the file. */
  problem: string;
}

/** Numbers of pictures that were checked, and scenes that a repair has put back. */
export interface VerifiedBatch extends Verified {
  kind: 'verified';
  /** `keptAs`: the name under which a repair has kept a damaged file. */
  bad: (BadFile & { keptAs?: string })[];
  /** Left out unless the checkpoint was repaired: submissions that are lost, and the path of the damaged file; null if it was sound. */
  checkpoint?: { lost: number; keptAs: string | null };
}

export interface ExportRequest extends ReadOptions {
  /** Ends the export early; the same call goes on. */
  signal?: AbortSignal;
  to: 'imagefolder' | 'webdataset' | 'captions' | 'parquet';
  /** Path of the folder: a new or empty one, or that of an earlier export. */
  dir: string;
  /** Scenes that a condition holds for. */
  where?: string;
  /** Scenes of these ids. */
  ids?: string[];
  /** webdataset, parquet: pictures in each file, 1000 if left out. */
  shard?: number;
  /** captions, webdataset: text of each picture, such as `{{ prompt }}, {{ style }}`; its prompt if left out. */
  caption?: string;
  /** A copy of `output.formats` instead of the PNG: `webp`, `512.jpg`. */
  copy?: string;
  /** imagefolder, captions: hard links if the disk allows them. */
  link?: boolean;
}

export interface ExportedBatch {
  kind: 'exported';
  /** The folder, absolute. */
  dir: string;
  /** Pictures in it, how many of them this call has written, and their bytes. */
  pictures: number;
  written: number;
  bytes: number;
  /** Saved pictures that are missing or damaged, and not in it. */
  bad: BadFile[];
  /** Number of chosen scenes without a picture, by state: missing.jsonl in the folder lists them. */
  missing: Partial<Record<ResultRow['state'], number>>;
  /** What could not be judged, found or removed, in sentences. */
  notes: string[];
}

export interface CancelRequest extends ReadOptions {
  /** Ends it early: jobs that are not cancelled then stay in flight. */
  signal?: AbortSignal;
}

/** What became of the jobs is left out if it was refused before it began, or a disk or database failed. */
export interface CancelledBatch {
  /** `complete`: nothing is in flight. `incomplete`: some jobs are. */
  kind: EndingKind;
  isResumable: boolean;
  /** One sentence. */
  text: string;
  problems: Problem[];
  /** Number of jobs that were in flight. */
  found?: number;
  /** Jobs that still are, and why. */
  left?: { scene: string; jobId: string; why: string }[];
  /** Number of submissions of crashed runs that may have been sent: their jobs are unknown and cannot be cancelled. */
  unanswered?: number;
  /** Warnings on the way, such as that a bucket did not answer. */
  notes?: string[];
  /** Number of jobs that were saved as they were done already, that were cancelled, that the service has deleted, and that failed on their own. */
  ends?: { saved: number; cancelled: number; expired: number; failed: number };
}

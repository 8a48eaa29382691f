/** What other programs import, as types: they stand alone, so that they can be published without the rest. */
import type { BatchNumbers } from '../runner/core/batch-summary.ts';
import type { EndingKind } from '../runner/core/ending.ts';
import type { Event, RunEnded } from '../runner/pipeline/event.ts';
import type { ResultRow } from '../runner/report/result-json.ts';

export type { EndingKind, ResultRow };

/** Begins or continues a batch, as `nightrender run` does. `file`: a pipeline.yaml, or the folder with one. */
export declare function runBatch(file: string, options?: RunOptions): BatchRun;

/** Reads where a batch stands, also while it runs here, in another process or, of a shared one, on another machine. */
export declare function readBatch(file: string, options?: ReadOptions): Promise<BatchReading | Unreadable>;

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

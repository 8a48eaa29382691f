/** What reading a manifest gives, and the limits that it is read within. */
import type { SentFile } from '../core/file-text.ts';
import type { JsonObject } from '../../lib/text/json.ts';

/**
 * A row as read; `line` is where it starts, 1-based, and in Parquet, which has no lines, the number of the row. CSV, TSV
 * and text give strings, JSON and Parquet their own types.
 */
export interface ManifestRow {
  kind: 'row';
  columns: JsonObject;
  line: number;
  /** Where it comes from, for people, unless that is its line of the file. */
  source?: string;
  /** A file that may be sent wherever it lies, as it is on record elsewhere. */
  picture?: SentFile;
}

/** A row that cannot be read, with the reason in words that follow the place: "is not valid UTF-8". */
export interface BadManifestRow {
  kind: 'bad';
  line: number;
  problem: string;
  /** The row's id where it could be read. */
  id?: string;
  /** A quote was opened and not closed for as long as a row may be: how to read what follows is a guess. */
  isOpen?: true;
}

export type ManifestEntry = ManifestRow | BadManifestRow;

/** What separates values. With tabs a quote out of place is text: most programs write TSV without quoting. */
export type Delimiter = ',' | ';' | '\t';

export interface Manifest {
  /** As given, for messages; `-` is shown as `standard input`. */
  path: string;
  /** Those of a header or a schema, `['prompt']` for plain text; undefined for JSON, where each row has its own. */
  columns: string[] | undefined;
  /**
   * Every row in the order of the file, good or bad, in arrays of up to `maxBatchRows`; can be read once.
   * Throws `ManifestError` where the file turns out to be unreadable further down.
   */
  batches: AsyncIterable<ManifestEntry[]>;
  /** True if the first row of CSV or TSV seems to be no header. */
  isHeaderless?: boolean;
  /** What separates the values of CSV and TSV. */
  delimiter?: Delimiter;
  /** What a person should know of the list, in sentences; complete once its rows are read. */
  notes: string[];
}

/** Lets go of the file of a manifest whose rows nobody wants: only a reading that has begun can be ended. */
export async function leaveUnread({ batches }: Manifest): Promise<void> {
  const rows = batches[Symbol.asyncIterator]();
  await rows.next();
  await rows.return?.();
}

/** A manifest that cannot be read at all; the message names the file and, where known, the line. */
export class ManifestError extends Error {
  constructor(path: string, problem: string, line?: number) {
    super(line === undefined ? `${path}: ${problem}` : `${path}:${line}: ${problem}`);
  }
}

/** The longest row, in bytes: what a quote left open or a file without line breaks can cost in memory. */
export const maxRowBytes = 1024 * 1024;

/** One await a row costs too much at a million rows. */
export const maxBatchRows = 1000;

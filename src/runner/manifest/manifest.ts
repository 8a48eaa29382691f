/** The result of reading a manifest, the limits for reading, and comments in lists. */
import type { JsonObject } from '../../lib/text/json.ts';
import type { SentFile } from '../core/file-text.ts';

/** A row as read. `line`: where it starts, from 1; for Parquet, its number. Only JSON and Parquet have types. */
export interface ManifestRow {
  kind: 'row';
  columns: JsonObject;
  line: number;
  /** Human-readable place of the row, if it is not a line of the file. */
  source?: string;
  /** A file that may be sent from any folder, because another batch has recorded it. */
  picture?: SentFile;
}

/** A row that cannot be read. `problem` follows its place: "is not valid UTF-8". */
interface BadManifestRow {
  kind: 'bad';
  line: number;
  problem: string;
  /** Id of the row, if it is readable. */
  id?: string;
  /** A quotation mark was not closed within the longest allowed row, so what follows cannot be read reliably. */
  isOpen?: true;
}

export type ManifestEntry = ManifestRow | BadManifestRow;

/** Separator of values. With tabs, a misplaced quotation mark is text: most write TSV without quoting. */
export type Delimiter = ',' | ';' | '\t';

export interface Manifest {
  /** Path as given, for messages; standard input is called `standard input`. */
  path: string;
  /** Columns of the header or schema, `['prompt']` for plain text. Undefined for JSON, where each row has its own. */
  columns: string[] | undefined;
  /** All rows in order, in arrays of up to `maxBatchRows`, once. Throws `ManifestError` if unreadable later. */
  batches: AsyncIterable<ManifestEntry[]>;
  /** True if the first row of CSV or TSV does not look like a header. */
  isHeaderless?: boolean;
  delimiter?: Delimiter;
  /** Notes on the list for a person, as sentences. Complete once all rows are read. */
  notes: string[];
}

/** Closes a manifest whose rows are not needed. A reading can be ended only after it has begun. */
export async function leaveUnread({ batches }: Manifest): Promise<void> {
  const rows = batches[Symbol.asyncIterator]();
  await rows.next();
  await rows.return?.();
}

/** Thrown if a manifest cannot be read at all. The message names the file and, if known, the line. */
export class ManifestError extends Error {
  constructor(path: string, problem: string, line?: number) {
    super(line === undefined ? `${path}: ${problem}` : `${path}:${line}: ${problem}`);
  }
}

/** Maximum bytes of a row. Limits the memory that an open quotation mark or a file without line breaks needs. */
export const maxRowBytes = 1024 * 1024;

/** Maximum rows per batch. At a million rows, an `await` for each would take too long. */
export const maxBatchRows = 1000;

/** True if the line begins with `comments` and white space follows. `#hashtag` and `#️⃣` are prompts. */
export function isComment(line: string, comments: string | undefined): boolean {
  return comments !== undefined && line.startsWith(comments) && /^\s?$/.test(line.charAt(comments.length));
}

/** True if a line that is read as a row was probably meant as a comment. */
export function seemsComment(line: string): boolean {
  return line.startsWith('# ');
}

const maxShown = 3;

/** Describes lines that look like comments and are read as rows. Empty if there is none. */
export function commentNotes(lines: number[]): string[] {
  if (lines.length === 0) return [];
  const count = lines.length === 1 ? '1 line begins' : `${lines.length.toLocaleString('en')} lines begin`;
  const shown = lines.slice(0, maxShown).map((line) => `line ${line}`);
  const where = [...shown, ...(lines.length > maxShown ? ['…'] : [])].join(', ');
  return [
    `${count} with "# " (${where}), read like any other line; comments: '#' in pipeline.yaml leaves such lines out`,
  ];
}

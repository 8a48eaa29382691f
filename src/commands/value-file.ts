/** The values of an axis out of a file: a line each, or a column of a table. */
import { createHash } from 'node:crypto';
import { didYouMean } from '../lib/text/closest.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import { listed } from '../runner/config/template.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { maxValues } from '../lib/text/range.ts';
import {
  leaveUnread,
  openManifest,
  type Manifest,
  type ManifestEntry,
} from '../runner/manifest/read-manifest.ts';

export interface FileValue {
  value: JsonValue;
  /** `styles.txt:7` */
  where: string;
  /** What is wrong with it, in words that follow the place. */
  problem?: string;
}

/** What is wrong with the file as a whole, or with the `column` that is asked for. */
export class ValueFileError extends Error {
  readonly key: 'file' | 'column';

  constructor(key: 'file' | 'column', message: string) {
    super(message);
    this.key = key;
  }
}

/** `content`: the sha256 of the file's bytes. Throws `ValueFileError`, `ManifestError` and the `AbortError` of `signal`. */
export async function readValueFile(
  path: string,
  column: string | undefined,
  signal: AbortSignal,
): Promise<{ values: FileValue[]; content: string }> {
  const bytes = createHash('sha256');
  const manifest = await openManifest(shownFile(path), {
    signal,
    onBytes: (chunk) => void bytes.update(chunk),
  });
  const name = columnOf(manifest, column);
  if (name instanceof ValueFileError) {
    await leaveUnread(manifest);
    throw name;
  }
  const values: FileValue[] = [];
  for await (const entries of manifest.batches) {
    if (values.length + entries.length > maxValues)
      throw new ValueFileError('file', `${manifest.path} has more than ${maxValues} values; ${tooLong}`);
    for (const entry of entries) values.push(valueOf(entry, name, manifest.path));
  }
  if (values.length === 0) throw new ValueFileError('file', `${manifest.path} has no value in it`);
  return { values, content: bytes.digest('hex') };
}

const tooLong = 'put a longer list into the manifest';

function columnOf({ path, columns }: Manifest, wanted: string | undefined): string | ValueFileError {
  const [only, ...others] = columns ?? [];
  if (wanted === undefined) {
    if (only !== undefined && others.length === 0) return only;
    const there = columns === undefined ? '' : `; it has ${listed(columns)}`;
    return new ValueFileError(
      'column',
      `which column of ${path} holds the values? Expected column: name${there}`,
    );
  }
  if (columns === undefined || columns.includes(wanted)) return wanted;
  const hint = didYouMean(wanted, columns) ?? `it has ${listed(columns)}`;
  return new ValueFileError('column', `${path} has no column ${JSON.stringify(wanted)}; ${hint}`);
}

function valueOf(entry: ManifestEntry, column: string, path: string): FileValue {
  const where = `${path}:${entry.line}`;
  if (entry.kind === 'bad') return { value: null, where, problem: entry.problem };
  const given = Object.hasOwn(entry.columns, column) ? entry.columns[column] : undefined;
  const value = typeof given === 'string' ? given.trim() : given;
  if (value !== undefined && value !== null && value !== '') return { value, where };
  return { value: null, where, problem: `the value of ${column} is empty` };
}

/** Converts columns and values of Parquet to JSON, exactly or not at all. */
import { isUtf8 } from 'node:buffer';
import type { ParquetParsers } from 'hyparquet';
import { whyNotKept, isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { maxRowBytes, type ManifestEntry } from './manifest.ts';
import { idOf } from './read-json.ts';

/** A value that JSON cannot represent. `problem` follows the name of the column. */
class Unfit {
  readonly problem: string;

  constructor(problem: string) {
    this.problem = problem;
  }
}

/** Parsers of texts, dates and JSON. A problem in a row affects only that row. */
export const parsers: Partial<ParquetParsers> = {
  stringFromBytes: (bytes: Uint8Array | undefined) => bytes && textOf(bytes),
  jsonFromBytes: (bytes: Uint8Array | undefined) => bytes && parsedJson(textOf(bytes)),
  dateFromDays: (days: number) => dayOf(isoText(BigInt(days) * 86_400_000n)),
  timestampFromMilliseconds: (at: bigint) => isoText(at),
  timestampFromMicroseconds: (at: bigint) => finer(at, 1_000n),
  timestampFromNanoseconds: (at: bigint) => finer(at, 1_000_000n),
};

/** Builds a row from one value per column. `number`: of the row, 1-based. */
export function readRow(columns: ParquetColumn[], values: unknown[], number: number): ManifestEntry {
  const row: JsonObject = {};
  const size = { bytes: 0 };
  const problems: string[] = [];
  for (const [index, { name, scale }] of columns.entries()) {
    const value = jsonOf(values[index], size);
    if (value instanceof Unfit) problems.push(`the column ${JSON.stringify(name)} ${value.problem}`);
    else row[name] = scale !== undefined && typeof value === 'number' ? Number(value.toFixed(scale)) : value;
  }
  if (size.bytes > maxRowBytes) problems.push('is longer than 1 MiB');
  if (problems.length === 0) return { kind: 'row', columns: row, line: number };
  return { kind: 'bad', line: number, problem: problems.join('; '), ...idOf(row) };
}

function jsonOf(value: unknown, size: { bytes: number }): JsonValue | Unfit {
  if (value === null || value === undefined) return null;
  size.bytes += typeof value === 'string' ? Buffer.byteLength(value) : 8;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return wholeNumber(value);
  if (typeof value !== 'number') return composed(value, size);
  return Number.isFinite(value) ? value : new Unfit(`holds ${value}, which JSON cannot represent`);
}

function composed(value: unknown, size: { bytes: number }): JsonValue | Unfit {
  if (value instanceof Unfit) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => jsonOf(item, size));
    const unfit = items.find((item) => item instanceof Unfit);
    return unfit ?? (items as JsonValue[]);
  }
  if (!isJsonObject(value) || ArrayBuffer.isView(value))
    throw new Error('a value of a type that was not let in');
  const entries: [string, JsonValue][] = [];
  for (const [key, inner] of Object.entries(value)) {
    const read = jsonOf(inner, size);
    if (read instanceof Unfit) return read;
    size.bytes += key.length;
    entries.push([key, read]);
  }
  // Assigning the key __proto__ would lose it.
  return Object.fromEntries(entries);
}

function wholeNumber(value: bigint): number | Unfit {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  return new Unfit(`holds ${value}, which would lose digits; write the column as text`);
}

function textOf(bytes: Uint8Array): string | Unfit {
  return isUtf8(bytes) ? Buffer.from(bytes).toString() : new Unfit('is not valid UTF-8');
}

function parsedJson(text: string | Unfit): unknown {
  if (text instanceof Unfit) return text;
  try {
    const value: unknown = JSON.parse(text);
    const problem = whyNotKept(text);
    return problem === undefined ? value : new Unfit(problem);
  } catch (error) {
    return new Unfit(`is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function isoText(ms: bigint): string | Unfit {
  const date = new Date(Number(ms));
  return Number.isNaN(date.getTime()) ? new Unfit('holds a date out of range') : date.toISOString();
}

function dayOf(text: string | Unfit): string | Unfit {
  return text instanceof Unfit ? text : text.replace(/T.*/, '');
}

/** Returns a time in UTC from a finer unit, without losing digits. */
function finer(at: bigint, perMs: bigint): string | Unfit {
  const rest = ((at % perMs) + perMs) % perMs;
  const text = isoText((at - rest) / perMs);
  if (text instanceof Unfit || rest === 0n) return text;
  const digits = String(rest).padStart(String(perMs).length - 1, '0');
  return text.replace('Z', `${digits}Z`);
}

export interface ParquetColumn {
  name: string;
  /** Digits after the decimal point, if the values are decimals. */
  scale: number | undefined;
  /** True for lists and structs, for which even a few rows unpack the whole row group. */
  isNested: boolean;
}

/** A table of pictures as Parquet, the same bytes on every machine: its compression is the writer's own. */
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { JsonValue } from '../../lib/text/json.ts';
import type { ExportedPicture } from './exported-picture.ts';

const ownColumns = [
  ['path', 'STRING', ({ path }) => path],
  ['sha256', 'STRING', ({ sha256 }) => sha256],
  ['bytes', 'INT64', ({ bytes }) => BigInt(bytes)],
  ['width', 'INT32', ({ width }) => width],
  ['height', 'INT32', ({ height }) => height],
  ['id', 'STRING', ({ id }) => id],
  ['prompt', 'STRING', ({ prompt }) => prompt],
  ['columns', 'JSON', ({ columns }) => columns],
  ['values', 'JSON', ({ values }) => values],
  ['seed', 'STRING', ({ seed }) => seed],
  ['endpoint', 'STRING', ({ endpoint }) => endpoint],
  ['attempts', 'INT32', ({ attempts }) => attempts],
  ['cost', 'DOUBLE', ({ cost }) => cost],
] as const satisfies [string, string, (picture: ExportedPicture) => JsonValue | bigint][];

/** `numeric`: the columns and values that are numbers in all pictures, and get a column of their own in each part. */
export function parquetPart(pictures: readonly ExportedPicture[], numeric: readonly string[]): Uint8Array {
  const own = ownColumns.map(([name, type, valueOf]) => ({
    name,
    type,
    nullable: name === 'seed' || name === 'endpoint' || name === 'cost',
    data: pictures.map((picture): JsonValue | bigint => valueOf(picture)),
  }));
  const numbers = numeric.map((name) => ({
    name: takenNames.has(name.toLowerCase()) ? `manifest.${name}` : name,
    type: 'DOUBLE' as const,
    nullable: true,
    data: pictures.map((picture) => numberIn(picture, name)),
  }));
  return new Uint8Array(
    parquetWriteBuffer({ columnData: [...own, ...numbers], codec: 'SNAPPY', createdBy: 'nightrender' }),
  );
}

const takenNames = new Set<string>(ownColumns.map(([name]) => name));

/** Null where a run has changed it meanwhile. */
function numberIn({ columns, values }: ExportedPicture, name: string): number | null {
  const value = Object.hasOwn(values, name) ? values[name] : columns[name];
  return typeof value === 'number' ? value : null;
}

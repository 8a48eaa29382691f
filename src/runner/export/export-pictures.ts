/** Writes the saved pictures of a batch as files that other programs take: what is whole already stays as it is. */
import { createHash } from 'node:crypto';
import type { ExportFolder, ExportKind } from './export-folder.ts';
import {
  type ExportedPicture,
  type ExportPorts,
  groupsOf,
  readChecked,
  recordOf,
  writePictureFolder,
} from './picture-folder.ts';
import type { UnfinishedFile } from '../files/folders.ts';
import { ByteWriter, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import type { JsonValue } from '../../lib/text/json.ts';
import { seedNumberColumn } from '../core/expansion.ts';

export interface ExportChoice {
  shard: number;
  /** Further input that the bytes of a shard depend on. */
  salt: string;
  /** Columns of Parquet that are numbers in all pictures. */
  numeric: NumericColumn[];
  /** True if Parquet contains the pictures. */
  isEmbedded: boolean;
  /** Maximum size of one metadata.jsonl in bytes. */
  maxMetadataBytes?: number;
}

export interface NumericColumn {
  name: string;
  /** True if every number is an integer that JSON represents exactly. */
  isInteger: boolean;
}

/** Exports pictures into the folder. Files that are no longer part of the export stay until `finish`. */
export async function exportPictures(
  folder: ExportFolder,
  to: ExportKind,
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
  choice: ExportChoice,
): Promise<void> {
  switch (to) {
    case 'imagefolder':
    case 'captions':
    case 'gallery':
      return writePictureFolder(folder, to, pictures, ports, choice.maxMetadataBytes);
    case 'webdataset':
      return writeShards(folder, pictures, ports, choice, tarShard);
    case 'parquet':
      return writeShards(folder, pictures, ports, choice, tablePart(choice));
  }
}

/** Form of a shard: one file, or several that are written together. The first file gives the shard its name. */
interface ShardForm {
  files: (number: string) => [string, ...string[]];
  /** Writes the files. Returns true if they contain all pictures. */
  write: (
    folder: ExportFolder,
    files: readonly string[],
    pictures: ExportedPicture[],
    first: number,
    ports: ExportPorts,
  ) => Promise<boolean>;
}

async function writeShards(
  folder: ExportFolder,
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
  { shard, salt, numeric, isEmbedded }: ExportChoice,
  form: ShardForm,
): Promise<void> {
  let index = 0;
  for (const group of groupsOf(pictures, shard)) {
    const files = form.files(String(index).padStart(5, '0'));
    const digest = digestOf(group, JSON.stringify([salt, numeric, isEmbedded]));
    if (folder.holds(files[0], digest)) ports.onDone(group.length, 0, 0);
    else {
      folder.begin(files);
      const isWhole = await form.write(folder, files, group, index * shard, ports);
      await folder.recordShard(files[0], isWhole ? digest : undefined, files);
    }
    for (const file of files) folder.keep(file);
    index += 1;
  }
}

function digestOf(pictures: ExportedPicture[], salt: string): string {
  const digest = createHash('sha256').update(salt);
  for (const picture of pictures) digest.update(`${JSON.stringify(picture)}\n`);
  return digest.digest('hex');
}

const tarShard: ShardForm = {
  files: (number) => [`${number}.tar`, `${number}_stats.json`],
  write: async (folder, [tar = '', stats = ''], pictures, first, ports) => {
    const { count, bytes } = await folder.writeInPieces(tar, (file) =>
      writeTar(file, pictures, first, ports),
    );
    const leftOut = pictures.length - count;
    await folder.write(stats, `${JSON.stringify({ count, bytes, left_out: leftOut })}\n`);
    ports.onDone(count, count, bytes);
    return leftOut === 0;
  },
};

interface ShardContent {
  count: number;
  bytes: number;
}

/** Writes a tar file, equal on every machine. `first`: number of its first picture in the export. Keys have no dot. */
async function writeTar(
  file: UnfinishedFile,
  pictures: readonly ExportedPicture[],
  first: number,
  ports: ExportPorts,
): Promise<ShardContent> {
  const numbers = new Map(pictures.map((picture, index) => [picture, first + index]));
  const written = { count: 0, bytes: 0 };
  for await (const { picture, content } of readChecked(pictures, ports)) {
    const key = String(numbers.get(picture)).padStart(9, '0');
    const metadata = { file_name: picture.name, ...recordOf(picture) };
    await file.write(
      Buffer.concat([
        ...tarEntry(`${key}${/\.\w+$/.exec(picture.name)?.[0] ?? ''}`, content),
        ...tarEntry(`${key}.json`, Buffer.from(JSON.stringify(metadata))),
        ...tarEntry(`${key}.txt`, Buffer.from(picture.caption)),
      ]),
    );
    written.count += 1;
    written.bytes += content.length;
  }
  await file.write(Buffer.alloc(2 * tarBlockBytes));
  return written;
}

const tarBlockBytes = 512;

/** Returns the blocks of a file in ustar format. Names are far shorter than the 100 bytes that fit. */
function tarEntry(name: string, content: Buffer): Buffer[] {
  const header = Buffer.alloc(tarBlockBytes);
  const fields: [offset: number, text: string][] = [
    [0, name],
    [100, octal(0o644, 8)],
    [108, octal(0, 8)],
    [116, octal(0, 8)],
    [124, octal(content.length, 12)],
    [136, octal(0, 12)],
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\u000000'],
    [329, octal(0, 8)],
    [337, octal(0, 8)],
  ];
  for (const [offset, text] of fields) header.write(text, offset, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 7)}\u0000 `, 148, 'latin1');
  return [header, content, Buffer.alloc((tarBlockBytes - (content.length % tarBlockBytes)) % tarBlockBytes)];
}

/** Returns an octal number for a field of `bytes` bytes, without the zero byte that ends the field. */
function octal(value: number, bytes: number): string {
  return value.toString(8).padStart(bytes - 1, '0');
}

function tablePart(choice: TableChoice): ShardForm {
  return {
    files: (number) => [`part-${number}.parquet`],
    write: async (folder, [file = ''], pictures, _, ports) => {
      const { count, bytes } = await folder.writeInPieces(file, (part) =>
        writeTable(part, pictures, choice, ports),
      );
      ports.onDone(count, count, bytes);
      return count === pictures.length;
    },
  };
}

type TableChoice = Pick<ExportChoice, 'numeric' | 'isEmbedded'>;

/** `content` is undefined if the table does not contain the pictures. */
type Filled = { picture: ExportedPicture; content?: Buffer };

/** Maximum size of a row group with pictures, which is in memory several times. Readers load a row group at once. */
const maxGroupRows = 100;
const maxGroupBytes = 64_000_000;

/** Writes a Parquet table, equal on every machine. A picture that it should contain and that is not intact is left out. */
async function writeTable(
  file: UnfinishedFile,
  pictures: readonly ExportedPicture[],
  choice: TableChoice,
  ports: ExportPorts,
): Promise<ShardContent> {
  const columns = tableColumns(choice);
  const schema = schemaFromColumnData({ columnData: columns.map((column) => ({ ...column, data: [] })) });
  const [root] = schema;
  if (choice.isEmbedded && root !== undefined)
    schema.splice(0, 1, { ...root, num_children: columns.length + 1 }, ...imageSchema);
  const writer = new ByteWriter();
  const table = new ParquetWriter({
    writer,
    schema,
    createdBy: 'nightrender',
    ...(choice.isEmbedded && { kvMetadata: [imageFeature] }),
  });
  const written = { count: 0, bytes: 0 };
  const flush = async (): Promise<void> => {
    await file.write(writer.getBytes());
    written.bytes += writer.index;
    writer.index = 0;
  };
  const groups = choice.isEmbedded ? rowGroups(pictures, ports) : [pictures.map((picture) => ({ picture }))];
  for await (const rows of groups) {
    const data = columns.map(({ name, valueOf }) => ({
      name,
      data: rows.map(({ picture }) => valueOf(picture)),
    }));
    await table.write({ columnData: choice.isEmbedded ? [imageColumn(rows), ...data] : data });
    await flush();
    written.count += rows.length;
  }
  await table.finish();
  await flush();
  return written;
}

async function* rowGroups(
  pictures: readonly ExportedPicture[],
  ports: ExportPorts,
): AsyncGenerator<Filled[]> {
  let rows: Filled[] = [];
  let bytes = 0;
  for await (const row of readChecked(pictures, ports)) {
    const isFull = rows.length === maxGroupRows || bytes + row.content.length > maxGroupBytes;
    if (rows.length > 0 && isFull) {
      yield rows;
      [rows, bytes] = [[], 0];
    }
    rows.push(row);
    bytes += row.content.length;
  }
  if (rows.length > 0) yield rows;
}

/**
 * The column `image` in the form of the `Image` feature of Hugging Face's `datasets`: a struct of bytes and path.
 * The library recognizes it only if all three are nullable.
 */
const imageSchema: ReturnType<typeof schemaFromColumnData> = [
  { name: 'image', repetition_type: 'OPTIONAL', num_children: 2 },
  { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
  { name: 'path', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
];

/** Schema metadata that `datasets` reads. Without it, `image` is a struct and no picture. */
const imageFeature = {
  key: 'huggingface',
  value: JSON.stringify({ info: { features: { image: { _type: 'Image' } } } }),
};

/** Pictures are compressed already, and no two are equal. */
function imageColumn(rows: readonly Filled[]) {
  const data = rows.map(({ picture, content }) => ({ bytes: content, path: picture.name }));
  return { name: 'image', data, encoding: 'PLAIN', codec: 'UNCOMPRESSED', statistics: false } as const;
}

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

interface TableColumn {
  name: string;
  type: 'STRING' | 'JSON' | 'INT32' | 'INT64' | 'DOUBLE';
  nullable: boolean;
  valueOf: (picture: ExportedPicture) => JsonValue | bigint;
}

function tableColumns({ numeric, isEmbedded }: TableChoice): TableColumn[] {
  const own = ownColumns.map(([name, type, valueOf]) => ({
    name,
    type,
    nullable: name === 'seed' || name === 'endpoint' || name === 'cost',
    valueOf,
  }));
  const taken = new Set<string>([...own.map(({ name }) => name), ...(isEmbedded ? ['image'] : [])]);
  const numbers = numeric.map(({ name, isInteger }): TableColumn => {
    // The number of a seed counts. Other numbers may have fractions in another batch.
    const isCount = isInteger && name === seedNumberColumn;
    return {
      name: taken.has(name.toLowerCase()) ? `manifest.${name}` : name,
      type: isCount ? 'INT64' : 'DOUBLE',
      nullable: true,
      valueOf: (picture) => {
        const value = numberIn(picture, name);
        if (!isCount || value === null) return value;
        return Number.isSafeInteger(value) ? BigInt(value) : null;
      },
    };
  });
  return [...own, ...numbers];
}

/** Returns the number; null if there is none, for example because a run changed the value meanwhile. */
function numberIn({ columns, values }: ExportedPicture, name: string): number | null {
  const value = Object.hasOwn(values, name) ? values[name] : columns[name];
  return typeof value === 'number' ? value : null;
}

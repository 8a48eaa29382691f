/** Writes the saved pictures and clips of a batch as files that other programs take: what is whole already stays as it is. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { ExportFolder, ExportKind } from './export-folder.ts';
import {
  type CheckedContent,
  type ExportedPicture,
  type ExportPorts,
  groupsOf,
  type Medium,
  piecesOf,
  readChecked,
  recordOf,
} from './checked-pictures.ts';
import { writePictureFolder } from './picture-folder.ts';
import type { UnfinishedFile } from '../files/folders.ts';
import { ByteWriter, ParquetWriter, schemaFromColumnData } from 'hyparquet-writer';
import type { JsonValue } from '../../lib/text/json.ts';
import { type ClipColumn, clipColumnNames } from '../core/clip.ts';
import { seedNumberColumn } from '../core/expansion.ts';

export interface ExportChoice {
  /** Maximum number of pictures in a shard. */
  shard: number;
  /** Maximum size in bytes of the pictures in a shard that contains them. A single picture may be larger. */
  maxShardBytes?: number;
  /** Further input that the bytes of a shard depend on. */
  salt: string;
  /** Columns of Parquet that are numbers in all pictures. */
  numeric: NumericColumn[];
  /** True if Parquet contains the pictures. */
  isEmbedded: boolean;
  /** Media of all pictures, which Parquet has columns for. Empty for the other kinds of export. */
  media: ReadonlySet<Medium>;
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

/** Size at which a shard ends, also with fewer pictures than asked for: that of webdataset's ShardWriter (`maxsize`). */
const usualShardBytes = 3e9;

/** Form of a shard: one file, or several that are written together. The first file gives the shard its name. */
interface ShardForm {
  /** True if the files contain the pictures themselves. */
  hasContent: boolean;
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
  { shard, maxShardBytes = usualShardBytes, salt, numeric, isEmbedded, media }: ExportChoice,
  form: ShardForm,
): Promise<void> {
  let index = 0;
  let before = 0;
  const maxBytes = form.hasContent ? maxShardBytes : Infinity;
  for (const group of groupsOf(pictures, shard, maxBytes)) {
    const files = form.files(String(index).padStart(5, '0'));
    const others = [...media].filter((each) => each !== 'image').toSorted();
    const digest = digestOf(group, JSON.stringify([salt, numeric, isEmbedded, ...others]));
    if (folder.has(files[0], digest)) ports.onDone(group.length, 0, 0);
    else {
      folder.begin(files);
      const isWhole = await form.write(folder, files, group, before, ports);
      await folder.recordShard(files[0], isWhole ? digest : undefined, files);
    }
    for (const file of files) folder.keep(file);
    index += 1;
    before += group.length;
  }
}

function digestOf(pictures: ExportedPicture[], salt: string): string {
  const digest = createHash('sha256').update(salt);
  for (const picture of pictures) digest.update(`${JSON.stringify(picture)}\n`);
  return digest.digest('hex');
}

const tarShard: ShardForm = {
  hasContent: true,
  files: (number) => [`${number}.tar`, `${number}_stats.json`],
  write: async (folder, [tar = '', stats = ''], pictures, first, ports) => {
    const { count, bytes } = await folder.writeInPieces(tar, (file) =>
      writeTar(file, pictures, first, folder, ports),
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
  folder: ExportFolder,
  ports: ExportPorts,
): Promise<ShardContent> {
  const numbers = new Map(pictures.map((picture, index) => [picture, first + index]));
  const written = { count: 0, bytes: 0 };
  for await (const { picture, content } of readChecked(pictures, folder, ports)) {
    const key = String(numbers.get(picture)).padStart(9, '0');
    const metadata = { file_name: picture.name, ...recordOf(picture) };
    const name = `${key}${/\.\w+$/.exec(picture.name)?.[0] ?? ''}`;
    const texts = [
      ...tarEntry(`${key}.json`, Buffer.from(JSON.stringify(metadata))),
      ...tarEntry(`${key}.txt`, Buffer.from(picture.caption)),
    ];
    if (Buffer.isBuffer(content)) await file.write(Buffer.concat([...tarEntry(name, content), ...texts]));
    else {
      await file.write(tarHeader(name, content.length));
      await writeFileInto(file, content);
      await file.write(Buffer.concat([tarPadding(content.length), ...texts]));
    }
    written.count += 1;
    written.bytes += content.length;
  }
  await file.write(Buffer.alloc(2 * tarBlockBytes));
  return written;
}

const tarBlockBytes = 512;

/** Copies a file. Throws if its size is not the expected one any longer. */
async function writeFileInto(
  file: UnfinishedFile,
  { path, length }: Exclude<CheckedContent, Buffer>,
): Promise<void> {
  let left = length;
  for await (const piece of piecesOf(path)) {
    left -= piece.length;
    await file.write(piece);
  }
  if (left !== 0) throw new Error(`${path} changed while it was exported; give the same command again`);
}

/** Returns the blocks of a file. */
function tarEntry(name: string, content: Buffer): Buffer[] {
  return [tarHeader(name, content.length), content, tarPadding(content.length)];
}

function tarPadding(bytes: number): Buffer {
  return Buffer.alloc((tarBlockBytes - (bytes % tarBlockBytes)) % tarBlockBytes);
}

/** Maximum size of a file whose size fits into the octal digits of its header. */
const maxOctalBytes = 8 ** 11 - 1;

/** Returns the header of a file in ustar format. Names are far shorter than the 100 bytes that fit. */
function tarHeader(name: string, bytes: number): Buffer {
  const header = Buffer.alloc(tarBlockBytes);
  const fields: [offset: number, text: string][] = [
    [0, name],
    [100, octal(0o644, 8)],
    [108, octal(0, 8)],
    [116, octal(0, 8)],
    [124, bytes > maxOctalBytes ? '' : octal(bytes, 12)],
    [136, octal(0, 12)],
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\u000000'],
    [329, octal(0, 8)],
    [337, octal(0, 8)],
  ];
  for (const [offset, text] of fields) header.write(text, offset, 'latin1');
  // A larger size is a binary number, as GNU tar, Python and libarchive read it. Its first bit is 1.
  if (bytes > maxOctalBytes) {
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(bytes), 128);
  }
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 7)}\u0000 `, 148, 'latin1');
  return header;
}

/** Returns an octal number for a field of `bytes` bytes, without the zero byte that ends the field. */
function octal(value: number, bytes: number): string {
  return value.toString(8).padStart(bytes - 1, '0');
}

function tablePart(choice: TableChoice): ShardForm {
  return {
    hasContent: choice.isEmbedded,
    files: (number) => [`part-${number}.parquet`],
    write: async (folder, [file = ''], pictures, _, ports) => {
      const { count, bytes } = await folder.writeInPieces(file, (part) =>
        writeTable(part, pictures, choice, folder, ports),
      );
      ports.onDone(count, count, bytes);
      return count === pictures.length;
    },
  };
}

type TableChoice = Pick<ExportChoice, 'numeric' | 'isEmbedded' | 'media'>;

/** `content` is undefined if the table does not contain the pictures. */
type Filled = { picture: ExportedPicture; content?: Buffer };

/** Maximum size of a row group with pictures, which is in memory several times. Readers load a row group at once. */
const maxGroupRows = 100;
const maxGroupBytes = 64_000_000;

/** Maximum size of a picture or clip in a table. A reader loads it with its whole row group. */
export const maxEmbeddedBytes = 256_000_000;

/** Writes a Parquet table, equal on every machine. A picture that it should contain and that is not intact is left out. */
async function writeTable(
  file: UnfinishedFile,
  pictures: readonly ExportedPicture[],
  choice: TableChoice,
  folder: ExportFolder,
  ports: ExportPorts,
): Promise<ShardContent> {
  const columns = tableColumns(choice);
  const embedded = embeddedColumn(choice);
  const schema = schemaFromColumnData({ columnData: columns.map((column) => ({ ...column, data: [] })) });
  const [root] = schema;
  if (choice.isEmbedded && root !== undefined)
    schema.splice(0, 1, { ...root, num_children: columns.length + 1 }, ...fileSchema(embedded));
  const writer = new ByteWriter();
  const table = new ParquetWriter({
    writer,
    schema,
    createdBy: 'nightrender',
    ...(choice.isEmbedded && { kvMetadata: featureOf(embedded) }),
  });
  const written = { count: 0, bytes: 0 };
  const flush = async (): Promise<void> => {
    await file.write(writer.getBytes());
    written.bytes += writer.index;
    writer.index = 0;
  };
  const groups = choice.isEmbedded
    ? rowGroups(pictures, folder, ports)
    : [pictures.map((picture) => ({ picture }))];
  for await (const rows of groups) {
    const data = columns.map(({ name, valueOf }) => ({
      name,
      data: rows.map(({ picture }) => valueOf(picture)),
    }));
    await table.write({ columnData: choice.isEmbedded ? [fileColumn(embedded, rows), ...data] : data });
    await flush();
    written.count += rows.length;
  }
  await table.finish();
  await flush();
  return written;
}

async function* rowGroups(
  pictures: readonly ExportedPicture[],
  folder: ExportFolder,
  ports: ExportPorts,
): AsyncGenerator<Filled[]> {
  let rows: Filled[] = [];
  let bytes = 0;
  for await (const { picture, content: checked } of readChecked(pictures, folder, ports)) {
    const isFull = rows.length === maxGroupRows || bytes + checked.length > maxGroupBytes;
    if (rows.length > 0 && isFull) {
      yield rows;
      [rows, bytes] = [[], 0];
    }
    const content = Buffer.isBuffer(checked) ? checked : await readFile(checked.path);
    rows.push({ picture, content });
    bytes += content.length;
  }
  if (rows.length > 0) yield rows;
}

/** Name of the column with the content. It is `file` if pictures and clips are mixed, which no feature has. */
type EmbeddedColumn = Medium | 'file';

function embeddedColumn({ media }: TableChoice): EmbeddedColumn {
  const [first = 'image', ...others] = media;
  return others.length === 0 ? first : 'file';
}

/**
 * The column in the form of the features `Image`, `Video` and `Audio` of Hugging Face's `datasets`: a struct of
 * bytes and path. The library recognizes it only if all three are nullable.
 */
function fileSchema(name: EmbeddedColumn): ReturnType<typeof schemaFromColumnData> {
  return [
    { name, repetition_type: 'OPTIONAL', num_children: 2 },
    { name: 'bytes', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
    { name: 'path', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
  ];
}

const features = { image: 'Image', video: 'Video', audio: 'Audio' } as const;

/** Returns the schema metadata that `datasets` reads. Without it, the column is a struct and no picture. */
function featureOf(name: EmbeddedColumn): { key: string; value: string }[] {
  if (name === 'file') return [];
  const value = JSON.stringify({ info: { features: { [name]: { _type: features[name] } } } });
  return [{ key: 'huggingface', value }];
}

/** Pictures are compressed already, and no two are equal. */
function fileColumn(name: EmbeddedColumn, rows: readonly Filled[]) {
  const data = rows.map(({ picture, content }) => ({ bytes: content, path: picture.name }));
  return { name, data, encoding: 'PLAIN', codec: 'UNCOMPRESSED', statistics: false } as const;
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

const clipColumnTypes = {
  duration_s: 'DOUBLE',
  frame_rate: 'DOUBLE',
  codecs: 'JSON',
  end_open: 'BOOLEAN',
} as const satisfies Record<ClipColumn, string>;

interface TableColumn {
  name: string;
  type: 'STRING' | 'JSON' | 'INT32' | 'INT64' | 'DOUBLE' | 'BOOLEAN';
  nullable: boolean;
  valueOf: (picture: ExportedPicture) => JsonValue | bigint;
}

function tableColumns(choice: TableChoice): TableColumn[] {
  const { numeric, isEmbedded, media } = choice;
  const hasClips = media.has('video') || media.has('audio');
  const own: TableColumn[] = [
    ...ownColumns.map(([name, type, valueOf]) => ({
      name,
      type,
      nullable: name === 'seed' || name === 'endpoint' || name === 'cost',
      valueOf,
    })),
    ...(hasClips ? clipColumnNames : []).map((name) => ({
      name,
      type: clipColumnTypes[name],
      nullable: true,
      valueOf: ({ clip }: ExportedPicture) => clip?.[name] ?? null,
    })),
  ];
  const taken = new Set<string>([
    ...own.map(({ name }) => name),
    ...(isEmbedded ? [embeddedColumn(choice)] : []),
  ]);
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

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
import { parquetWriteBuffer } from 'hyparquet-writer';
import type { JsonValue } from '../../lib/text/json.ts';

export interface ExportChoice {
  shard: number;
  /** Further input that the bytes of a shard depend on. */
  salt: string;
  /** Names of the numeric columns of Parquet, from `numericNames`. */
  numeric: string[];
  /** Maximum size of one metadata.jsonl in bytes. */
  maxMetadataBytes?: number;
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
      return writeShards(folder, pictures, ports, choice, tablePart(choice.numeric));
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
  { shard, salt, numeric }: ExportChoice,
  form: ShardForm,
): Promise<void> {
  let index = 0;
  for (const group of groupsOf(pictures, shard)) {
    const files = form.files(String(index).padStart(5, '0'));
    const digest = digestOf(group, JSON.stringify([salt, numeric]));
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

interface TarContent {
  count: number;
  bytes: number;
}

/** Writes a tar file, equal on every machine. `first`: number of its first picture in the export. Keys have no dot. */
async function writeTar(
  file: UnfinishedFile,
  pictures: readonly ExportedPicture[],
  first: number,
  ports: ExportPorts,
): Promise<TarContent> {
  const numbers = new Map(pictures.map((picture, index) => [picture, first + index]));
  const written = { count: 0, bytes: 0 };
  for await (const { picture, content } of readChecked(pictures, ports)) {
    const key = String(numbers.get(picture)).padStart(9, '0');
    const metadata = { file_name: picture.file, ...recordOf(picture) };
    await file.write(
      Buffer.concat([
        ...tarEntry(`${key}${/\.\w+$/.exec(picture.file)?.[0] ?? ''}`, content),
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

function tablePart(numeric: string[]): ShardForm {
  return {
    files: (number) => [`part-${number}.parquet`],
    write: async (folder, [file = ''], pictures, _, ports) => {
      const table = parquetPart(pictures, numeric);
      await folder.write(file, table);
      ports.onDone(pictures.length, pictures.length, table.length);
      return true;
    },
  };
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

/** Returns a Parquet table, equal on every machine. `numeric`: names that are numbers in all pictures. */
function parquetPart(pictures: readonly ExportedPicture[], numeric: readonly string[]): Uint8Array {
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

/** Returns the number; null if there is none, for example because a run changed the value after `numericNames`. */
function numberIn({ columns, values }: ExportedPicture, name: string): number | null {
  const value = Object.hasOwn(values, name) ? values[name] : columns[name];
  return typeof value === 'number' ? value : null;
}

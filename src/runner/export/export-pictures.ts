/** Writes the saved pictures of a batch as files that other programs take: what is whole already stays as it is. */
import { createHash } from 'node:crypto';
import type { ExportFolder, ExportKind } from './export-folder.ts';
import { groupsOf, type ExportedPicture, type ExportPorts } from './exported-picture.ts';
import { parquetPart } from './parquet-part.ts';
import { writeCaptions, writeImageFolder } from './picture-folder.ts';
import { writeTar } from './tar-shard.ts';

export interface ExportChoice {
  /** Pictures a shard. */
  shard: number;
  /** What else the bytes of a shard depend on. */
  salt: string;
  /** Of parquet: `numericNames`. */
  numeric: string[];
  /** Of one metadata.jsonl. */
  mostMetadataBytes?: number;
}

/** What is not part of it any more stays until `finish`. */
export async function exportPictures(
  folder: ExportFolder,
  to: ExportKind,
  pictures: Iterable<ExportedPicture>,
  ports: ExportPorts,
  choice: ExportChoice,
): Promise<void> {
  switch (to) {
    case 'imagefolder':
      return writeImageFolder(folder, pictures, ports, choice.mostMetadataBytes);
    case 'captions':
      return writeCaptions(folder, pictures, ports);
    case 'webdataset':
      return writeShards(folder, pictures, ports, choice, tarShard);
    case 'parquet':
      return writeShards(folder, pictures, ports, choice, tablePart(choice.numeric));
  }
}

/** Of columns and values that are numbers wherever they are. */
export function numericNames(pictures: Iterable<ExportedPicture>): string[] {
  const known = new Map<string, boolean>();
  for (const { columns, values } of pictures)
    for (const [name, value] of Object.entries({ ...columns, ...values }))
      if (value !== null) known.set(name, known.get(name) !== false && typeof value === 'number');
  return [...known].flatMap(([name, isNumeric]) => (isNumeric ? [name] : []));
}

/** One file, or several that are written together; the first gives it its name. */
interface ShardForm {
  files: (number: string) => [string, ...string[]];
  /** Whether all pictures are in it. */
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

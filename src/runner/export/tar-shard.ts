/** A shard of a WebDataset: a tar file of pictures, their metadata and captions, the same bytes on every machine. */
import type { UnfinishedFile } from '../files/unfinished-file.ts';
import { readChecked, recordOf, type ExportedPicture, type ExportPorts } from './exported-picture.ts';

export interface ShardContent {
  count: number;
  bytes: number;
}

/** `first`: the number of the first picture among all. A key has no dot and is that of no other shard. */
export async function writeTar(
  file: UnfinishedFile,
  pictures: readonly ExportedPicture[],
  first: number,
  ports: ExportPorts,
): Promise<ShardContent> {
  const numbers = new Map(pictures.map((picture, index) => [picture, first + index]));
  const written = { count: 0, bytes: 0 };
  for await (const { picture, content } of readChecked(pictures, ports)) {
    const key = String(numbers.get(picture)).padStart(9, '0');
    const metadata = { file_name: picture.file, ...recordOf(picture) };
    await file.write(
      Buffer.concat([
        ...entry(`${key}${/\.\w+$/.exec(picture.file)?.[0] ?? ''}`, content),
        ...entry(`${key}.json`, Buffer.from(JSON.stringify(metadata))),
        ...entry(`${key}.txt`, Buffer.from(picture.caption)),
      ]),
    );
    written.count += 1;
    written.bytes += content.length;
  }
  await file.write(Buffer.alloc(2 * blockBytes));
  return written;
}

const blockBytes = 512;

/** In the format ustar. Names are keys and endings, far shorter than the hundred bytes that fit. */
function entry(name: string, content: Buffer): Buffer[] {
  const header = Buffer.alloc(blockBytes);
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
  return [header, content, Buffer.alloc((blockBytes - (content.length % blockBytes)) % blockBytes)];
}

/** With the zero byte at its end that `bytes` counts. */
function octal(value: number, bytes: number): string {
  return value.toString(8).padStart(bytes - 1, '0');
}

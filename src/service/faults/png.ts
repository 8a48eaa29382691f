/** Just enough of PNG to make pictures that are wrong on purpose. */
import { crc32, deflateSync } from 'node:zlib';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');

/** Of RGB, 8 bit; `rows` are unfiltered, each with its leading 0, and may be other than the `height` says. */
export function png(width: number, height: number, rows: Uint8Array): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** So many rows, each pixel of which is what `colourAt` says of its number. */
export function rowsOf(width: number, count: number, colourAt: (pixel: number) => readonly number[]): Buffer {
  const rows = Buffer.alloc(count * (1 + width * 3));
  for (let pixel = 0; pixel < width * count; pixel++) {
    const row = Math.floor(pixel / width);
    rows.set(colourAt(pixel), pixel * 3 + row + 1);
  }
  return rows;
}

/** Width and height that a PNG says it has; of anything else, those of a small picture. */
export function sizeOf(picture: Buffer): { width: number; height: number } {
  if (!picture.subarray(0, 8).equals(signature) || picture.length < 24) return { width: 512, height: 512 };
  return { width: picture.readUInt32BE(16), height: picture.readUInt32BE(20) };
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

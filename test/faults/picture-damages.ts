/** Outputs that are not a picture, or only a useless one. */
import { deflateSync } from 'node:zlib';
import { chunk } from '../runner/images/pictures.ts';

interface PictureDamage {
  /** Kind of failure that the runner must recognize. */
  kind: string;
  /** Returns the value that replaces the base64 of a PNG. `job` makes it differ between jobs. */
  of: (picture: Buffer, job: number) => string;
}

export const pictureDamages: Record<string, PictureDamage> = {
  'picture-cut': bytes((picture) => picture.subarray(0, picture.length >> 1)),
  // The last chunk of the PNG is missing, which many programs do not notice.
  'picture-without-end': bytes((picture) => picture.subarray(0, -12)),
  'picture-less-a-byte': bytes((picture) => picture.subarray(0, -1)),
  'picture-and-garbage': bytes((picture) => Buffer.concat([picture, Buffer.from('garbage')])),
  'picture-wrong-checksum': bytes((picture) => flipped(picture, 29)),
  'picture-flipped-bit': bytes((picture) => flipped(picture, picture.length >> 1)),
  'picture-few-rows': bytes((picture, job) => {
    const { width, height } = sizeOf(picture);
    return png(width, height, rowsOf(width, height >> 1, noiseOf(job)));
  }),
  'picture-of-zeros': bytes((picture) => Buffer.alloc(picture.length)),
  'picture-empty': bytes(() => Buffer.alloc(0), 'picture-not-found'),
  'picture-html': bytes((_, job) =>
    Buffer.from(`<html><body><h1>502 Bad Gateway</h1>ray ${job}</body></html>`),
  ),
  'picture-junk': {
    kind: 'bad-picture',
    of: (picture) => {
      const text = picture.toString('base64');
      return `${text.slice(0, 40)}!*%${text.slice(43)}`;
    },
  },
  'picture-base64-cut': {
    kind: 'bad-picture',
    of: (picture) => picture.toString('base64').replace(/=*$/, '').slice(0, -3),
  },
  'picture-one-colour': bytes((picture, job) => {
    const { width, height } = sizeOf(picture);
    return png(
      width,
      height,
      rowsOf(width, height, () => [job & 255, (job >> 8) & 255, 7]),
    );
  }, 'blank-picture'),
  'picture-tiny': bytes((_, job) => png(3, 2, rowsOf(3, 2, noiseOf(job))), 'picture-too-small'),
  // The path is on the disk of the worker.
  'picture-path': { kind: 'picture-not-found', of: (_, job) => `simulated_uploaded/${job}.png` },
};

/**
 * Returns an 8-bit RGB PNG. `rows` are unfiltered, each with its leading 0, and may be more or fewer than
 * `height`.
 */
export function png(width: number, height: number, rows: Uint8Array): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Returns `count` rows. `colourAt` gives the colour of the pixel with this number. */
export function rowsOf(width: number, count: number, colourAt: (pixel: number) => readonly number[]): Buffer {
  const rows = Buffer.alloc(count * (1 + width * 3));
  for (let pixel = 0; pixel < width * count; pixel++) {
    const row = Math.floor(pixel / width);
    rows.set(colourAt(pixel), pixel * 3 + row + 1);
  }
  return rows;
}

export function noiseOf(job: number): (pixel: number) => readonly number[] {
  return (pixel) => {
    const mixed = Math.imul(pixel + 1, 0x9e3779b1) ^ Math.imul(job + 1, 0x85ebca6b);
    return [mixed & 255, (mixed >>> 8) & 255, (mixed >>> 16) & 255];
  };
}

function bytes(of: (picture: Buffer, job: number) => Buffer, kind = 'bad-picture'): PictureDamage {
  return { kind, of: (picture, job) => of(picture, job).toString('base64') };
}

function flipped(picture: Buffer, at: number): Buffer {
  const copy = Buffer.from(picture);
  copy[at] = (copy[at] ?? 0) ^ 0x10;
  return copy;
}

function sizeOf(picture: Buffer): { width: number; height: number } {
  return { width: picture.readUInt32BE(16), height: picture.readUInt32BE(20) };
}

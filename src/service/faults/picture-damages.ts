/** The ways in which what comes as a picture is none, or none that anybody wants. */
import { crc32, deflateSync } from 'node:zlib';

export interface PictureDamage {
  says: string;
  isFinal?: true;
  /** Gives what stands in the place of the picture's base64; `job` makes it another for each job. */
  damaged: (picture: Buffer, job: number) => string;
}

export const pictureDamages: Readonly<Record<string, PictureDamage>> = {
  'picture-cut': {
    says: 'Half of the picture is there.',
    damaged: (picture) => picture.subarray(0, picture.length >> 1).toString('base64'),
  },
  'picture-without-end': {
    says: 'The last chunk of the PNG is missing, which many programs do not notice.',
    damaged: (picture) => picture.subarray(0, -12).toString('base64'),
  },
  'picture-less-a-byte': {
    says: 'The last byte of the picture is missing.',
    damaged: (picture) => picture.subarray(0, -1).toString('base64'),
  },
  'picture-and-garbage': {
    says: 'Garbage follows the picture.',
    damaged: (picture) => Buffer.concat([picture, Buffer.from('garbage')]).toString('base64'),
  },
  'picture-wrong-checksum': {
    says: "A checksum of the PNG's header is wrong.",
    damaged: (picture) => flipped(picture, 29).toString('base64'),
  },
  'picture-flipped-bit': {
    says: 'One bit in the middle of the picture is wrong.',
    damaged: (picture) => flipped(picture, picture.length >> 1).toString('base64'),
  },
  'picture-few-rows': {
    says: 'A PNG with half of the rows that it says it has.',
    damaged: (picture, job) => {
      const { width, height } = sizeOf(picture);
      return png(width, height, rowsOf(width, height >> 1, noiseOf(job))).toString('base64');
    },
  },
  'picture-of-zeros': {
    says: 'As many zero bytes as the picture has.',
    damaged: (picture) => Buffer.alloc(picture.length).toString('base64'),
  },
  'picture-empty': { says: 'No byte of the picture is there.', damaged: () => '' },
  'picture-html': {
    says: 'A page of HTML, in base64, in the place of the picture.',
    damaged: (_, job) =>
      Buffer.from(`<html><body><h1>502 Bad Gateway</h1>ray ${job}</body></html>`).toString('base64'),
  },
  'picture-junk': {
    says: 'Characters that base64 does not have.',
    damaged: (picture) => {
      const text = picture.toString('base64');
      return `${text.slice(0, 40)}!*%${text.slice(43)}`;
    },
  },
  'picture-base64-cut': {
    says: 'The base64 ends within a group of four.',
    damaged: (picture) => picture.toString('base64').replace(/=*$/, '').slice(0, -3),
  },
  'picture-one-colour': {
    says: 'A whole picture of one colour.',
    damaged: (picture, job) => {
      const { width, height } = sizeOf(picture);
      const colour = [job & 255, (job >> 8) & 255, 7];
      return png(
        width,
        height,
        rowsOf(width, height, () => colour),
      ).toString('base64');
    },
  },
  'picture-tiny': {
    says: 'A whole picture of three pixels by two.',
    damaged: (_, job) => png(3, 2, rowsOf(3, 2, noiseOf(job))).toString('base64'),
  },
  'picture-path': {
    says: "A file's path on the worker's disk in the place of the picture.",
    damaged: (_, job) => `simulated_uploaded/${job}.png`,
  },
  'picture-url': {
    says: 'An address in the place of the picture, under a host that does not exist.',
    isFinal: true,
    damaged: (_, job) => `https://pictures.invalid/${job}.png`,
  },
  'picture-data-uri': {
    says: 'The whole picture as a data URI; nothing is wrong with it.',
    damaged: (picture) => `data:image/png;base64,${picture.toString('base64')}`,
  },
};

/** The same output with something else in the place of each picture in it; undefined where it holds none. */
export function withDamage(output: unknown, damage: PictureDamage, job: number): unknown {
  let isFound = false;
  const change = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(change);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, change(each)]));
    const base64 = typeof value === 'string' ? pictureIn(value) : undefined;
    if (base64 === undefined) return value;
    isFound = true;
    return damage.damaged(Buffer.from(base64, 'base64'), job);
  };
  const changed = change(output);
  return isFound ? changed : undefined;
}

/** Texts begin otherwise, and are shorter. */
function pictureIn(text: string): string | undefined {
  const base64 = text.slice(0, 100).startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text;
  return /^[A-Za-z0-9+/]{60}/.test(base64) ? base64 : undefined;
}

function noiseOf(job: number): (pixel: number) => readonly number[] {
  return (pixel) => {
    const mixed = Math.imul(pixel + 1, 0x9e3779b1) ^ Math.imul(job + 1, 0x85ebca6b);
    return [mixed & 255, (mixed >>> 8) & 255, (mixed >>> 16) & 255];
  };
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x10;
  return copy;
}

/** Just enough of PNG to make pictures that are wrong on purpose. */
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
function sizeOf(picture: Buffer): { width: number; height: number } {
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

/** A real picture for each job, different from all others, and the ways in which a picture can be damaged. */
import { crc32, deflateSync } from 'node:zlib';
import { chance } from './chance.ts';

const width = 24;
const height = 16;
const rowBytes = 1 + width * 3;

/** A whole PNG of noise, different for each job number and each other name. */
export function pictureOf(seed: number, name: number | string): Buffer {
  return png(rowsOf(seed, name));
}

interface Damage {
  /** The failure that it is to be taken for. */
  kind: 'bad-picture' | 'failed-inside' | 'blank-picture' | 'picture-too-small';
  of: Damaging;
}

/** Gives what stands in the place of a picture's base64. */
type Damaging = (picture: Buffer, seed: number, job: number) => string;

const bad: Record<string, Damaging> = {
  'picture cut in the middle': (picture) => picture.subarray(0, picture.length >> 1).toString('base64'),
  'picture without its last chunk': (picture) => picture.subarray(0, -12).toString('base64'),
  'picture cut by one byte': (picture) => picture.subarray(0, -1).toString('base64'),
  'picture with garbage behind it': (picture) =>
    Buffer.concat([picture, Buffer.from('garbage')]).toString('base64'),
  'picture with a wrong checksum': (picture) => flipped(picture, 29).toString('base64'),
  'picture with a flipped bit': (picture) => flipped(picture, picture.length >> 1).toString('base64'),
  'picture with too few rows': (_, seed, job) =>
    png(rowsOf(seed, job).subarray(0, 5 * rowBytes)).toString('base64'),
  'picture of zeros': (picture) => Buffer.alloc(picture.length).toString('base64'),
  'HTML in the place of a picture': (_, __, job) =>
    Buffer.from(`<html><body><h1>502 Bad Gateway</h1>ray ${job}</body></html>`).toString('base64'),
  'junk in the base64': (picture) => {
    const text = picture.toString('base64');
    return `${text.slice(0, 40)}!*%${text.slice(43)}`;
  },
  'base64 cut in a group': (picture) => picture.toString('base64').replace(/=*$/, '').slice(0, -3),
};

export const damages: Record<string, Damage> = {
  ...Object.fromEntries(Object.entries(bad).map(([name, of]) => [name, { kind: 'bad-picture', of }])),
  'picture of zero bytes': { kind: 'bad-picture', of: () => '' },
  'path in the place of a picture': {
    kind: 'failed-inside',
    of: (_, __, job) => `simulated_uploaded/${job}.png`,
  },
  'picture of one colour': {
    kind: 'blank-picture',
    of: (_, __, job) => png(evenRows(job)).toString('base64'),
  },
  'picture of few pixels': {
    kind: 'picture-too-small',
    of: (_, seed, job) => png(rowsOf(seed, job).subarray(0, 3 * rowBytes), 3).toString('base64'),
  },
};

/** For a damage that comes again as it came before. */
export function sameDamage(picture: Buffer): string {
  return flipped(picture, picture.length >> 1).toString('base64');
}

/** Unfiltered rows of RGB. */
function rowsOf(seed: number, name: number | string): Buffer {
  const { draw } = chance(seed, 'picture', name);
  return Buffer.from(
    Uint8Array.from({ length: height * rowBytes }, (_, i) => (i % rowBytes === 0 ? 0 : draw() * 256)),
  );
}

/** A colour of its own for each of many jobs. */
function evenRows(job: number): Buffer {
  const colour = [job & 255, (job >> 8) & 255, 7];
  const bytes = Uint8Array.from({ length: height * rowBytes }, (_, i) =>
    i % rowBytes === 0 ? 0 : (colour[((i % rowBytes) - 1) % 3] ?? 0),
  );
  return Buffer.from(bytes);
}

function png(rows: Buffer, rowCount = height): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rowCount, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body), body.length + 4);
  return framed;
}

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x10;
  return copy;
}

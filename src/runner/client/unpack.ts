/** Compressed bodies: none is asked for, and some proxies send them all the same. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';

export type Unpacked =
  { kind: 'unpacked'; bytes: Buffer } | { kind: 'too-large' } | { kind: 'unreadable'; why: string };

const unpackers = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** `encoding` is the header `content-encoding`; at most `maxBytes` come out, however small the body is. */
export async function unpack(
  bytes: Buffer,
  encoding: string | undefined,
  maxBytes: number,
): Promise<Unpacked> {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return { kind: 'unpacked', bytes };
  const unpackNamed = unpackers.get(name);
  if (unpackNamed === undefined) {
    const why = `the answer is encoded as ${JSON.stringify(name.slice(0, 40))}, which was not asked for`;
    return { kind: 'unreadable', why };
  }
  try {
    return { kind: 'unpacked', bytes: await unpackNamed(bytes, { maxOutputLength: maxBytes }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return { kind: 'too-large' };
    return { kind: 'unreadable', why: `the answer says that it is ${name} and cannot be unpacked` };
  }
}

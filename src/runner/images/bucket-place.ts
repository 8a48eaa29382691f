/** Pictures in a folder of a bucket, with checksums and a key for each attempt. */
import { rm, writeFile } from 'node:fs/promises';
import type { Bucket } from '../../lib/s3/bucket.ts';
import { S3Error } from '../../lib/s3/s3-requests.ts';
import { FatalFailure } from '../core/failure.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import { digestIn, nameConflict, type Place, readBytes, sourceIn } from './place.ts';

/** Returns a place in a bucket. `folder` is the prefix of all keys and ends with `/`. Empty means the whole bucket. */
export function bucketPlace(bucket: Bucket, folder = ''): Place {
  const keyOf = (file: string): string => folder + file;
  const place: Place = {
    name: bucket.name + folder,
    isRemote: true,
    isNamedByAttempt: true,
    links: {
      at: bucket.urlOf(folder),
      sign: (file, ms) => bucket.signedUrl(keyOf(file), Math.round(ms / 1000)),
    },
    probe: (work) =>
      withBucketFailure(() =>
        bucket.within(async () => {
          await bucket.probe();
          await work();
        }),
      ),
    prepare: async () => undefined,
    read: (file, part) => withBucketFailure(() => bucket.get(keyOf(file), part)),
    facts: (file) =>
      withBucketFailure(async () => {
        const facts = await bucket.facts(keyOf(file));
        return facts && { ...facts, kind: 'file' };
      }),
    put: (file, source, { sha256, isFirst = false } = {}) =>
      withBucketFailure(async () => {
        const key = keyOf(file);
        const type = typeOf(file);
        if (!(source instanceof Uint8Array)) {
          if (isFirst && (await bucket.facts(key)) !== undefined) return false;
          if ('read' in source) await bucket.putParts(key, source, type, sha256);
          else await putFile(source, (path) => bucket.putFile(key, path, type, sha256));
        } else if (isFirst) return isStored(bucket.put(key, source, { type, isFirst }));
        else await bucket.put(key, source, { type, ...(sha256 !== undefined && { sha256 }) });
        return true;
      }),
    list: async function* (below = '') {
      try {
        for await (const { key, bytes } of bucket.list(keyOf(below)))
          yield { name: key.slice(folder.length), bytes };
      } catch (error) {
        throw asBucketFailure(error);
      }
    },
    move: async (from, to, isReplacing = false) => {
      const start = from === to ? undefined : await place.read(from, { at: 0, length: readBytes });
      if (start === undefined) return (await place.facts(to)) !== undefined;
      const other = isReplacing ? undefined : await place.read(to, { at: 0, length: readBytes });
      const isSame = other?.equals(start) === true && (await hasSameRest(place, from, to));
      if (other !== undefined && !isSame) throw nameConflict(place.name + from, place.name + to);
      if (!isSame && start.length < readBytes) await place.put(to, start);
      else if (!isSame) await place.put(to, sourceIn(place, from, (await place.facts(from))?.bytes ?? 0));
      await place.remove(from);
      return true;
    },
    makeLast: async () => undefined,
    remove: (file) => withBucketFailure(() => bucket.remove(keyOf(file))),
    fetch: async (file, to) => {
      let part = await place.read(file, { at: 0, length: readBytes });
      if (part === undefined) return false;
      for (let at = 0; part !== undefined; at += readBytes) {
        const [content, flag] = [part, at === 0 ? 'wx' : 'a'];
        await withDiskFailure(to, () => writeFile(to, content, { flag, mode: 0o600 }));
        if (part.length < readBytes) return true;
        part = await place.read(file, { at: at + readBytes, length: readBytes });
      }
      return false;
    },
  };
  return place;
}

async function withBucketFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asBucketFailure(error);
  }
}

/** Converts an `S3Error` (a refusal or no answer) into a `FatalFailure`. Returns any other error unchanged. */
function asBucketFailure(error: unknown): unknown {
  if (!(error instanceof S3Error)) return error;
  const text = `the pictures in the bucket cannot be reached or written. ${error.message}; see to that, then repeat the command`;
  return new FatalFailure({ kind: 'output-unwritable', text });
}

/** True if the object was stored. False if the store refuses it, because its key is taken or conditions are not supported. */
async function isStored(put: Promise<void>): Promise<boolean> {
  try {
    await put;
    return true;
  } catch (error) {
    if (!(error instanceof S3Error) || error.isPassing) throw error;
    return false;
  }
}

async function putFile(
  { path, isMoved }: { path: string; isMoved?: true },
  put: (path: string) => Promise<void>,
): Promise<void> {
  await withDiskFailure(path, () => put(path));
  if (isMoved) await withDiskFailure(path, () => rm(path, { force: true }));
}

/** True if two objects with the same beginning are equal. */
async function hasSameRest(place: Place, one: string, other: string): Promise<boolean> {
  const [size, otherSize] = [await place.facts(one), await place.facts(other)];
  if (size === undefined || size.bytes !== otherSize?.bytes) return false;
  return size.bytes < readBytes || (await digestIn(place, one)) === (await digestIn(place, other));
}

function typeOf(file: string): string {
  const [, ending = ''] = /\.(\w+)$/.exec(file) ?? [];
  return types[ending] ?? 'application/octet-stream';
}

const types: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  webp: 'image/webp',
  avif: 'image/avif',
  gif: 'image/gif',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mov: 'video/quicktime',
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  exr: 'image/x-exr',
  glb: 'model/gltf-binary',
  json: 'application/json',
  jsonl: 'application/jsonl',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

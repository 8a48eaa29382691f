/** A folder of a bucket: objects that the store compares with their checksums, each attempt's under a key of its own. */
import { writeFile } from 'node:fs/promises';
import type { Bucket } from '../../lib/s3/bucket.ts';
import { S3Error } from '../../lib/s3/s3-error.ts';
import { FatalFailure } from '../core/failure.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import type { Place } from './place.ts';

/** `folder` begins all keys and ends with a `/`; empty for the whole bucket. */
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
    read: (file) => withBucketFailure(() => bucket.get(keyOf(file))),
    facts: (file) =>
      withBucketFailure(async () => {
        const facts = await bucket.facts(keyOf(file));
        return facts && { ...facts, kind: 'file' };
      }),
    put: (file, source, { sha256, isFirst = false } = {}) =>
      withBucketFailure(async () => {
        const key = keyOf(file);
        const type = typeOf(file);
        if ('path' in source) await bucket.putFile(key, source.path, type);
        else if (isFirst) return isTaken(bucket.put(key, source, { type, isFirst }));
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
      const content = from === to ? undefined : await place.read(from);
      if (content === undefined) return;
      const other = isReplacing ? undefined : await place.read(to);
      if (other?.equals(content) === false) throw nameConflict(place.name + from, place.name + to);
      if (other === undefined) await place.put(to, content);
      await place.remove(from);
    },
    makeLast: async () => undefined,
    remove: (file) => withBucketFailure(() => bucket.remove(keyOf(file))),
    fetch: async (file, to) => {
      const content = await place.read(file);
      if (content === undefined) return false;
      await withDiskFailure(to, () => writeFile(to, content, { flag: 'wx', mode: 0o600 }));
      return true;
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

/** Returns a refusal of the store, or its silence, as `FatalFailure`, and any other error as it is. */
function asBucketFailure(error: unknown): unknown {
  if (!(error instanceof S3Error)) return error;
  const text = `the pictures in the bucket cannot be reached or written. ${error.message}; see to that, then repeat the command`;
  return new FatalFailure({ kind: 'output-unwritable', text });
}

/** False if the store refused the object, because another has the key or because it does not know the condition. */
async function isTaken(put: Promise<void>): Promise<boolean> {
  try {
    await put;
    return true;
  } catch (error) {
    if (!(error instanceof S3Error) || error.isPassing) throw error;
    return false;
  }
}

function nameConflict(from: string, to: string): FatalFailure {
  const text = `cannot rename ${from} to ${to}: another object has that key; move one of them away, then give the same command again`;
  return new FatalFailure({ kind: 'output-unwritable', text });
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
  exr: 'image/x-exr',
  glb: 'model/gltf-binary',
  json: 'application/json',
  jsonl: 'application/jsonl',
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
};

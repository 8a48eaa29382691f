/** Pictures in a folder of a bucket, with checksums and a key for each attempt, and the claim of one batch to a place. */
import { writeFile } from 'node:fs/promises';
import type { Bucket } from '../../lib/s3/bucket.ts';
import { S3Error } from '../../lib/s3/s3-requests.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { FatalFailure } from '../core/failure.ts';
import { readAttemptFile } from '../core/naming.ts';
import { withDiskFailure } from '../files/disk-failure.ts';
import type { Place } from './place.ts';

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
        else if (isFirst) return isStored(bucket.put(key, source, { type, isFirst }));
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
      if (content === undefined) return (await place.facts(to)) !== undefined;
      const other = isReplacing ? undefined : await place.read(to);
      if (other?.equals(content) === false) throw nameConflict(place.name + from, place.name + to);
      if (other === undefined) await place.put(to, content);
      await place.remove(from);
      return true;
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

/** Converts an `S3Error` (a refusal or no answer) into a `FatalFailure`. Returns any other error unchanged. */
function asBucketFailure(error: unknown): unknown {
  if (!(error instanceof S3Error)) return error;
  const text = `the pictures in the bucket cannot be reached or written. ${error.message}; see to that, then repeat the command`;
  return new FatalFailure({ kind: 'output-unwritable', text });
}

/** True if the object was stored. False if its key is taken, or if the store does not support the condition. */
async function isStored(put: Promise<void>): Promise<boolean> {
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

export interface PictureOwner {
  /** Random name that the batch got when it began to use the place. */
  batch: string;
  run: {
    token: string;
    isKnown(token: string): boolean;
    /** Highest attempt on record. Defined if this checkpoint may be an older copy, so that newer pictures may exist. */
    lastAttempt?: number | undefined;
  };
  /** True if the user has decided what happens to pictures of other batches in the place (`--adopt`, `--fresh`). */
  isAnyAccepted: boolean;
  /** Called if no batch has begun in the place. Throws if this one must not begin there. */
  assertNew?: (() => Promise<void>) | undefined;
}

/** A place that a run claims before its first picture, so that no other batch pays for them again. */
export interface ClaimedPlace extends Place {
  /** Throws `ConfigError` if the place has pictures of another batch, or of runs that the checkpoint does not know. */
  assertOurs(): Promise<void>;
  /** Records this run as the latest that stored pictures in the place. */
  claim(): Promise<void>;
}

/** Name of the file that records which batch and run the pictures belong to. */
export const claimFile = 'batch.json';

/** Content of the claim file. `hasOthers`: true if the user accepted pictures of other batches in the place. */
interface Claim {
  batch: string;
  run: string;
  hasOthers: boolean;
}

/** Token in the claim file until a run of the batch stores a picture, and after commands without a run. */
const movedToken = 'moved';

/** Returns the owner for commands that work on a batch while no run is active. */
export function ownerWithoutRun(batch: string): PictureOwner {
  const run = { token: movedToken, isKnown: () => true };
  return { batch, run, isAnyAccepted: false };
}

const other = 'has the pictures of another batch, or of this one before its checkpoint was lost';
const begun =
  'belongs to another batch, or to this one before its checkpoint was lost, and may have its pictures';
const older = 'has pictures of runs that this checkpoint does not know; an older copy of it was put back';

/** Returns `place` protected by a claim. The claim file in `claims` names the latest run that stored a picture. */
export function claimed(place: Place, claims: Place, owner: PictureOwner): ClaimedPlace {
  const { batch, run, isAnyAccepted, assertNew } = owner;
  let hasOthers = false;
  let isMarked = false;
  let claiming: Promise<void> | undefined;

  const refusal = (whose: string): ConfigError => {
    const text = `${whose}. Their scenes would be paid for again. Put the right checkpoint back, or choose another folder in output.pictures. Or take over matching pictures, each checked, with --adopt; or render everything without a record with --fresh (existing pictures are kept)`;
    return new ConfigError([{ where: claims.name, text }]);
  };

  const assertOurs = async (): Promise<void> => {
    const bytes = await claims.read(claimFile);
    if (bytes === undefined || bytes.length === 0) return isAnyAccepted ? undefined : assertNew?.();
    const claim = readClaim(bytes);
    isMarked = true;
    hasOthers = isAnyAccepted || claim?.hasOthers === true;
    if (isAnyAccepted) return;
    if (claim?.batch !== batch) throw refusal(claim?.run === movedToken ? begun : other);
    if (claim.run !== movedToken && !run.isKnown(claim.run)) throw refusal(older);
    if (run.lastAttempt === undefined || claim.hasOthers) return;
    for await (const { name } of place.list())
      if ((readAttemptFile(name)?.attempt ?? 0) > run.lastAttempt) throw refusal(older);
  };

  const putClaim = (token: string, isFirst = false): Promise<boolean> => {
    const claim: Claim = { batch, run: token, hasOthers };
    return claims.put(claimFile, Buffer.from(`${JSON.stringify(claim)}\n`), { isFirst });
  };

  /** Claims an unclaimed place before anything is paid for. If several batches start at once, only one succeeds. */
  const begin = async (): Promise<void> => {
    await assertOurs();
    if (isMarked || isAnyAccepted) return;
    await putClaim(movedToken, true);
    // Not every store supports the condition, so the claim is written without it if it is missing.
    if ((await claims.facts(claimFile)) === undefined) await putClaim(movedToken);
    await assertOurs();
  };

  const claim = (): Promise<void> => {
    claiming ??= putClaim(run.token).then(
      () => undefined,
      (error: unknown) => {
        claiming = undefined;
        throw error;
      },
    );
    return claiming;
  };

  return {
    ...place,
    assertOurs,
    claim,
    prepare: async () => {
      await place.prepare();
      await begin();
    },
    put: async (file, source, how) => {
      await claim();
      return place.put(file, source, how);
    },
  };
}

/** Returns undefined if the content is not a valid claim. */
function readClaim(bytes: Buffer): Claim | undefined {
  const json = parsed(bytes.toString());
  if (!isJsonObject(json)) return undefined;
  const { batch, run, hasOthers } = json;
  return typeof batch === 'string' && typeof run === 'string'
    ? { batch, run, hasOthers: hasOthers === true }
    : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

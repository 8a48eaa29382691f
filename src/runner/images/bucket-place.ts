/** A folder of a bucket: objects that the store compares with their checksums, each attempt's under a key of its own. */
import { writeFile } from 'node:fs/promises';
import type { Bucket } from '../../lib/s3/bucket.ts';
import { S3Error } from '../../lib/s3/s3-requests.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { FatalFailure } from '../core/failure.ts';
import { readAttemptFile } from '../core/naming.ts';
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

export interface PictureOwner {
  /** Random name that the batch got when it began there. */
  batch: string;
  run: {
    token: string;
    isKnown(token: string): boolean;
    /** The highest attempt on record, if a copy of the checkpoint may have been taken before more were made. */
    lastAttempt?: number | undefined;
  };
  /** True if pictures of others may be there: a person said what is to become of them. */
  isAnyAccepted: boolean;
}

/** A place whose first picture of a run is preceded by the claim of that run. */
export interface ClaimedPlace extends Place {
  /** Throws `ConfigError` if the checkpoint does not know all that has been put there. */
  assertOurs(): Promise<void>;
  /** Records the run as the latest that puts pictures there. */
  claim(): Promise<void>;
}

/** Name of the file that says whose pictures are there. */
export const claimFile = 'batch.json';

/** `hasOthers`: pictures of others may be there as well, since a person has accepted it. */
interface Claim {
  batch: string;
  run: string;
  hasOthers: boolean;
}

/** Stands for a run if none of the batch has put pictures there, until one puts more. */
const movedToken = 'moved';

/** Returns the owner for work on a batch while no run is at work on it. */
export function ownerWithoutRun(batch: string): PictureOwner {
  const run = { token: movedToken, isKnown: () => true };
  return { batch, run, isAnyAccepted: false };
}

const other = 'has the pictures of another batch, or of this one before its checkpoint was lost';
const begun =
  'belongs to another batch, or to this one before its checkpoint was lost, and may have its pictures';
const older = 'has pictures of runs that this checkpoint does not know; an older copy of it was put back';

/** `claims` is the place of the claim file, which names the latest run that has put a picture into `place`. */
export function claimed(place: Place, claims: Place, owner: PictureOwner): ClaimedPlace {
  const { batch, run, isAnyAccepted } = owner;
  let hasOthers = false;
  let isMarked = false;
  let claiming: Promise<void> | undefined;

  const refusal = (whose: string): ConfigError => {
    const text = `${whose}. Their scenes would be paid for again. Put the right checkpoint back, or choose another folder in output.pictures. Or take over matching pictures, each checked, with --adopt; or render everything without a record with --fresh (existing pictures are kept)`;
    return new ConfigError([{ where: claims.name, text }]);
  };

  const assertOurs = async (): Promise<void> => {
    const bytes = await claims.read(claimFile);
    if (bytes === undefined || bytes.length === 0) return;
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

  /** Claims a place that is nobody's before anything is paid for. Of several batches that begin at once, one has it. */
  const begin = async (): Promise<void> => {
    await assertOurs();
    if (isMarked || isAnyAccepted) return;
    await putClaim(movedToken, true);
    // Not every store knows the condition: the claim that is there counts.
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

/** Returns undefined if the file is not a claim of ours. */
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

/** A place for pictures: the few operations that a folder and a bucket share, and the claim of a batch to a place. All other work on pictures is written once, above them. */
import { createHash } from 'node:crypto';
import { objectIn } from '../../lib/text/json.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import { FatalFailure, type Failure } from '../core/failure.ts';
import { readAttemptFile } from '../core/naming.ts';
import type { ByteSource } from './byte-source.ts';

/** Stores files under relative names with `/`. Every method throws `FatalFailure` if disk or store fails. */
export interface Place {
  /** Name of the place in messages: an absolute path, or `s3://bucket/folder/`. */
  readonly name: string;
  /** True if each call is a network request, so one listing is cheaper than many calls. */
  readonly isRemote: boolean;
  /** True if every attempt has its own file names, so no file ever blocks another. */
  readonly isNamedByAttempt: boolean;
  /** Addresses of files for browsers. Undefined if a page on this machine shows the files directly. */
  readonly links?: PlaceLinks;
  /** Checks that files can be written, then runs `work`. A remote place must do both within the timeout of one call. */
  probe(work: () => Promise<void>): Promise<void>;
  /** Creates the place and removes half-written files of earlier runs. */
  prepare(): Promise<void>;
  /** Returns the content, or a part of it; undefined if there is no such file. Throws `UnreadableFile`. */
  read(file: string, part?: Part): Promise<Buffer | undefined>;
  /** Returns facts about the file; undefined if nothing has the name. A folder answers at once: runs ask six times a picture. */
  facts(file: string): FileFacts | undefined | Promise<FileFacts | undefined>;
  /** Writes the file atomically and durably. Returns false, unchanged, if `isFirst` and the name is taken. */
  put(file: string, source: FileSource, how?: HowToPut): Promise<boolean>;
  /** Lists the files below a folder (with a `/` at its end), or all files. Leaves out files that are being written. */
  list(below?: string): AsyncIterable<ListedFile>;
  /** Renames the file durably, once. False if neither name has a file. Throws `FatalFailure` if the name is taken, unless `isReplacing`. */
  move(from: string, to: string, isReplacing?: boolean): Promise<boolean>;
  /** Makes an existing file durable, such as one that a crashed run wrote. */
  makeLast(file: string): Promise<void>;
  /** Removes the file durably, if it exists. */
  remove(file: string): Promise<void>;
  /** Copies the file to the unused path `to`, by a hard link if `isLinked` and possible. False if none. */
  fetch(file: string, to: string, isLinked: boolean): Promise<boolean>;
}

export interface FileFacts {
  /** Kind of what has the name. A link counts as its target; `other` is a pipe, a device, or a broken link. */
  kind: 'file' | 'folder' | 'other';
  bytes: number;
  /** Epoch ms. Undefined if the content of a name never changes in this place. */
  writtenAt?: number;
  /** True if the place's checksum equals this sha256 (hex). Undefined if only reading the file can tell. */
  isOf(sha256: string): boolean | undefined;
}

export interface ListedFile {
  name: string;
  bytes: number;
}

/** Part of a file. Shorter than asked if the file ends within it, and empty beyond its end. */
export interface Part {
  /** Offset in bytes. */
  at: number;
  /** Number of bytes. */
  length: number;
}

/**
 * Bytes, content in parts, or a file on this machine. A file is copied, or moved if `isMoved`: nothing is then left at
 * its path. If a `put` fails or returns false, the file may still be there.
 */
export type FileSource = Uint8Array | ByteSource | { path: string; isMoved?: true };

export interface HowToPut {
  /** Checksum in hex, if it is known. */
  sha256?: string;
  /** True if an existing file with that name is kept. */
  isFirst?: boolean;
}

export interface PlaceLinks {
  /** Base address that file names are appended to. It works for people who may read the place. */
  at: string;
  /** Returns an address that lets anybody open the file for `ms` milliseconds. The address is a credential. */
  sign(file: string, ms: number): Promise<string>;
}

/** Thrown if an existing file cannot be read, although other files can. */
export class UnreadableFile extends FatalFailure {
  readonly path: string;
  /** System error code, such as `EIO`. Undefined if something other than a file has the name. */
  readonly code: string | undefined;

  constructor(failure: Failure, path: string, code: string | undefined) {
    super(failure);
    this.path = path;
    this.code = code;
  }
}

/** Returns the error of a `move` to a name that another file has. */
export function nameConflict(from: string, to: string): FatalFailure {
  const text = `cannot rename ${from} to ${to}: another file has that name; move one of them away, then give the same command again`;
  return new FatalFailure({ kind: 'output-unwritable', text });
}

/** Like `read`, but also returns undefined if the file cannot be read. */
export async function readIfReadable(place: Pick<Place, 'read'>, file: string): Promise<Buffer | undefined> {
  try {
    return await place.read(file);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return undefined;
  }
}

/** Size in bytes of the parts in which content is read that may be too large for memory. */
export const readBytes = 8 * 1024 * 1024;

/** Returns the content of a file as parts. Its `length` must be known, since a file in a place never grows. */
export function sourceIn(place: Pick<Place, 'read'>, file: string, length: number): ByteSource {
  return {
    length,
    read: async (at, bytes) => (await place.read(file, { at, length: bytes })) ?? Buffer.alloc(0),
  };
}

/** Returns the sha256 (hex) of a file of any size; undefined if there is no such file. Throws `UnreadableFile`. */
export async function digestIn(place: Pick<Place, 'read'>, file: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  for (let at = 0; ; at += readBytes) {
    const part = await place.read(file, { at, length: readBytes });
    if (part === undefined) return undefined;
    hash.update(part);
    if (part.length < readBytes) return hash.digest('hex');
  }
}

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
    const text = `${whose}. Their scenes would be paid for again. Put the right checkpoint back, or choose another folder in output.pictures. Or take over matching files, each checked, with --adopt; or render everything without a record with --fresh (existing pictures are kept)`;
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
  const { batch, run, hasOthers } = objectIn(bytes.toString()) ?? {};
  return typeof batch === 'string' && typeof run === 'string'
    ? { batch, run, hasOthers: hasOthers === true }
    : undefined;
}

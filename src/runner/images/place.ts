/** A place for pictures: the few operations that a folder and a bucket share. All other work on pictures is written once, above them. */
import { FatalFailure, type Failure } from '../core/failure.ts';

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
  /** Returns the content; undefined if there is none. Throws `UnreadableFile`. */
  read(file: string): Promise<Buffer | undefined>;
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

/** Bytes, or a file on this machine, which is copied. */
export type FileSource = Uint8Array | { path: string };

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

/** Like `read`, but also returns undefined if the file cannot be read. */
export async function readIfReadable(place: Pick<Place, 'read'>, file: string): Promise<Buffer | undefined> {
  try {
    return await place.read(file);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return undefined;
  }
}

/** Where finished pictures are: the few operations that a folder and a bucket share. All that is done with pictures is written once, on top of them. */
import { FatalFailure, type Failure } from '../core/failure.ts';

/**
 * Files by names relative to the place, with `/` between folders. Every method throws `FatalFailure`, with words for the
 * user, if the disk or the store does not do what is asked.
 */
export interface Place {
  /** The place as messages name it: an absolute path, or `s3://bucket/folder/`. */
  readonly name: string;
  /** True if each call is a request over the network: one list is then cheaper than many questions. */
  readonly isRemote: boolean;
  /** True if every attempt has a name of its own there, so that no file is ever in the way of another. */
  readonly isNamedByAttempt: boolean;
  /** Addresses that a browser opens. Undefined if a page on this machine shows the files themselves. */
  readonly links?: PlaceLinks;
  /** Checks that files can be put there, then does `work`; for both, a remote place is waited for no longer than for one call. */
  probe(work: () => Promise<void>): Promise<void>;
  /** Makes the place and removes what earlier runs left half-written. */
  prepare(): Promise<void>;
  /** Returns undefined if there is no such file. Throws `UnreadableFile` if it is there and cannot be read. */
  read(file: string): Promise<Buffer | undefined>;
  /** Returns undefined if nothing has the name. */
  facts(file: string): Promise<FileFacts | undefined>;
  /**
   * Puts the file under its name, durably and whole: at every instant the name has the old file or the new one. False, and
   * nothing is changed, if `isFirst` and something has the name already.
   */
  put(file: string, source: FileSource, how?: HowToPut): Promise<boolean>;
  /** Lists the files below a folder (with a `/` at its end), or all files, but not those that are being written. */
  list(below?: string): AsyncIterable<ListedFile>;
  /**
   * Renames the file, durably; does nothing if that has happened already. Throws `FatalFailure` if another file has the
   * name, unless `isReplacing`.
   */
  move(from: string, to: string, isReplacing?: boolean): Promise<void>;
  /** Makes a file durable that is there already, such as one that a crashed run wrote. */
  makeLast(file: string): Promise<void>;
  /** Removes the file, durably, if it is there. */
  remove(file: string): Promise<void>;
  /** Makes a copy at the path `to` on this machine, where nothing is yet; a hard link if `isLinked` and the disks allow it. False if there is no such file. */
  fetch(file: string, to: string, isLinked: boolean): Promise<boolean>;
}

export interface FileFacts {
  /** What has the name. A link counts as what it leads to; `other` is a pipe, a device, or a link that leads nowhere. */
  kind: 'file' | 'folder' | 'other';
  bytes: number;
  /** Epoch ms. Undefined if a name never gets another content there. */
  writtenAt?: number;
  /** True if the checksum that the place keeps is this sha256 (in hex). Undefined if only reading the file can tell. */
  isOf(sha256: string): boolean | undefined;
}

export interface ListedFile {
  name: string;
  bytes: number;
}

/** Bytes, or a file on this machine, which stays. */
export type FileSource = Uint8Array | { path: string };

export interface HowToPut {
  /** In hex, if it is known. */
  sha256?: string;
  /** True if a file that has the name already stays. */
  isFirst?: boolean;
}

export interface PlaceLinks {
  /** Address that names are appended to, for those who may read the place. */
  at: string;
  /** Returns an address that shows the file to whoever has it, for so long: it is a credential. */
  sign(file: string, ms: number): Promise<string>;
}

/** Thrown for a file that is there and cannot be read, though others can. */
export class UnreadableFile extends FatalFailure {
  readonly path: string;
  /** The system's word, such as `EIO`. Undefined if something other than a file has the name. */
  readonly code: string | undefined;

  constructor(failure: Failure, path: string, code: string | undefined) {
    super(failure);
    this.path = path;
    this.code = code;
  }
}

/** Like `read`, but returns undefined if the file cannot be read either. */
export async function readIfReadable(place: Pick<Place, 'read'>, file: string): Promise<Buffer | undefined> {
  try {
    return await place.read(file);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return undefined;
  }
}

/** The record of a batch, and the check that it is in the place where the batch began. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir, hostname } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { program } from '../lib/files/package-file.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { formatInstant } from '../lib/text/format.ts';
import { objectIn } from '../lib/text/json.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import {
  checkpointFile,
  copiesFolder,
  findLoss,
  LostCommits,
  movedFile,
} from '../runner/checkpoint/find-loss.ts';
import { type OpenCheckpoint, openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { hasEndedRun, hasRunOf, readRunRange } from '../runner/checkpoint/read-summary.ts';
import { hasAttempts, type JobsInFlight } from '../runner/checkpoint/read-totals.ts';
import type { Config } from '../runner/config/config.ts';
import { FatalFailure } from '../runner/core/failure.ts';
import { isSystemError } from '../runner/files/disk-failure.ts';
import { makeFolder } from '../runner/files/folders.ts';
import type { ReadScenes } from '../runner/list/read-scenes.ts';
import type { RunChoices } from './start-choices.ts';
import { shownPath } from './refusal.ts';

/** Value of `checkpoint` and its place in pipeline.yaml. Undefined for a batch with its own checkpoint file. */
export type SharedAddress = { address: string; where: string } | undefined;

/** A file that one run holds, or a database that runs share; not open yet. */
export interface BatchRecord {
  /** Opens the record to read the batch, or to change it while no run is at work. Throws errors of the database. */
  open(): Promise<OpenRecord>;
  /** Opens the record for a run. Throws `BatchInUse` if another run holds the file. */
  openForRun(choices: RunChoices): Promise<RunRecord>;
  /** Opens the record to cancel every job in flight. Throws `BatchInUse`, and errors like `noBatch`. */
  openForCancel(isLossAccepted: boolean): Promise<CancelRecord>;
}

export interface OpenRecord {
  /** Folder in which the checkpoint is readable as `checkpoint.sqlite`, as of the latest `refresh`. */
  dir: string;
  /** True if a run was at work on the batch at the latest `refresh`. */
  isInUse(): boolean;
  refresh(): Promise<void>;
  /**
   * Works on the checkpoint while no run holds it; `prepare` runs before, locked. Throws `BatchInUse`, and
   * `ConfigError` if there is no batch.
   */
  maintain<Result>(
    work: (db: Database) => Promise<Result> | Result,
    prepare?: () => Promise<void>,
  ): Promise<Result>;
  close(): Promise<void>;
}

export interface RunRequest {
  /** Path of pipeline.yaml as given. */
  file: string;
  config: Config;
  choices: RunChoices;
}

export interface RunRecord {
  /** Folder in which the checkpoint is readable, or will be created. */
  dir: string;
  /** Checkpoint to compare the list with: a file, a shared checkpoint, or none yet. */
  recordKind: 'own' | 'shared' | undefined;
  /** Opens the checkpoint. Without scenes, the batch stays as its latest run has left it. */
  begin(request: RunRequest, scenes: ReadScenes | undefined): Promise<BegunRun>;
  close(): Promise<void>;
}

export interface BegunRun {
  opened: OpenCheckpoint;
  /** Jobs that earlier runs left at each endpoint. */
  inFlight: JobsInFlight[];
  /** Number of pictures kept as `.former`. */
  kept: number;
}

export interface CancelRecord {
  /** Folder in which the checkpoint is readable. */
  dir: string;
  /** Opens the checkpoint. The batch stays as its latest run has left it. */
  begin(config: Config): Promise<OpenCheckpoint>;
  close(): Promise<void>;
}

export const stopFirst = 'Stop it first (Ctrl-C, or SIGTERM to its process), or wait for it to end.';

export class NoBatch extends ConfigError {}

/** Returns the error for a folder without a batch: `LostCommits` if it had one, unless its loss is accepted. */
export function noBatch(dir: string, isLossAccepted = false): Error {
  const loss = findLoss(dir);
  if (loss !== undefined && !isLossAccepted) return new LostCommits(dir, loss);
  const text = isLossAccepted
    ? 'no job is on record here; check the service itself for jobs that still run'
    : 'there is no batch here yet; start one with `nightrender run`';
  return new NoBatch([{ where: shownPath(dir), text }]);
}

/**
 * Throws `ConfigError` if the batch began with its own file and is now shared, or vice versa. Unless
 * `isFresh`, also throws if its disk is not mounted. `dir` is the output folder, `sharedAt` the place of
 * `checkpoint` in pipeline.yaml.
 */
export function assertPlace(dir: string, sharedAt: string | undefined, isFresh = false): void {
  if (!isFresh) assertDisk(dir);
  const isOwn = existsSync(checkpointFile(dir));
  if (sharedAt !== undefined && isOwn) {
    const text = `the batch in ${shownPath(dir)} has begun with a checkpoint of its own, ${shownPath(checkpointFile(dir))}, and would be rendered and paid for again; move it to the database with \`nightrender verify <pipeline> --move\`, leave checkpoint out to go on with it, or choose another output.dir for a batch that is shared`;
    throw new ConfigError([{ where: sharedAt, text }]);
  }
  if (sharedAt === undefined && !isOwn && isElsewhere(dir)) {
    const text = `the checkpoint of this batch is in a database (a run with checkpoint: has begun it), and it would be rendered and paid for again; set checkpoint: as it was, move it back to this folder with \`nightrender verify <pipeline> --move\` (DATABASE_URL in the environment says where it is), or choose another output.dir`;
    throw new ConfigError([{ where: shownPath(dir), text }]);
  }
}

/** Throws `ConfigError` if the disk of the batch is not mounted. */
export function assertDisk(dir: string): void {
  if (!isElsewhere(dir)) assertMounted(dir);
}

/** True if the folder has no checkpoint because it is in a database. */
export function isElsewhere(dir: string): boolean {
  return existsSync(copiesFolder(dir)) || existsSync(movedFile(dir));
}

/** Throws `ConfigError` if a batch began in the folder on another file system. */
function assertMounted(dir: string): void {
  const text = whyNotMounted(dir, dir);
  if (text !== undefined) throw new ConfigError([{ where: shownPath(dir), text }]);
}

/**
 * Writes the note of a run that is about to send its first request. `recordDir` is a folder with the readable
 * checkpoint. Throws `FatalFailure` if the disk disappeared while the run began. Returns a warning if a
 * missing disk will not be noticed, or would not have been.
 */
export function noteBatch(dir: string, recordDir: string, isFresh: boolean, now: number): string | undefined {
  const place = placeOf(dir);
  assertStillThere(dir, recordDir, isFresh);
  let isNoted = false;
  try {
    const file = noteFile(place.path);
    const hadNote = existsSync(file);
    const known = unlessRefused(() => readNote(place.path));
    isNoted = known !== undefined && isSameFileSystem(known, place);
    const firstStartAt = known?.firstStartAt ?? now;
    for (const path of namesOf(dir, place)) writeNote({ ...place, ...runsIn(recordDir), path, firstStartAt });
    const what = `the note ${file}, which shows if a disk is not mounted,`;
    if (hadNote && known === undefined) return `${what} was damaged; it was written again`;
    if (!hadNote && wasRunHere(recordDir))
      return `${what} was missing: it was deleted since the last run, could not be written then, or the folder was moved; it was written again`;
    return undefined;
  } catch (error) {
    if (!isSystemError(error) && !(error instanceof FatalFailure)) throw error;
    if (isNoted) return undefined;
    return `the disk on which this batch began cannot be recorded (${error.message}); a later run will not notice if that disk is not mounted. Set XDG_STATE_HOME to a writable folder`;
  }
}

/** Returns why the disk seems unmounted. A batch with submissions is right, unless it is an older copy. */
function whyNotMounted(dir: string, recordDir: string): string | undefined {
  const place = unlessRefused(() => placeOf(dir));
  if (place === undefined) return undefined;
  const notes = namesOf(dir, place).map((path) => unlessRefused(() => readNote(path)));
  const known = notes.find((note) => note !== undefined && !isSameFileSystem(note, place));
  if (known === undefined) return undefined;
  const { begunAt, run = 0 } = runsIn(recordDir);
  const isOlder = begunAt !== undefined && begunAt === known.begunAt && run < (known.run ?? 0);
  if (!isOlder && isIn(recordDir, hasAttempts)) return undefined;
  const began = `a batch began here on ${formatInstant(known.firstStartAt)}, when this folder was on ${described(known)}. Now it is on ${described(place)}${isOlder ? ', with an older copy of the batch' : ''}`;
  const orAfresh =
    'or, if that batch is gone for good, begin afresh with `nightrender run <pipeline> --fresh`';
  // Both file systems lead to the folder.
  return place.mountPoint.length > known.mountPoint.length
    ? `${began}, which was mounted over the folder. The files that were saved before are hidden beneath it, and would be rendered and paid for again. Unmount that disk and give the same command again; ${orAfresh}`
    : `${began}. Its disk is probably not mounted, and the files on it would be rendered and paid for again. Mount it and give the same command again; ${orAfresh}`;
}

/** Throws if the folder has disappeared. Open files may belong to another folder than the name by now. */
function assertStillThere(dir: string, recordDir: string, isFresh: boolean): void {
  const own = { pid: process.pid, host: hostname() };
  const isThere = isIn(recordDir, (db) => hasRunOf(db, own));
  const moved = isThere
    ? undefined
    : 'the output folder disappeared while the run began: it was moved, or its disk was unmounted. Put it back and give the same command again';
  const text = moved ?? (isFresh ? undefined : whyNotMounted(dir, recordDir));
  if (text === undefined) return;
  throw new FatalFailure({ kind: 'output-unwritable', text: `${shownPath(dir)}: ${text}. Nothing was sent` });
}

interface Place {
  /** Absolute path of the folder without links. The folder need not exist. */
  path: string;
  /** Mount point, also for a missing folder. A device number would change at a reboot. */
  mountPoint: string;
  /** UUID of the file system. Undefined for network folders, containers and systems other than Linux. */
  uuid: string | undefined;
}

/** Progress of a batch: the start of its first run, which is unique, and the number of its latest. */
interface Runs {
  begunAt?: number | undefined;
  run?: number | undefined;
}

/** Note of the batch's file system, to tell an unmounted disk from an empty folder. */
interface KnownBatch extends Place, Runs {
  firstStartAt: number;
}

/** True if both places are on the same file system. UUIDs decide if both are known. */
export function isSameFileSystem(a: Place, b: Place): boolean {
  return a.uuid === undefined || b.uuid === undefined ? a.mountPoint === b.mountPoint : a.uuid === b.uuid;
}

function described({ mountPoint, uuid }: Place): string {
  return `the file system at ${mountPoint}${uuid === undefined ? '' : ` (UUID ${uuid})`}`;
}

/** Finds the place of a folder. Throws system errors. `disks`: links to devices by UUID. */
export function placeOf(dir: string, disks = '/dev/disk/by-uuid'): Place {
  const path = realPath(dir);
  let mountPoint = path;
  while (!existsSync(mountPoint)) mountPoint = dirname(mountPoint);
  const { dev } = statSync(mountPoint);
  while (statSync(dirname(mountPoint)).dev === dev && dirname(mountPoint) !== mountPoint)
    mountPoint = dirname(mountPoint);
  const isOfDisk = (uuid: string): boolean =>
    statSync(join(disks, uuid), { throwIfNoEntry: false })?.rdev === dev;
  const uuid = unlessRefused(() => readdirSync(disks).find(isOfDisk));
  return { path, mountPoint, uuid };
}

/** Resolves links, even if the path does not exist at present. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (!isSystemError(error) || error.code !== 'ENOENT' || dirname(path) === path) throw error;
    const above = realPath(dirname(path));
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return isLink ? realPath(resolve(above, readlinkSync(path))) : join(above, basename(path));
  }
}

/** Returns the path with and without links, because a link to the folder may be on the missing disk. */
function namesOf(dir: string, { path }: Place): string[] {
  return [...new Set([path, resolve(dir)])];
}

/** Returns the file of a note. Each path has its own file, so no two runs write the same one. */
function noteFile(path: string): string {
  return join(notesFolder(), `${createHash('sha256').update(path).digest('hex').slice(0, 32)}.json`);
}

function notesFolder(): string {
  const { XDG_STATE_HOME: given = '' } = process.env;
  return join(isAbsolute(given) ? given : join(homedir(), '.local', 'state'), 'nightrender', 'batches');
}

/** Maximum number of notes. Older notes are deleted. */
const maxNotes = 1_000;
const maxNoteBytes = 65_536;

/** Reads a note. Undefined if there is none or it is damaged. Throws system errors. */
function readNote(path: string): KnownBatch | undefined {
  const file = noteFile(path);
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true || stats.size > maxNoteBytes) return undefined;
  const note = objectIn(readFileSync(file, 'utf8'));
  if (note?.['path'] !== path) return undefined;
  const { mountPoint, uuid, firstStartAt, begunAt, run } = note;
  if (typeof mountPoint !== 'string' || typeof firstStartAt !== 'number') return undefined;
  // Earlier versions did not record the progress.
  const runs = typeof begunAt === 'number' && typeof run === 'number' ? { begunAt, run } : {};
  return { path, mountPoint, uuid: typeof uuid === 'string' ? uuid : undefined, firstStartAt, ...runs };
}

/** Writes the note atomically, even if the power fails. */
function writeNote(note: KnownBatch): void {
  const file = noteFile(note.path);
  const temporary = `${file}.${process.pid}.tmp`;
  makeFolder(dirname(file), 0o700);
  try {
    writeFileSync(temporary, JSON.stringify(note), { mode: 0o600, flush: true });
    renameSync(temporary, file);
  } finally {
    rmSync(temporary, { force: true });
  }
  forgetOldest(dirname(file));
}

function forgetOldest(folder: string): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  if (files.length <= maxNotes) return;
  const lastStartOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const byAge = files.map((file) => ({ file, at: lastStartOf(file) })).toSorted((a, b) => a.at - b.at);
  for (const { file } of byAge.slice(0, files.length - maxNotes)) rmSync(file, { force: true });
}

/** True if an earlier run of this version ended on this machine, so there should be a note. */
function wasRunHere(recordDir: string): boolean {
  return isIn(recordDir, (db) => hasEndedRun(db, { host: hostname(), program }));
}

function runsIn(recordDir: string): Runs {
  const db = openCheckpointForReading(recordDir);
  try {
    return (db && readRunRange(db)) ?? {};
  } finally {
    db?.close();
  }
}

/** Returns false if there is no checkpoint. */
function isIn(recordDir: string, isTrue: (db: Database) => boolean): boolean {
  const db = openCheckpointForReading(recordDir);
  try {
    return db !== undefined && isTrue(db);
  } finally {
    db?.close();
  }
}

/** Returns undefined for system errors, because they prove nothing. */
function unlessRefused<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return undefined;
  }
}

/** Explains why a command was refused, with obstacles that are visible on the disk, and formats paths and commands. */
import { accessSync, closeSync, constants, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { InUse } from '../lib/files/temporary-files.ts';
import { PostgresFailure } from '../lib/postgres/postgres.ts';
import { assertReadable, isDamage, UnusableDatabase } from '../lib/sqlite/database.ts';
import { formatInstant, shellWord } from '../lib/text/format.ts';
import { ConfigError, type Problem } from '../lib/yaml/problem.ts';
import { BatchInUse } from '../runner/checkpoint/batch-lock.ts';
import { checkpointFile } from '../runner/checkpoint/find-loss.ts';
import { UnusableSchema } from '../runner/checkpoint/postgres/shared-schema.ts';
import type { Config } from '../runner/config/config.ts';
import type { EndingKind } from '../runner/core/ending.ts';
import { FatalFailure } from '../runner/core/failure.ts';
import { PlanRefused } from '../runner/core/batch-plan.ts';
import { asDiskFailure, diskFailure, isSystemError } from '../runner/files/disk-failure.ts';
import { StoppedEarly } from '../runner/pipeline/stop.ts';

export interface Refusal {
  ending: EndingKind;
  /** One sentence. The problems follow it. */
  text: string;
  problems: Problem[];
}

/** Explains an error; undefined for a bug. `isReading`: the text need not say that nothing was sent. */
export function refusalOf(thrown: unknown, dir: string | undefined, isReading = false): Refusal | undefined {
  const shownDir = dir === undefined ? 'the output folder' : shownPath(dir);
  if (thrown instanceof ConfigError) {
    const { problems } = thrown;
    const count = problems.reduce((sum, problem) => sum + (problem.count ?? 1), 0);
    const found = count === 1 ? 'One problem was' : `${count.toLocaleString('en')} problems were`;
    const untouched = isReading ? '' : '; nothing was sent and nothing written';
    return { ending: 'wrong-use', text: `${found} found${untouched}.`, problems };
  }
  if (thrown instanceof StoppedEarly)
    return { ending: thrown.ending.kind, text: thrown.message, problems: [] };
  if (thrown instanceof BatchInUse)
    return { ending: 'already-running', text: describeHolder(thrown, shownDir), problems: [] };
  if (thrown instanceof InUse) return { ending: 'already-running', text: `${thrown.message}.`, problems: [] };
  if (thrown instanceof UnusableDatabase || thrown instanceof UnusableSchema)
    return { ending: 'wrong-use', text: `${thrown.message}.`, problems: [] };
  if (thrown instanceof PlanRefused) return { ending: 'wrong-use', text: thrown.message, problems: [] };
  if (thrown instanceof PostgresFailure) {
    const ending = thrown.kind === 'gone' ? 'output-unwritable' : 'wrong-use';
    return {
      ending,
      text: `${thrown.message}; check its address and the database, then run the same command again.`,
      problems: [],
    };
  }
  if (thrown instanceof FatalFailure)
    return { ending: 'output-unwritable', text: `${thrown.message}.`, problems: [] };
  const lock = isDamage(thrown) && dir !== undefined ? damagedLock(dir) : undefined;
  if (lock !== undefined)
    return { ending: 'wrong-use', text: `${lock}, then run the same command again.`, problems: [] };
  if (isDamage(thrown)) {
    const unreadable = dir === undefined ? undefined : whyUnreadable(dir);
    if (unreadable !== undefined) return refusalOf(unreadable, dir, isReading);
    const text = `The checkpoint in ${shownDir} is damaged, or its disk could not read it (${(thrown as Error).message}); it was not changed. Give the same command again; if it says the same, put a copy back, or repair it with \`nightrender verify <pipeline> --repair\`.`;
    return { ending: 'wrong-use', text, problems: [] };
  }
  if (thrown instanceof Error && thrown.message.startsWith('Could not load the "sharp" module'))
    return { ending: 'output-unwritable', text: sharpLacking, problems: [] };
  const unheard = whyNotListening(thrown);
  if (unheard !== undefined) return { ending: 'wrong-use', text: unheard, problems: [] };
  const disk = describeDisk(thrown, dir, shownDir);
  return disk === undefined ? undefined : { ending: 'output-unwritable', text: disk, problems: [] };
}

/** SQLite reports the same error for damage and for a disk that cannot read the file. */
function whyUnreadable(dir: string): unknown {
  try {
    assertReadable(checkpointFile(dir));
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The error of sharp does not distinguish these two causes. */
const sharpLacking =
  'The package sharp, which decodes pictures, cannot be loaded: either too many files are open (EMFILE; raise the limit with ulimit -n), or its binary for this machine is missing (install nightrender again). Then run the same command again.';

/** Returns undefined for other errors. */
function whyNotListening(thrown: unknown): string | undefined {
  const { code, syscall, address, hostname, port } = thrown as Record<string, unknown>;
  if (code === 'EADDRINUSE')
    return `Port ${String(port)} is in use by another program: end that program, or choose another port with --port.`;
  const host = String(address ?? hostname);
  if (code === 'EADDRNOTAVAIL')
    return `This machine has no address ${host} to listen on; choose another with --host.`;
  if (syscall === 'getaddrinfo') return `${host} is not a name of this machine; choose another with --host.`;
  if (syscall === 'listen' && code === 'EACCES')
    return `Port ${String(port)} needs special permission; choose one above 1023 with --port.`;
  return undefined;
}

/** Returns undefined for other errors. */
function describeDisk(thrown: unknown, dir: string | undefined, shownDir: string): string | undefined {
  const failure = asDiskFailure(thrown, shownDir);
  const seen = failure && dir !== undefined ? explainBlockedPath(thrown as Error, dir) : undefined;
  const text = seen ?? failure?.message;
  if (text === undefined || text.endsWith('again')) return text && `${text}.`;
  return `${text}, then run the same command again.`;
}

function describeHolder({ holder, advice }: BatchInUse, shownDir: string): string {
  const who =
    holder === undefined
      ? 'another run'
      : `another run, process ${holder.pid} on ${holder.host} since ${formatInstant(holder.since)},`;
  return `${who} holds the batch in ${shownDir}; it is not affected.${advice === '' ? '' : ` ${advice}`}`;
}

/** Like `refusalOf`, with complete commands for this batch. */
export function namedRefusal(
  thrown: unknown,
  dir: string | undefined,
  others: string,
  isReading = false,
): Refusal | undefined {
  const refusal = refusalOf(thrown, dir, isReading);
  const named = <Said extends { text: string }>(said: Said): Said => ({
    ...said,
    text: withFileNamed(said.text, others),
  });
  return refusal && { ...named(refusal), problems: refusal.problems.map(named) };
}

const databases = ['checkpoint.sqlite', '.lock.sqlite', 'service.sqlite', 'keys.sqlite', 'lock.sqlite'];
const besides = ['', '-wal', '-shm', '-journal'];

/** Finds the path that blocks the work, which SQLite errors do not name; undefined if none is visible. */
function explainBlockedPath(
  error: Error & { path?: unknown; dest?: unknown },
  dir: string,
): string | undefined {
  const path = error.dest ?? error.path;
  if (isSystemError(error) && typeof path === 'string') return diskFailure(nearestThere(path), error).message;
  const folders = [dir, join(dir, 'images'), join(dir, 'report'), join(dir, 'local-service')];
  const paths = folders.flatMap((folder) => [
    ...databases.flatMap((name) => besides.map((end) => join(folder, name + end))),
    folder,
  ]);
  return paths.map((each) => obstacle(each, folders.includes(each))).find((text) => text !== undefined);
}

/** Returns why a run could not write its files, as far as is visible without writing. Undefined if it could. */
export function notWritable(dir: string): string | undefined {
  if (isThere(dir)) return explainBlockedPath(new Error(), dir);
  const parent = nearestThere(dirname(dir));
  return obstacle(parent, true);
}

/** Returns a message if a lock file, which should be empty, has other content. */
function damagedLock(dir: string): string | undefined {
  const locks = [join(dir, '.lock.sqlite'), join(dir, 'lock.sqlite'), join(dir, 'local-service/lock.sqlite')];
  const lock = locks.find((path) => isThere(path) && statSync(path).isFile() && !isSqlite(path));
  return lock && `${shownPath(lock)} is damaged; it is only a lock and holds no data: remove it`;
}

/** Returns the nearest existing parent folder. Only an existing path can be fixed. */
function nearestThere(path: string): string {
  return isThere(path) || dirname(path) === path ? path : nearestThere(dirname(path));
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

function obstacle(path: string, isFolderWanted: boolean): string | undefined {
  if (!isThere(path)) return undefined;
  const shown = shownPath(path);
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return `${shown} is a broken link; fix or remove it`;
  if (isFolderWanted && !stats.isDirectory()) return `${shown} is a file, but must be a folder; move it away`;
  if (!isFolderWanted && stats.isDirectory()) return `${shown} is a folder, but must be a file; move it away`;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch {
    const denied = isFolderWanted ? `cannot write to the folder ${shown}` : `cannot read and write ${shown}`;
    return `this user ${denied}; give this user access to it, or choose another output.dir`;
  }
}

function isSqlite(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const start = Buffer.alloc(16);
    const length = readSync(file, start);
    return length === 0 || start.toString('latin1') === 'SQLite format 3\0';
  } finally {
    closeSync(file);
  }
}

/** Returns the path relative to the working directory if it is inside, unless that is `/`. */
export function shownPath(path: string): string {
  if (path === '-') return 'standard input';
  if (process.cwd() === '/') return path;
  const short = relative('', path) || '.';
  return short.startsWith('..') ? path : short;
}

/** Returns the manifests, or the pipeline.yaml of the batch before. If there is neither, `file` contains the list. */
export function shownLists({ manifest, stage }: Config, file: string): string[] {
  if (stage !== undefined) return [shownPath(stage.from)];
  return manifest.length === 0 ? [shownPath(file)] : manifest.map(shownPath);
}

/** Returns a note about the kept files, or undefined if there are none. */
export function keptText(count: number, dir: string): string | undefined {
  if (count === 0) return undefined;
  const kept =
    count === 1 ? '1 file that was there is' : `${count.toLocaleString('en')} files that were there are`;
  return `${kept} kept as <name>.former in ${shownPath(join(dir, 'images'))}`;
}

/** Returns the arguments as given, for the same folder. `output`: if it differs from the file's. */
export function commandArguments(file: string, output: unknown): string {
  return [file, ...(typeof output === 'string' ? ['--output', output] : [])].map(shellWord).join(' ');
}

/** Inserts the arguments. The code that throws an error does not know the name of the file. */
export function withFileNamed(text: string, others: string): string {
  return text.replaceAll('<pipeline>', () => others);
}

export function configuredArguments(file: string, { output: { dir, isOverridden } }: Config): string {
  return commandArguments(file, isOverridden ? shownPath(dir) : undefined);
}

/**
 * Returns the arguments of `nightrender run`. `others` are those of other commands, which have no manifest.
 * `lists` are the manifests of the batch if they differ from the file's; without them another list would be
 * rendered.
 */
export function runArguments(others: string, lists: readonly string[] = []): string {
  const words = lists.flatMap((path) => ['--manifest', path === '-' ? path : shownPath(path)]);
  return [others, ...words.map(shellWord)].join(' ');
}

export function configuredRun(file: string, config: Config): string {
  const { manifest, isManifestOverridden } = config;
  return runArguments(configuredArguments(file, config), isManifestOverridden ? manifest : []);
}

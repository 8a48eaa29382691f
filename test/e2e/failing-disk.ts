/** Makes a disk fail at one call of the built program, with a library that is compiled here and preloaded. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program, root, type CliOptions, type Finished } from './cli.ts';

export const diskCalls = ['open', 'read', 'write', 'fsync', 'rename', 'unlink', 'ftruncate'] as const;
export type DiskCall = (typeof diskCalls)[number];

export const diskErrors = ['EIO', 'EDQUOT', 'ESTALE', 'ENOSPC', 'EROFS', 'ENODEV'] as const;

export interface DiskFault {
  call: DiskCall;
  /** Number of the call that fails, from 1. */
  nth: number;
  error: (typeof diskErrors)[number];
  /** True if all later calls fail too. */
  isLasting: boolean;
}

export interface Faulted extends Finished {
  /** Number of calls of each kind on files below the folder, if the program ended by itself. */
  calls: Record<DiskCall, number>;
  /** File of the first failed call. Undefined if none failed. */
  failedAt: string | undefined;
  /** True if the program hung and was killed. */
  isHanging: boolean;
}

const folder = mkdtempSync(join(tmpdir(), 'nightrender-failing-disk-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Path of the library. Undefined if this is not Linux or there is no compiler. */
const library = compile();
export const canFail = library !== undefined;

/** Longer than any command of these batches takes, even on a busy machine. */
const patienceMs = 90_000;

let runs = 0;

/** Runs the program with such a disk for files below `under`. Without a fault, the calls are counted. */
export async function onFailingDisk(
  args: string[],
  under: string,
  fault: DiskFault | undefined,
  { cwd, env }: Required<Pick<CliOptions, 'cwd' | 'env'>>,
): Promise<Faulted> {
  const told = join(folder, `told-${++runs}`);
  const failing = fault && {
    FAULT_CALL: fault.call,
    FAULT_NTH: String(fault.nth),
    FAULT_ERRNO: String(constants.errno[fault.error]),
    ...(fault.isLasting && { FAULT_LASTS: '1' }),
  };
  // Calls through io_uring bypass the library.
  const preloaded = { LD_PRELOAD: library ?? '', UV_USE_IO_URING: '0', FAULT_UNDER: under, FAULT_TOLD: told };
  const program = new Program(args, { cwd, env: { ...env, ...preloaded, ...failing } });
  let isHanging = false;
  const timer = setTimeout(() => {
    isHanging = true;
    program.child.kill('SIGKILL');
  }, patienceMs);
  const finished = await program.finish();
  clearTimeout(timer);
  const lines = existsSync(told) ? readFileSync(told, 'utf8').split('\n') : [];
  rmSync(told, { force: true });
  const wordAfter = (word: string): string | undefined =>
    lines.find((line) => line.startsWith(`${word} `))?.slice(word.length + 1);
  const calls = Object.fromEntries(diskCalls.map((call) => [call, Number(wordAfter(call) ?? 0)]));
  return { ...finished, calls: calls as Record<DiskCall, number>, failedAt: wordAfter('failed'), isHanging };
}

function compile(): string | undefined {
  if (process.platform !== 'linux') return undefined;
  const made = join(folder, 'failing-disk.so');
  try {
    execFileSync('cc', [
      '-shared',
      '-fPIC',
      '-O1',
      '-o',
      made,
      join(root, 'test/fixtures/failing-disk.c'),
      '-ldl',
    ]);
    return made;
  } catch {
    return undefined;
  }
}

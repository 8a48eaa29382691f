/** A disk that fails at one call of the built program, by a library that is compiled here and preloaded into it. */
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
  /** Which of these calls fails, from 1. */
  nth: number;
  error: (typeof diskErrors)[number];
  /** All that follow fail, too. */
  isLasting: boolean;
}

export interface Faulted extends Finished {
  /** How many of each call there were on files below the folder, where the program came to its end. */
  calls: Record<DiskCall, number>;
  /** The file whose call failed first; undefined where none did. */
  failedAt: string | undefined;
  /** Whether it had to be ended. */
  isHanging: boolean;
}

const folder = mkdtempSync(join(tmpdir(), 'nightrender-failing-disk-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

/** The library; undefined where there is no Linux or no compiler. */
const library = compile();
export const canFail = library !== undefined;

/** No command of a test's batch takes so long, on a machine however busy. */
const patienceMs = 90_000;

let runs = 0;

/** Runs the program with the files below `under` on such a disk; without a fault its calls are counted. */
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
  // What goes through io_uring is no call of the library's.
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

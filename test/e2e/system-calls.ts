/** Records the system calls of the built program with `strace`. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { ownPlaces, root, type Finished } from './cli.ts';

export interface SystemCall {
  name: string;
  /** Arguments as `strace` prints them: file descriptors with their paths, and non-ASCII bytes escaped. */
  args: string;
  /**
   * Positions in the order of all beginnings and ends. A call that ended before another began was surely done
   * before it.
   */
  begin: number;
  end: number;
}

/** True if `strace` is installed and may trace other processes. */
export const canTrace = process.platform === 'linux' && triesToTrace();

/** System calls that write, sync and rename, in all variants. */
const traced =
  'write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,fsync,fdatasync,rename,renameat,renameat2';

/** Length of printed texts, which is more than a page of a database. */
const maxTextLength = 16_384;

/**
 * Runs nightrender in `cwd`. Resolves to its system calls, ordered by their beginning, once it has ended with
 * 0.
 */
export function tracedRun(args: string[], cwd: string, env: Record<string, string>): Promise<SystemCall[]> {
  return tracedNode([join(root, 'dist/nightrender.cjs'), ...args], cwd, env);
}

/** Like `tracedRun`, but with any arguments of Node. */
export async function tracedNode(
  args: string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<SystemCall[]> {
  const file = join(cwd, 'trace.txt');
  const how = ['-f', '-y', '-s', String(maxTextLength), '-e', `trace=${traced}`, '-o', file];
  const { code } = await underStrace(how, args, cwd, env);
  if (code !== 0) throw new Error(`the traced program ended with ${code}`);
  return parseTrace(readFileSync(file, 'latin1'));
}

/** Runs nightrender in `cwd`. Every sync of the checkpoint's log by a background thread fails. */
export function runOnFailingDisk(
  args: string[],
  cwd: string,
  env: Record<string, string>,
): Promise<Finished> {
  const how = [
    '-f',
    '-e',
    'trace=fdatasync',
    '-e',
    'inject=fdatasync:error=EIO',
    '-o',
    join(cwd, 'trace.txt'),
  ];
  return underStrace(how, [join(root, 'dist/nightrender.cjs'), ...args], cwd, env);
}

async function underStrace(
  how: string[],
  args: string[],
  cwd: string,
  env: Record<string, string>,
): Promise<Finished> {
  const child = spawn('strace', [...how, process.execPath, ...args], {
    cwd,
    // strace does not see operations through io_uring.
    env: { ...ownPlaces(), UV_USE_IO_URING: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, 'exit');
  return { code: child.exitCode, stdout, stderr };
}

/**
 * Parses the output of strace. A call that was interrupted by others has two lines: its beginning with the
 * arguments, and its end.
 */
export function parseTrace(trace: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const open = new Map<string, SystemCall>();
  for (const [place, line] of trace.split('\n').entries()) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = open.get(thread);
    if (rest.startsWith('<... ') && resumed !== undefined) {
      resumed.end = place;
      open.delete(thread);
    }
    const [, name, args = ''] = /^(\w+)\((.*)$/.exec(rest) ?? [];
    if (name === undefined) continue;
    const isUnfinished = args.endsWith('<unfinished ...>');
    const call = { name, args, begin: place, end: isUnfinished ? Infinity : place };
    if (isUnfinished) open.set(thread, call);
    calls.push(call);
  }
  return calls;
}

function triesToTrace(): boolean {
  try {
    execFileSync('strace', ['-o', '/dev/null', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

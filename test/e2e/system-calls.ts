/** The system calls of the built program, as `strace` tells of them. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { ownPlaces, root, type Finished } from './cli.ts';

export interface SystemCall {
  name: string;
  /** As `strace` writes them: paths with the descriptors, bytes beyond ASCII escaped. */
  args: string;
  /** Places in the order of all beginnings and ends; what ended before another began was surely done before it. */
  begin: number;
  end: number;
}

/** Whether `strace` is there and may look at other processes. */
export const canTrace = process.platform === 'linux' && triesToTrace();

/** What writes, makes lasting and renames, under any of its names. */
const traced =
  'write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,fsync,fdatasync,rename,renameat,renameat2';

/** More than a page of a database. */
const maxTextLength = 16_384;

/** Runs nightrender in `cwd`; resolves to its calls by their beginning, once it has ended with 0. */
export function tracedRun(args: string[], cwd: string, env: Record<string, string>): Promise<SystemCall[]> {
  return tracedNode([join(root, 'dist/nightrender.cjs'), ...args], cwd, env);
}

/** As above, for anything that Node runs. */
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

/** Runs nightrender in `cwd` with every sync of the checkpoint's log that its own thread does not wait for failing. */
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
    // What goes through io_uring is no system call.
    env: { ...ownPlaces(), UV_USE_IO_URING: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, 'exit');
  return { code: child.exitCode, stdout, stderr };
}

/** A call that others ran beside stands in two lines: its beginning with the arguments, and its end. */
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

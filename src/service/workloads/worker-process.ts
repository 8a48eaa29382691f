/** Runs a process in its own process group. Its descendants end with it, and all end with the service. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { helperEnvironment, markName } from './worker-environment.ts';

/** Time between SIGTERM and SIGKILL. */
const graceMs = 5_000;
/** Time for the remaining descendants to end, and again for the pipes to close, which other processes may hold open. */
const drainMs = 1_000;

export interface ProcessOptions {
  /** Subject of messages about the process, such as `the worker's process`. */
  title: string;
  command: readonly string[];
  cwd: string | null;
  environment: NodeJS.ProcessEnv;
  /** Memory limit of the process and its children together; null for none. */
  memoryBytes: number | null;
  /** Gives the process a two-way pipe as file descriptor 3, instead of a standard input. */
  hasChannel?: boolean;
  /** Marks the environment of all descendants, so that daemons, which leave the group, are killed as well. */
  isMarked?: boolean;
  /** Command to run if the service is killed. */
  cleanUp?: readonly string[];
}

/** Pipes of a process. A process has either `stdin` or `channel`. */
export interface Pipes {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  channel: Duplex;
}

export class WorkerProcess {
  readonly pipes: Pipes;
  /** Resolves with the reason, after the process and its descendants have ended and all output was read. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  /** Id of the process group, which equals the id of the process. */
  readonly #group: number;
  readonly #mark: string | undefined;
  #reason: string | undefined;
  #hasExited = false;

  /** Starts a process. Rejects with a message for people if it cannot be started. */
  static async start(options: ProcessOptions): Promise<WorkerProcess> {
    const { command, cwd, environment, hasChannel = false, isMarked = false } = options;
    const mark = isMarked ? makeMark() : undefined;
    try {
      const [program = '', ...rest] = command;
      const child = spawn(program, rest, {
        cwd: cwd ?? undefined,
        env: mark === undefined ? environment : { ...environment, [mark.name]: mark.value },
        stdio: [hasChannel ? 'ignore' : 'pipe', 'pipe', 'pipe', hasChannel ? 'pipe' : 'ignore'],
        detached: true,
      });
      await once(child, 'spawn');
      return new WorkerProcess(child, options, mark?.value);
    } catch (error) {
      throw new Error(`${options.title} cannot be started: ${reasonOf(error, options)}`, { cause: error });
    }
  }

  private constructor(child: ChildProcess, options: ProcessOptions, mark: string | undefined) {
    this.#child = child;
    this.#mark = mark;
    const { stdin, stdout, stderr, stdio } = child;
    this.pipes = { stdin, stdout, stderr, channel: stdio[3] } as Pipes;
    // Without an id, the group would be 0, which means the group of the service itself.
    if (child.pid === undefined) throw new Error('it has no process id');
    this.#group = child.pid;
    child.on('error', () => undefined);
    const liftGuard = guardProcesses({ group: this.#group, mark, cleanUp: options.cleanUp });
    const endWatch = this.#watch(options);
    this.ended = this.#untilEnded(options.title).finally(() => {
      endWatch();
      liftGuard();
    });
  }

  /** Exit code; null while the process runs, or if it was killed. */
  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  /** Memory of the process and its children in bytes; 0 if /proc does not tell. */
  get memoryBytes(): number {
    return residentBytes(this.#group);
  }

  /** Ends the process and its children: SIGTERM, then SIGKILL after 5 s. The first reason that is given is reported. */
  async end(reason: string): Promise<void> {
    this.#reason ??= reason;
    this.#signal('SIGTERM');
    const force = setTimeout(() => this.#signal('SIGKILL'), graceMs);
    await this.ended;
    clearTimeout(force);
  }

  #watch({ memoryBytes, title }: ProcessOptions): () => void {
    if (memoryBytes === null) return () => undefined;
    return watchMemory(this.#group, memoryBytes, () => {
      this.#reason ??= `${title} exceeded its ${Math.ceil(memoryBytes / 2 ** 20)} MiB of memory and was killed`;
      this.#signal('SIGKILL');
    });
  }

  async #untilEnded(title: string): Promise<string> {
    const closed = new Promise<void>((resolve) => this.#child.once('close', () => resolve()));
    const how = await exitOf(this.#child);
    // A reason that is given after the exit is too late to be the true one.
    const reason = (this.#reason ??= `${title} ${how}`);
    this.#hasExited = true;
    await killFamily(this.#group, this.#mark, drainMs);
    const timer = setTimeout(() => {
      for (const stream of this.#child.stdio) stream?.destroy();
    }, drainMs);
    await closed;
    clearTimeout(timer);
    return reason;
  }

  #signal(signal: NodeJS.Signals): void {
    if (!this.#hasExited) signalTo(-this.#group, signal);
  }
}

/** Pause between two checks for remaining processes. */
const pauseMs = 20;

/** Returns an environment variable that marks a process. Its child processes inherit the mark. */
function makeMark(): { name: string; value: string } {
  return { name: markName, value: randomUUID() };
}

/** Kills a process and its descendants, by group and mark, until none is left or after `withinMs`. */
async function killFamily(group: number, mark: string | undefined, withinMs: number): Promise<void> {
  signalTo(-group, 'SIGKILL');
  if (mark === undefined) return;
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const left = await markedProcesses(mark);
    for (const pid of left) signalTo(pid, 'SIGKILL');
    if (left.length === 0 || performance.now() > giveUpAt) return;
    await sleep(pauseMs);
  }
}

/** Sends a signal. A negative number is a process group; on Windows, which has no groups, only its first process. */
function signalTo(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === 'win32' ? Math.abs(target) : target, signal);
  } catch {
    // The process or group has ended already.
  }
}

/** Returns ids of running processes with the mark; none without /proc. Zombies have no environment, so never match. */
async function markedProcesses(mark: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => ((await hasMark(pid, mark)) ? [Number(pid)] : [])),
  );
  return found.flat();
}

/** True if a process has the mark. Processes of other users are unreadable, and were not started by this service. */
async function hasMark(pid: string, mark: string): Promise<boolean> {
  return readFile(`/proc/${pid}/environ`).then(
    (environment) => environment.includes(mark),
    () => false,
  );
}

function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) =>
    child.once('exit', (code, signal) =>
      resolve(signal === null ? `exited with code ${code}` : `was killed by ${signal}`),
    ),
  );
}

function reasonOf(error: unknown, { command, cwd }: ProcessOptions): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && cwd !== null && !existsSync(cwd)) return `there is no folder ${cwd}`;
  if (code === 'ENOENT') return `there is no program ${command[0]}`;
  if (code === 'ERR_INVALID_ARG_VALUE' && command.length === 0) return 'no program is named';
  if (code === 'EACCES') return `${command[0]} may not be executed`;
  return message;
}

/** Interval of memory checks. */
const everyMs = 500;

/** Calls `onExceeded` once when a process and its children use more than `maxBytes`. The returned function ends the watch. */
function watchMemory(pid: number, maxBytes: number, onExceeded: () => void): () => void {
  const timer = setInterval(() => {
    if (residentBytes(pid) <= maxBytes) return;
    clearInterval(timer);
    onExceeded();
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/** Returns the resident memory of a process and its descendants; 0 if unknown. Shared memory counts several times. */
function residentBytes(pid: number): number {
  try {
    const kilobytes = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const children = childrenOf(pid).map(residentBytes);
    return children.reduce((sum, bytes) => sum + bytes, Number(kilobytes ?? 0) * 1024);
  } catch {
    // The process has just ended, or there is no /proc.
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  const texts = readdirSync(`/proc/${pid}/task`).map((thread) => readChildren(pid, thread));
  return texts.join(' ').split(' ').filter(Boolean).map(Number);
}

/** Returns the ids of a thread's child processes. Some kernels lack this file. */
function readChildren(pid: number, thread: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Shell script of the guard, which outlives a killed service. Its standard input ends with the service. Two seconds
 * later, which workers have to exit by themselves, it kills the process group and marked processes. A line on its
 * standard input ends the guard without that. Arguments: process group, mark, and the clean-up command.
 */
const script = `
trap '' HUP INT TERM
read -r line && exit
sleep 2
kill -s KILL -- "-$1"
if [ -n "$2" ]; then
  for environment in /proc/[0-9]*/environ; do
    if grep -qsF -e "$2" "$environment"; then
      pid=\${environment#/proc/}
      kill -s KILL "\${pid%/environ}"
    fi
  done
fi
shift 2
[ $# -eq 0 ] || exec "$@"
`;

interface Guarded {
  group: number;
  /** Mark in the environment of further processes to kill; see `worker-environment.ts`. */
  mark?: string | undefined;
  /** Command to run at the end. */
  cleanUp?: readonly string[] | undefined;
}

/** Starts a guard that kills a process group if the service dies. The returned function ends the guard. Needs /bin/sh. */
function guardProcesses({ group, mark = '', cleanUp = [] }: Guarded): () => void {
  const guard: ChildProcess = spawn(
    '/bin/sh',
    ['-c', script, 'nightrender-guard', String(group), mark, ...cleanUp],
    { detached: true, env: helperEnvironment(), stdio: ['pipe', 'ignore', 'ignore'] },
  );
  guard.on('error', () => undefined).unref();
  // There is no pipe if the service has run out of file descriptors.
  guard.stdin?.on('error', () => undefined);
  return () => void guard.stdin?.end('\n');
}

/** A process in a group of its own: all it has started ends with it, it ends with the service, and the reason is given in words. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { Duplex, Readable, Writable } from 'node:stream';
import { killFamily, makeMark, signalTo } from './process-family.ts';
import { helperEnvironment } from './worker-environment.ts';

/** How long a process has between SIGTERM and SIGKILL. */
const graceMs = 5_000;
/** For what is left of its family to go, and again for its pipes to close, which others may hold open. */
const drainMs = 1_000;

export interface ProcessOptions {
  /** Said of it: `the worker's process`. */
  title: string;
  command: readonly string[];
  cwd: string | null;
  environment: NodeJS.ProcessEnv;
  /** Of the process and its children together. */
  memoryBytes: number | null;
  /** A two-way pipe as file descriptor 3, in place of its standard input. */
  hasChannel?: boolean;
  /** Marks all it starts by their environment, so that those end as well that leave its group (daemons). */
  isMarked?: boolean;
  /** To be run where the service is killed. */
  cleanUp?: readonly string[];
}

/** In place of a standard input there may be the channel. */
export interface Pipes {
  stdin: Writable;
  stdout: Readable;
  stderr: Readable;
  channel: Duplex;
}

export class WorkerProcess {
  readonly pipes: Pipes;
  /** Why it ended, once it has, its family with it, and all that it wrote was read. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  /** Its number is that of the process. */
  readonly #group: number;
  readonly #mark: string | undefined;
  #reason: string | undefined;
  #hasExited = false;

  /** Rejects, in words, where it cannot be started. */
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
    // A group of 0 would be this process's own.
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

  /** Null as long as it runs, and where it was killed. */
  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  /** Of it and its children, where /proc tells; otherwise 0. */
  get memoryBytes(): number {
    return residentBytes(this.#group);
  }

  /** Ends it and its children, by force after a while; the first reason that is given is why it ended. */
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
    // Whoever asks for its end from here on comes too late to be the reason.
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

/** How much memory a process and its children have, where /proc tells. */
const everyMs = 500;

/** Reports once, in bytes, when they have more than `maxBytes`. The returned function ends the watch. */
function watchMemory(pid: number, maxBytes: number, onExceeded: () => void): () => void {
  const timer = setInterval(() => {
    if (residentBytes(pid) <= maxBytes) return;
    clearInterval(timer);
    onExceeded();
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/** Of the process and all below it; what they share counts for each. 0 where nothing is known. */
function residentBytes(pid: number): number {
  try {
    const kilobytes = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const children = childrenOf(pid).map(residentBytes);
    return children.reduce((sum, bytes) => sum + bytes, Number(kilobytes ?? 0) * 1024);
  } catch {
    // It has just ended.
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  const texts = readdirSync(`/proc/${pid}/task`).map((thread) => readChildren(pid, thread));
  return texts.join(' ').split(' ').filter(Boolean).map(Number);
}

/** Some kernels do not tell. */
function readChildren(pid: number, thread: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8');
  } catch {
    return '';
  }
}

/**
 * Its standard input ends with the service, whatever ends that. Polite workers then have two seconds to see that theirs
 * has ended too. A line instead says that there is nothing left to do. Its arguments: the group, the mark, and a command.
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
  /** In the environment of the processes that are ended besides; see `process-family.ts`. */
  mark?: string | undefined;
  /** A command to run in the end. */
  cleanUp?: readonly string[] | undefined;
}

/** The function that is returned lifts the guard, to be called once all have gone. Without a shell there is none. */
function guardProcesses({ group, mark = '', cleanUp = [] }: Guarded): () => void {
  const guard: ChildProcess = spawn(
    '/bin/sh',
    ['-c', script, 'nightrender-guard', String(group), mark, ...cleanUp],
    { detached: true, env: helperEnvironment(), stdio: ['pipe', 'ignore', 'ignore'] },
  );
  guard.on('error', () => undefined).unref();
  // Without files to open there is no pipe.
  guard.stdin?.on('error', () => undefined);
  return () => void guard.stdin?.end('\n');
}

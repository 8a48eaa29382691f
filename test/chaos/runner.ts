/**
 * One start of a command of the built program on the batch. The driver follows its output line by line and sends it
 * signals.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { packageFile } from '../../src/lib/files/package-file.ts';

/** A time in which a run was active, had begun to poll its jobs, and was not told to stop. Instants are epoch ms. */
export interface Stretch {
  from: number;
  until: number;
}

export interface RunnerEnd {
  /** Null if a signal ended the run. */
  code: number | null;
  /** True if the run ended by itself or by a signal of the driver, not by a crash. */
  isOwnEnd: boolean;
  /** True if the run printed its last line before it ended. */
  hasFinished: boolean;
  stdout: string;
  stderr: string;
  up: Stretch[];
}

/** Event that a run prints right before it polls the jobs that earlier runs left in flight. */
const plan = '"type":"plan-made"';
const end = '"type":"run-ended"';

export class Runner {
  readonly ended: Promise<RunnerEnd>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #up: Stretch[] = [];
  readonly #sent = new Set<NodeJS.Signals>();
  #upFrom: number | undefined;
  #stdout = '';
  #stderr = '';
  #lines = 0;
  #watchers = new Set<() => void>();

  constructor(dir: string, command = 'run') {
    this.#child = spawn(
      process.execPath,
      [packageFile('dist/nightrender.cjs'), command, 'pipeline.yaml', '--json'],
      {
        cwd: dir,
        env: ownEnvironment(dir),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    this.ended = this.#untilEnded();
  }

  /** Resolves when the run has printed this number of lines, or has ended. */
  lines(count: number): Promise<void> {
    return this.#until(() => this.#lines >= count);
  }

  /** Resolves when the run is about to poll jobs in flight, or has ended. */
  planned(): Promise<void> {
    return this.#until(() => this.#stdout.includes(plan));
  }

  signal(name: NodeJS.Signals): void {
    if (name === 'SIGCONT') this.#upFrom ??= this.#stdout.includes(plan) ? Date.now() : undefined;
    else this.#closeStretch();
    this.#sent.add(name);
    this.#child.kill(name);
  }

  async #untilEnded(): Promise<RunnerEnd> {
    // If the driver ends early, it must not leave processes behind, least of all stopped ones.
    const kill = (): void => void this.#child.kill('SIGKILL');
    process.once('exit', kill);
    await once(this.#child, 'close');
    process.off('exit', kill);
    this.#closeStretch();
    this.#wakeWatchers();
    const hasFinished = this.#stdout.includes(end);
    const { exitCode: code, signalCode } = this.#child;
    const isOwnEnd = signalCode === null || this.#sent.has(signalCode);
    return { code, isOwnEnd, hasFinished, stdout: this.#stdout, stderr: this.#stderr, up: this.#up };
  }

  #hear(text: string): void {
    const wasPlanned = this.#stdout.includes(plan);
    this.#stdout += text;
    this.#lines += text.split('\n').length - 1;
    if (!wasPlanned && this.#stdout.includes(plan)) this.#upFrom = Date.now();
    this.#wakeWatchers();
  }

  #closeStretch(): void {
    if (this.#upFrom !== undefined) this.#up.push({ from: this.#upFrom, until: Date.now() });
    this.#upFrom = undefined;
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo() && this.#child.exitCode === null && this.#child.signalCode === null) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }

  #wakeWatchers(): void {
    for (const look of this.#watchers) look();
  }
}

/** Returns the environment without settings of this machine. */
function ownEnvironment(dir: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('NIGHTRENDER_') && name !== 'NODE_OPTIONS',
  );
  const XDG_STATE_HOME = join(dir, 'state');
  return { ...Object.fromEntries(kept), XDG_STATE_HOME, NIGHTRENDER_API_KEY: 'key-of-the-chaos' };
}

/** Shows a run on the terminal as configured, and writes its log file if there is one. */
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { canRedraw } from './console.ts';
import { jsonLines, jsonLine } from './json-lines.ts';
import { LiveView } from './live-view.ts';
import { PlainView } from './plain-view.ts';
import type { RunView, ViewOptions } from './view.ts';
import type { EndingKind } from '../runner/core/ending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import { describeEvent } from './describe-event.ts';

/**
 * Opens the terminal at once and the log file when the run starts. `log`: path of the log file; SIGUSR2 reopens
 * it.
 */
export function openRunView(options: ViewOptions, log: string | undefined): RunView {
  let shown: RunView | undefined;
  return {
    emit: (event) => {
      if (event.type === 'run-started') shown ??= openView(options, log);
      if (shown !== undefined) return shown.emit(event);
      const before = openTerminal(options);
      before.emit(event);
      before.close();
    },
    close: () => shown?.close(),
  };
}

function openView(options: ViewOptions, log: string | undefined): RunView {
  const view = openTerminal(options);
  const { shownDir } = options;
  if (log === undefined) return view;
  const { emit, close, reopen } = withLogFile(view, { file: log, shownDir, now: Date.now });
  process.on('SIGUSR2', reopen);
  const closeAll = (): void => {
    process.removeListener('SIGUSR2', reopen);
    close();
  };
  return { emit, close: closeAll };
}

/** Chooses JSON lines if requested, a live block if the terminal can redraw lines, else plain lines. */
function openTerminal(options: ViewOptions): RunView {
  if (options.json) return { emit: jsonLines(Date.now), close: () => undefined };
  const View = canRedraw(process.stderr) && !options.quiet ? LiveView : PlainView;
  return new View(options);
}

interface LoggedView extends RunView {
  /** Opens the log file again by its path, after a log rotation has renamed it. */
  reopen(): void;
}

/** Logs each event that `view` gets. If the file cannot be written, that is a warning and the run goes on. */
function withLogFile(
  view: RunView,
  {
    file,
    shownDir,
    now,
  }: {
    /** Absolute path. */
    file: string;
    shownDir: string;
    now: () => number;
  },
): LoggedView {
  let isBroken = false;
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!isBroken) view.emit({ type: 'warning', text: brokenText(file, error) });
      isBroken = true;
      return undefined;
    }
  };
  const log = attempt(() => new Appender(file));
  if (log === undefined) return { emit: view.emit, close: () => view.close(), reopen: () => undefined };
  return {
    emit: (event) => {
      view.emit(event);
      const { type, ...facts } = event;
      const msg = describeEvent(event, now(), shownDir) ?? wordsOf(event);
      const line = { level: levelOf(event), ...jsonLine(type, facts, now()), msg };
      attempt(() => log.append(`${JSON.stringify(line)}\n`));
    },
    close: () => {
      view.close();
      attempt(() => log.close());
    },
    reopen: () => {
      isBroken = false;
      attempt(() => log.reopen());
    },
  };
}

/** Lines that a full disk rejects are kept up to this size, and written once there is space. */
const maxUnwrittenBytes = 1_000_000;

/** Appends without buffering, so that a kill loses no line and `copytruncate` works. */
class Appender {
  readonly #path: string;
  /** Undefined once closed, because its file descriptor may then belong to another file. */
  #file: number | undefined;
  #unwritten = Buffer.alloc(0);

  constructor(path: string) {
    this.#path = path;
    this.#file = open(path);
  }

  append(line: string): void {
    if (this.#file === undefined) return;
    const all = Buffer.concat([this.#unwritten, Buffer.from(line)]);
    if (all.length <= maxUnwrittenBytes) this.#unwritten = all;
    while (this.#unwritten.length > 0)
      this.#unwritten = this.#unwritten.subarray(writeSync(this.#file, this.#unwritten));
  }

  reopen(): void {
    if (this.#file === undefined) return;
    const file = open(this.#path);
    closeSync(this.#file);
    this.#file = file;
  }

  close(): void {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) closeSync(file);
  }
}

function open(path: string): number {
  assertLog(path);
  return openSync(path, 'a', 0o600);
}

const start = '{"level":';

/**
 * Throws for a pipe, because opening one blocks the process until it has a reader. Throws for a file that isn't
 * a log.
 */
function assertLog(path: string): void {
  const there = statSync(path, { throwIfNoEntry: false });
  if (there?.isFIFO() === true) throw new Error('it is a pipe, and the run would have to wait for a reader');
  if (there?.isFile() !== true || there.size === 0) return;
  const bytes = Buffer.alloc(start.length);
  const file = openSync(path, 'r');
  readSync(file, bytes);
  closeSync(file);
  if (bytes.toString() !== start) throw new Error('it is not a log, and was not changed');
}

function brokenText(file: string, error: unknown): string {
  const why = error instanceof Error ? error.message.replace(/^[A-Z]+: |, \w+( '.*')?$/g, '') : String(error);
  return `the log ${file} cannot be written (${why}); the run continues without it`;
}

type Level = 'info' | 'warn' | 'error';

function levelOf(event: Event): Level {
  switch (event.type) {
    case 'warning':
    case 'attempt-failed':
    case 'result-held':
    case 'request-troubled':
    case 'access-refused':
      return 'warn';
    case 'stopping':
    case 'run-ended':
      return levels[event.ending];
    case 'run-started':
      return event.edits === undefined ? 'info' : 'warn';
    case 'plan-made':
    case 'adopted':
    case 'recovered':
    case 'scene-submitted':
    case 'job-status':
    case 'scene-saved':
    case 'service-health':
    case 'access-regained':
    case 'run-stats':
      return 'info';
  }
}

/** Endings that the user has to act on are errors. */
const levels: Record<EndingKind, Level> = {
  complete: 'info',
  bug: 'error',
  'wrong-use': 'error',
  incomplete: 'warn',
  halted: 'error',
  'already-running': 'error',
  'not-allowed': 'error',
  'limit-reached': 'warn',
  'output-unwritable': 'error',
  interrupted: 'warn',
  terminated: 'warn',
};

function wordsOf(event: Event): string | undefined {
  return event.type === 'run-ended' ? event.text : undefined;
}

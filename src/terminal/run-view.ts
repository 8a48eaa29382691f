/** Shows a run on the terminal as configured, and writes its log file if there is one. */
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { formatDuration, formatInstant, plural } from '../lib/text/format.ts';
import type { EndingKind } from '../runner/core/ending.ts';
import type { ServiceHealth } from '../runner/core/service-description.ts';
import { formatCost } from '../runner/core/spending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import { canRedraw, createLink, outColumns, writeError, writeOut, jsonLines, jsonLine } from './terminal.ts';
import { describeEnding, describeStats, stallText } from './describe-ending.ts';
import { describeEvent, stopWords } from './describe-event.ts';
import { escapeControls } from './fit-text.ts';
import { LiveView } from './live-view.ts';
import { logPauseMs, ProgressCount, RepeatLimit, type RunView, type ViewOptions } from './progress.ts';
import { formatLeft, formatRate } from './words.ts';

/** Opens the terminal now and the log at the start of the run. SIGUSR2 reopens the log. */
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
      const msg = describeEvent(event, now(), shownDir) ?? endingText(event);
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

/** Throws for a pipe, which would block until it has a reader, and for a file that isn't a log. */
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

function endingText(event: Event): string | undefined {
  return event.type === 'run-ended' ? event.text : undefined;
}

/** Events that may occur thousands of times in a run, so their lines are limited. */
const troubles: ReadonlySet<Event['type']> = new Set([
  'attempt-failed',
  'request-troubled',
  'access-refused',
  'access-regained',
]);

/** Shows a run as lines of a log, few enough that a long run stays readable. */
export class PlainView implements RunView {
  readonly #options: ViewOptions;
  readonly #progress: ProgressCount;
  readonly #budget: RepeatLimit;
  readonly #startedElapsed: number;
  /** Lines printed after the summary of the run. */
  #stats: string[] = [];
  #health: ServiceHealth | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ViewOptions) {
    this.#options = options;
    this.#progress = new ProgressCount(options.elapsed);
    this.#budget = new RepeatLimit(options.elapsed);
    this.#startedElapsed = options.elapsed();
    if (!options.quiet) this.#schedule();
  }

  readonly emit = (event: Event): void => {
    this.#progress.count(event);
    if (event.type === 'service-health') this.#health = event;
    if (event.type === 'run-stats') this.#stats = describeStats(event, outColumns());
    if (event.type === 'run-ended') {
      this.close();
      this.#writeOmitted();
      const took = formatDuration(this.#options.elapsed() - this.#startedElapsed);
      const said = [
        describeEnding(
          event,
          this.#options,
          took,
          this.#options.quiet ? undefined : createLink(process.stdout),
        ),
        ...this.#stats,
      ].join('\n');
      if (!this.#options.quiet) writeOut(said);
      else if (event.ending !== 'complete') writeError(said);
      return;
    }
    const isTrouble = troubles.has(event.type);
    const isWarning = event.type === 'warning' || (event.type === 'run-started' && event.edits !== undefined);
    if (this.#options.quiet && !isWarning) return;
    // Only the reason is shown, because the summary at the end has the details.
    const line =
      event.type === 'stopping'
        ? `stopping: ${stopWords(event, event.text.replace(/(: |; | \(\d)[^]*$/, ''), this.#progress.now().inFlight)}`
        : describeEvent(event, this.#options.now(), this.#options.shownDir);
    if (line !== undefined && (!isTrouble || this.#budget.mayShow())) this.#write(line);
  };

  close(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    const say = (): void => {
      this.#writeOmitted();
      this.#writeProgress();
      this.#schedule();
    };
    const pauseMs = logPauseMs(this.#options.elapsed() - this.#startedElapsed);
    this.#timer = setTimeout(say, pauseMs).unref();
  }

  #writeProgress(): void {
    const progress = this.#progress.now();
    const { total, saved, failed, inFlight, perSecond, leftMs, cost } = progress;
    if (total === 0) return;
    const rate = perSecond === undefined ? '' : `, ${formatRate(perSecond)}`;
    const left = formatLeft(leftMs);
    const money = cost === undefined ? '' : `, ${formatCost(cost)} spent`;
    const [done, all, active, lost] = [saved, total, inFlight, failed].map((each) =>
      each.toLocaleString('en'),
    );
    const counts = `${done} of ${all} saved, ${active} in flight, ${lost} failed`;
    this.#write(`${counts}${rate}${left === undefined ? '' : `, about ${left}`}${money}`);
    const stalled = stallText(progress, this.#health);
    if (stalled !== undefined) this.#write(stalled);
  }

  #writeOmitted(): void {
    const omitted = this.#budget.takeOmitted();
    if (omitted > 0)
      this.#write(`and ${plural(omitted, 'more problem')} like these; the report counts failures by kind`);
  }

  #write(line: string): void {
    writeError(`${formatInstant(this.#options.now())}  ${escapeControls(line)}`);
  }
}

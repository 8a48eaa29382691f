/** Every event as a JSON line in a file that outlives the terminal and may be rotated meanwhile. */
import { statSync } from 'node:fs';
import { pino, type Level } from 'pino';
import type { EndingKind } from '../runner/core/ending.ts';
import type { Event } from '../runner/pipeline/event.ts';
import { describeEvent } from './describe-event.ts';
import { jsonLine } from './json-lines.ts';
import type { RunView } from './view.ts';

export interface LogOptions {
  /** Absolute. */
  file: string;
  shownDir: string;
  now: () => number;
}

export interface LoggedView extends RunView {
  /** Continues in a new file where the old one was renamed. */
  reopen(): void;
}

/** Writes each event that `view` gets. A file that cannot be written is a warning and ends nothing. */
export function withLogFile(view: RunView, { file, shownDir, now }: LogOptions): LoggedView {
  let isBroken = false;
  const warn = (error: unknown): void => {
    if (isBroken) return;
    isBroken = true;
    view.emit({ type: 'warning', text: brokenText(file, error) });
  };
  const destination = open(file, warn);
  if (destination === undefined)
    return { emit: view.emit, close: () => view.close(), reopen: () => undefined };
  const log = pino(
    { base: null, timestamp: false, formatters: { level: (level) => ({ level }) } },
    destination,
  );
  destination.on('error', warn);
  return {
    emit: (event) => {
      view.emit(event);
      const { type, ...facts } = event;
      log[levelOf(event)](
        jsonLine(type, facts, now()),
        describeEvent(event, now(), shownDir) ?? wordsOf(event),
      );
    },
    close: () => {
      view.close();
      // All is written but what a full disk did not take, for which a last flush would wait without end.
      destination.destroy();
    },
    reopen: () => {
      isBroken = false;
      attempt(() => {
        assertNoPipe(file);
        destination.reopen();
      }, warn);
    },
  };
}

/** What a full disk does not take is kept up to this size, and written once there is room. */
const maxLength = 1_000_000;

/** Written at once, so that a kill loses no line. Appended, as `copytruncate` needs it. */
function open(file: string, warn: (error: unknown) => void) {
  try {
    assertNoPipe(file);
    return pino.destination({ dest: file, append: true, sync: true, mode: 0o600, maxLength });
  } catch (error) {
    warn(error);
    return undefined;
  }
}

/** Whoever opens one waits for its reader, and nothing else goes on meanwhile, signals neither. */
function assertNoPipe(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFIFO() === true)
    throw new Error('it is a pipe, and the run would wait for a reader');
}

function attempt(work: () => void, warn: (error: unknown) => void): void {
  try {
    work();
  } catch (error) {
    warn(error);
  }
}

function brokenText(file: string, error: unknown): string {
  const why = error instanceof Error ? error.message.replace(/^[A-Z]+: |, \w+( '.*')?$/g, '') : String(error);
  return `the log ${file} cannot be written (${why}); the run continues without it`;
}

function levelOf(event: Event): Level {
  switch (event.type) {
    case 'warning':
    case 'attempt-failed':
    case 'request-troubled':
      return 'warn';
    case 'stopping':
    case 'run-ended':
      return levels[event.ending];
    case 'run-started':
    case 'plan-made':
    case 'adopted':
    case 'recovered':
    case 'scene-submitted':
    case 'job-status':
    case 'scene-saved':
    case 'service-health':
    case 'run-stats':
      return 'info';
  }
}

/** What a person has to fix is an error. */
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

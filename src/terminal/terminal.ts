/** The only code that writes to the terminal: lines and their colours, blocks that are redrawn, progress, a pager. */
import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { styleText } from 'node:util';
import { truncate, widthOf } from './fit-text.ts';
import type { Listener } from '../runner/pipeline/ports.ts';
import type { Event } from '../runner/pipeline/event.ts';

/** Ignores write errors after a reader went away (`| head`), so that the run goes on. */
export function tolerateClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

export function writeOut(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a part of a long text and waits until it is flushed. False if the reader has gone. */
export function writeOutPart(text: string): Promise<boolean> {
  return new Promise((resolve) => {
    process.stdout.write(text, (error) => resolve(error === null || error === undefined));
  });
}

export function writeError(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Width of a line on stdout; infinite if stdout isn't a terminal. */
export function outColumns(): number {
  return process.stdout.isTTY ? process.stdout.columns || 80 : Infinity;
}

/** True if lines on this stream can be redrawn. */
export function canRedraw(stream: { isTTY: boolean }): boolean {
  return stream.isTTY && process.env['TERM'] !== 'dumb';
}

/** Shows a line on a terminal that the next status replaces; does nothing elsewhere. */
export function writeStatus(text: string): void {
  if (canRedraw(process.stderr))
    process.stderr.write(`\r${truncate(text, (process.stderr.columns || 80) - 1)}\u001B[K`);
}

export function clearStatus(): void {
  if (canRedraw(process.stderr)) process.stderr.write('\r\u001B[K');
}

export type Colour = 'green' | 'red' | 'yellow' | 'dim' | 'bold';
export type Paint = (text: string, colour: Colour) => string;

/** Returns a function that colours text if the stream supports it. `NO_COLOR` disables colours. */
export function createPaint(stream: { hasColors?: () => boolean }): Paint {
  if (stream.hasColors?.() !== true) return (text) => text;
  return (text, colour) => (text === '' ? '' : styleText(colour, text, { validateStream: false }));
}

export type Link = (text: string, path: string) => string;

/**
 * Returns a function that makes text a link to a file (OSC 8), if the stream is a terminal with colours. Terminals that show no
 * links show the text alone. The host name keeps a terminal on another machine from opening a file of that machine.
 */
export function createLink(stream: { isTTY: boolean; hasColors?: () => boolean }): Link {
  // The console of Linux prints what it does not know.
  if (!canRedraw(stream) || stream.hasColors?.() !== true || process.env['TERM'] === 'linux')
    return (text) => text;
  return (text, path) => {
    const address = `file://${hostname()}${pathToFileURL(path).pathname}`;
    return `\u001B]8;;${address}\u001B\\${text}\u001B]8;;\u001B\\`;
  };
}

interface Terminal {
  columns?: number;
  rows?: number;
  write(text: string): unknown;
}

/** Lines at the bottom of a terminal that are redrawn in place. */
export interface Block {
  /** Draws lines, each narrower than the terminal; writes nothing if they are unchanged. */
  draw(lines: string[]): void;
  /** Writes permanent lines above the block. */
  above(text: string): void;
  clear(): void;
}

export function createBlock(terminal: Terminal): Block {
  let drawn: string[] = [];
  let width = 0;
  const write = (before: string, lines: string[]): void => {
    const up = upOver(drawn, terminal.columns || 80);
    const body = lines.map((line) => `${line}${eraseRight}\n`).join('');
    terminal.write(`${beginFrame}${up}${before}${body}${eraseBelow}${endFrame}`);
    drawn = lines;
    width = terminal.columns || 80;
  };
  return {
    draw: (lines) => {
      const shown = lines.slice(0, Math.max(1, (terminal.rows || 24) - 1));
      const isSame = width === (terminal.columns || 80) && shown.join('\n') === drawn.join('\n');
      if (!isSame) write('', shown);
    },
    above: (text) => write(`${text.replaceAll('\n', `${eraseRight}\n`)}${eraseRight}\n`, drawn),
    clear: () => {
      if (drawn.length > 0) write('', []);
    },
  };
}

/** Synchronized output: a terminal that supports it shows the frame at once, others ignore the sequence. */
const beginFrame = '\u001B[?2026h';
const endFrame = '\u001B[?2026l';
const eraseRight = '\u001B[K';
const eraseBelow = '\u001B[J';

/** Moves the cursor to the first line of the block, counting lines that a narrower terminal has wrapped. */
function upOver(lines: string[], columns: number): string {
  const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0);
  return rows === 0 ? '\r' : `\r\u001B[${rows}A`;
}

const everyMs = 500;

/** Returns a function that shows progress at most every 500 ms, and builds the text only then. */
export function progressLine(elapsed: () => number = () => performance.now()): (text: () => string) => void {
  let shownElapsed = elapsed();
  return (text) => {
    if (elapsed() - shownElapsed < everyMs) return;
    shownElapsed = elapsed();
    writeStatus(text());
  };
}

/** Writes a text through `PAGER` or `less` if it is longer than the screen. */
export function writePaged(text: string): void {
  const { isTTY, rows } = process.stdout;
  const fits = text.split('\n').length < (rows || Infinity);
  if (!isTTY || fits || process.env['TERM'] === 'dumb' || !isPaged(text)) writeOut(text);
}

/** Runs the pager, with git's flags for `less`. False if there is none. */
function isPaged(text: string): boolean {
  const asked = process.env['PAGER'];
  if (asked === '' || asked === 'cat') return false;
  // Ctrl-C is for the pager; this process waits for it.
  const ignore = (): void => undefined;
  process.on('SIGINT', ignore);
  const { status, error } = spawnSync(asked ?? 'less', {
    shell: asked !== undefined,
    input: `${text}\n`,
    stdio: ['pipe', 'inherit', 'inherit'],
    env: { LESS: 'FRX', ...process.env },
  });
  process.removeListener('SIGINT', ignore);
  // EPIPE: the user left the pager before it had read everything.
  const isLeft = error !== undefined && 'code' in error && error.code === 'EPIPE';
  const isMissing = status === commandNotFound || status === notExecutable;
  return !isMissing && (error === undefined || isLeft);
}

const notExecutable = 126;
const commandNotFound = 127;

export function jsonLines(now: () => number): Listener {
  return ({ type, ...facts }) => writeJsonLine(type, facts, now());
}

/** `at`: epoch ms. */
export function writeJsonLine(type: string, facts: object, at = Date.now()): void {
  writeOut(JSON.stringify(jsonLine(type, facts, at)));
}

/** Returns the time in ISO 8601, the form of all times in JSON output. `at`: epoch ms. */
export function jsonInstant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** Returns a line with `type` and `at`; `run-started` also gets `formatVersion`. `at`: epoch ms. */
export function jsonLine(type: string, facts: object, at: number): object {
  const version = type === ('run-started' satisfies Event['type']) ? { formatVersion } : {};
  return { type, at: new Date(at).toISOString(), ...version, ...facts };
}

/** Increases if a field or a line is removed or changes its meaning. Additions don't change it. */
export const formatVersion = 1;

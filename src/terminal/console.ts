/** The only code that writes to the terminal: lines on stdout and stderr, and their colours. */
import { styleText } from 'node:util';
import { truncate } from './fit-text.ts';

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

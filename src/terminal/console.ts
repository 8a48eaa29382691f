/** The only way to the terminal: lines to stdout and stderr, also where the reader has gone, and their colours. */
import { styleText } from 'node:util';
import { fitted } from './fit-text.ts';

/** A reader that went away (`| head`) ends the lines, not the run. */
export function tolerateClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

export function writeOut(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a part of a long text once there is room for it; false where the reader has gone. */
export function writeOutPart(text: string): Promise<boolean> {
  return new Promise((resolve) => {
    process.stdout.write(text, (error) => resolve(error === null || error === undefined));
  });
}

export function writeError(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** How wide a line on stdout may be; without bound where no terminal breaks it. */
export function outColumns(): number {
  return process.stdout.isTTY ? process.stdout.columns || 80 : Infinity;
}

/** Whether what the stream shows can be drawn anew in its place. */
export function canRedraw(stream: { isTTY: boolean }): boolean {
  return stream.isTTY && process.env['TERM'] !== 'dumb';
}

/** One line on a terminal that the next one replaces; nothing elsewhere. */
export function writeStatus(text: string): void {
  if (canRedraw(process.stderr))
    process.stderr.write(`\r${fitted(text, (process.stderr.columns || 80) - 1)}\u001B[K`);
}

export function clearStatus(): void {
  if (canRedraw(process.stderr)) process.stderr.write('\r\u001B[K');
}

export type Colour = 'green' | 'red' | 'yellow' | 'dim' | 'bold';
export type Paint = (text: string, colour: Colour) => string;

/** Colours where the terminal has them, unless `NO_COLOR` is set. */
export function createPaint(stream: { hasColors?: () => boolean }): Paint {
  if (stream.hasColors?.() !== true) return (text) => text;
  return (text, colour) => (text === '' ? '' : styleText(colour, text, { validateStream: false }));
}

/** Colours where the terminal has them, unless `NO_COLOR` is set. */
import { styleText } from 'node:util';
import type { Paint } from './frame.ts';

export function createPaint(stream: { hasColors?: () => boolean }): Paint {
  if (stream.hasColors?.() !== true) return (text) => text;
  return (text, colour) => (text === '' ? '' : styleText(colour, text, { validateStream: false }));
}

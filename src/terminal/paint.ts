/** Colours where the terminal has them, unless `NO_COLOR` is set. */
import type { Colour, Paint } from './frame.ts';

const codes: Record<Colour, [on: number, off: number]> = {
  green: [32, 39],
  red: [31, 39],
  yellow: [33, 39],
  dim: [2, 22],
  bold: [1, 22],
};

export function createPaint(stream: { hasColors?: () => boolean }): Paint {
  if (stream.hasColors?.() !== true) return (text) => text;
  return (text, colour) => {
    const [on, off] = codes[colour];
    return text === '' ? '' : `\u001B[${on}m${text}\u001B[${off}m`;
  };
}

/** Letters made of strokes, for signs and labels; pure. */
import type { Vector } from '../vector.ts';
import { box, paintOf, type Paint, type Part } from './parts.ts';

/** Strokes of each letter: x and y of their corners on a grid of four by six, from the lower left. */
const strokes: Record<string, string> = {
  A: '0004264440 0242',
  B: '00063645443303 3342413000',
  C: '4536160501103041',
  D: '00062644422000',
  E: '46060040 0333',
  F: '460600 0333',
  G: '45361605011030414323',
  H: '0006 4046 0343',
  I: '1030 1636 2026',
  J: '4641301001',
  K: '0006 4602 1340',
  L: '060040',
  M: '0006244640',
  N: '00064046',
  O: '103041453616050110',
  P: '00063645443303',
  Q: '103041453616050110 2240',
  R: '00063645443303 2340',
  S: '453616050413334241301001',
  T: '0646 2620',
  U: '060110304146',
  V: '062046',
  W: '0610243046',
  X: '0046 0640',
  Y: '0623 4623 2320',
  Z: '06460040',
  0: '103041453616050110 1135',
  1: '152620 1030',
  2: '05163645440040',
  3: '051636454433 13334241301001',
  4: '30360242',
  5: '460603334241301001',
  6: '453616050110304142331302',
  7: '064610',
  8: '133344453616050413 3342413010010213',
  9: '011030414536160504133344',
};

const advance = 5.6;
const thick = 0.8;

export function writable(text: string): string {
  return text
    .normalize('NFD')
    .toUpperCase()
    .replaceAll(/[^A-Z\d ]/g, '');
}

/** Width of a text whose letters are 1 high. */
export function lengthOf(text: string): number {
  return (text.length * advance - (advance - 4)) / 6;
}

/** Colour of text on a paint: dark on light, and light on dark. */
export function inkOn({ colour: [red, green, blue] }: Paint): string {
  return 0.3 * red + 0.59 * green + 0.11 * blue > 120 ? '#26262b' : '#f4f1e8';
}

/** Writes a text as large as possible, in up to three lines around the centre. */
export function inscription(
  said: string,
  [x, y]: readonly [number, number],
  z: number,
  [wide, tall]: readonly [number, number],
  ink: string,
): Part[] {
  const text = writable(said).trim();
  if (text === '') return [];
  const options = [1, 2, 3].map((count) => {
    const lines = linesOf(text, count);
    const row = tall / lines.length;
    return {
      lines,
      row,
      high: Math.min(row * (count > 1 ? 0.78 : 1), ...lines.map((line) => wide / lengthOf(line))),
    };
  });
  const { lines, row, high } = options.reduce((best, other) => (other.high > best.high ? other : best));
  return lines.flatMap((line, index) =>
    written(line, [x, y + ((lines.length - 1) / 2 - index) * row], z, high, paintOf(ink)),
  );
}

/** Breaks a text at spaces into at most `count` lines of similar length. */
function linesOf(text: string, count: number): string[] {
  const lines = [''];
  for (const word of text.split(/ +/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lines.length < count && lines.at(-1) !== '' && longer.length > text.length / count + 2)
      lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/** Writes a line around its centre, with its back at `z`. */
function written(
  text: string,
  middle: readonly [number, number],
  z: number,
  high: number,
  ink: Paint,
): Part[] {
  const unit = high / 6;
  const left = middle[0] - (lengthOf(text) * high) / 2;
  return text.split('').flatMap((letter, index) =>
    (strokes[letter] ?? '').split(' ').flatMap((stroke) =>
      strokesOf(stroke).map(([x, y, toX, toY]) => {
        const [wide, up] = [(toX - x) * unit, (toY - y) * unit];
        const [right, above] = [index * advance + (x + toX) / 2, (y + toY) / 2 - 3];
        const at: Vector = [left + right * unit, middle[1] + above * unit, z];
        const size: Vector = [Math.hypot(wide, up) + thick * unit, thick * unit, thick * unit];
        return box(at, size, ink, 0, [0, 0, Math.atan2(up, wide)]);
      }),
    ),
  );
}

function strokesOf(stroke: string): [x: number, y: number, toX: number, toY: number][] {
  return Array.from({ length: Math.max(0, stroke.length / 2 - 1) }, (_, line) => {
    const [x = 0, y = 0, toX = 0, toY = 0] = stroke
      .slice(line * 2, line * 2 + 4)
      .split('')
      .map(Number);
    return [x, y, toX, toY];
  });
}

/** Converts paints into surfaces: rows of numbers that say how they react to light, and which pattern they have. */
import type { Colour } from '../../colour.ts';
import { snapped } from '../vector.ts';
import { chanceAt } from '../../random.ts';
import { type Light, linear } from '../layout/setting-of.ts';

/** Numbers for each surface: red, green, blue, sheen, mirror, glow, pattern, opacity. */
export const surfaceSize = 8;

export const patterns = { plain: 0, wood: 1, stone: 2, brick: 3, cloth: 4, metal: 5, windows: 6 } as const;

/** For each material: strength of a lamp's reflection, share of reflected surroundings, and pattern. */
const looks: Record<string, readonly [sheen: number, mirror: number, pattern: keyof typeof patterns]> = {
  matt: [0.04, 0, 'plain'],
  plastic: [0.3, 0.05, 'plain'],
  metal: [0.9, 0.75, 'metal'],
  gold: [0.9, 0.7, 'metal'],
  silver: [1, 0.85, 'metal'],
  glass: [1, 0.5, 'plain'],
  wood: [0.1, 0, 'wood'],
  stone: [0.03, 0, 'stone'],
  brick: [0.03, 0, 'brick'],
  cloth: [0, 0, 'cloth'],
  glossy: [0.7, 0.14, 'plain'],
  glow: [0, 0, 'plain'],
  tower: [0.1, 0, 'windows'],
};

export class Surfaces {
  values = new Float32Array(0);
  readonly #rows: number[] = [];
  readonly #known = new Map<string, number>();

  of(colour: Colour, material: string): number {
    const key = `${material} ${colour.map(Math.round).join()}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const [sheen, mirror, pattern] = looks[material] ?? [0.04, 0, 'plain'];
    const light: Light = snapped(linear(colour));
    const isGlass = material === 'glass';
    this.#rows.push(
      ...light,
      sheen,
      mirror,
      material === 'glow' ? 1 : 0,
      patterns[pattern],
      isGlass ? 0.32 : 1,
    );
    this.#known.set(key, this.#known.size);
    return this.#known.size - 1;
  }

  finish(): void {
    this.values = Float32Array.from(this.#rows);
  }
}

const side = 128;
let table: Float32Array | undefined;

function makeTable(): Float32Array {
  return Float32Array.from(
    { length: side * side },
    (_, cell) => chanceAt(cell % side, Math.floor(cell / side), 7) * 2 - 1,
  );
}

/** Noise from -1 to 1, smooth between whole numbers, repeating after 128; from a table, for speed. */
export function smooth(x: number, y: number): number {
  table ??= makeTable();
  const column = Math.floor(x);
  const row = Math.floor(y);
  const dx = x - column;
  const dy = y - row;
  const fx = dx * dx * (3 - 2 * dx);
  const fy = dy * dy * (3 - 2 * dy);
  const left = column & (side - 1);
  const right = (column + 1) & (side - 1);
  const upper = (row & (side - 1)) * side;
  const lower = ((row + 1) & (side - 1)) * side;
  const above = (table[upper + left] ?? 0) * (1 - fx) + (table[upper + right] ?? 0) * fx;
  const below = (table[lower + left] ?? 0) * (1 - fx) + (table[lower + right] ?? 0) * fx;
  return above * (1 - fy) + below * fy;
}

/** What is around the things far away and behind: mountains, hills, a shore, a forest, a town, a street, a room's wall; pure. */
import { mix, rgb } from '../../colour.ts';
import { createRandom, type Random } from '../../random.ts';
import type { Backdrop, Ground } from '../layout/setting-of.ts';
import { cloudNoise } from '../picture/noise.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { box, post, straight, type Paint, type Part, type Shape } from '../things/parts.ts';

import type { Vector } from '../vector.ts';
import { streetOf } from './street.ts';

export type AnyShape = Shape | { kind: 'sheet'; rows: Vector[][] };

/** Of paints that things do not have as well, such as `ground snow`. */
export interface AnyPart extends Omit<Part, 'shape' | 'paint'> {
  shape: AnyShape;
  paint: { colour: Paint['colour']; material: string };
}

export interface Piece {
  name: string;
  parts: AnyPart[];
}

export function backdropsOf(plan: PicturePlan): Piece[] {
  const pieces = plan.setting.backdrops.map((name): Piece => ({ name, parts: backdropOf(plan, name) }));
  if (plan.setting.ground === 'floor') pieces.push({ name: 'wall', parts: wallOf(plan) });
  return pieces;
}

function backdropOf(plan: PicturePlan, name: Backdrop): AnyPart[] {
  switch (name) {
    case 'mountains':
      return [relief(plan, 11, 0.1, '#6d7076', true), relief(plan, 11, 0.1, '#f2f6fc', true, 0.42)];
    case 'hills':
      return [relief(plan, 5, 0.05, hillColours[plan.setting.ground] ?? '#5f8f42', false)];
    case 'shore':
      return [relief(plan, 2, 0.06, '#7d8a58', false)];
    case 'forest':
    case 'city':
      return crowd(plan, name === 'city');
    case 'street':
      return streetOf(plan);
  }
}

const hillColours: Partial<Record<Ground, string>> = { snow: '#dfe8f2', sand: '#d8b983' };

/** A ring of land far away. */
function relief(
  { view: { facing }, seed }: PicturePlan,
  high: number,
  detail: number,
  earth: string,
  isRocky: boolean,
  /** Only what is above this share of the height. */
  snowline = -1,
): AnyPart {
  // What is rounded needs fewer of them.
  const [columns, rows, octaves] = isRocky ? [120, 22, 5] : [72, 12, 3];
  const offset = createRandom(`relief ${seed}`).between(0, 900);
  const point = (row: number, column: number): Vector => {
    const angle = facing + Math.PI + (column / columns - 0.5) * 2.4;
    const away = 42 + (row / rows) * 48;
    const [x, z] = [Math.sin(angle) * away, Math.cos(angle) * away];
    const rough = cloudNoise(x * detail + offset, 0.5, z * detail, octaves);
    const rise = Math.sin(Math.min(1, row / rows / 0.72) * Math.PI * 0.5) ** 1.4;
    const broad = cloudNoise(x * 0.045, offset, z * 0.045, 2);
    const y = high * rise * (isRocky ? ridge(rough, broad) : 0.6 + rough * 1.1) - 0.25;
    return [x, snowline < 0 ? y : y + (y / high + rough * 0.2 > snowline ? 0.1 : -0.8), z];
  };
  const sheet = Array.from({ length: rows + 1 }, (_, row) =>
    Array.from({ length: columns + 1 }, (__, column) => point(row, column)),
  );
  const paint = { colour: rgb(earth), material: snowline < 0 ? 'stone' : 'matt' };
  return { shape: { kind: 'sheet', rows: sheet }, at: [0, 0, 0], turn: straight, paint };
}

/** Sharp where the noise changes its sign, and higher here than there. */
function ridge(rough: number, broad: number): number {
  return Math.max(0.08, (1 - Math.abs(rough) * 2.1) ** 2 * (0.72 + broad * 1.3));
}

/** Pines or towers, by the hundred. */
function crowd({ view: { facing }, seed, box: room, daylight }: PicturePlan, isCity: boolean): Part[] {
  const random = createRandom(`crowd ${seed}`);
  const near = Math.max(6, room.high[0] - room.low[0] + 3);
  return Array.from({ length: isCity ? 70 : 240 }).flatMap(() => {
    const angle = facing + Math.PI + random.between(-0.9, 0.9);
    const away = near + random.between(isCity ? 14 : 1, isCity ? 38 : 26);
    const place: Vector = [Math.sin(angle) * away, 0, Math.cos(angle) * away];
    return isCity ? tower(place, facing, daylight.stars > 0, random) : pine(place, random);
  });
}

function pine([x, , z]: Vector, random: Random): Part[] {
  const high = random.between(1.8, 3.6);
  const needles = { colour: mix([40, 74, 46], [66, 104, 58], random.next()), material: 'matt' } as const;
  return [0, 1, 2].map((layer) => {
    const radius = high * (0.3 - layer * 0.07);
    return post([x, high * (0.3 + layer * 0.2), z], [0.02, radius], high * 0.5, needles, straight, 9);
  });
}

function tower([x, , z]: Vector, facing: number, isDark: boolean, random: Random): Part[] {
  const [high, wide] = [random.between(3, 12), random.between(1.6, 3)];
  const turn: Vector = [0, facing, 0];
  const wall = { colour: mix([120, 128, 138], [172, 166, 156], random.next()), material: 'matt' } as const;
  const windows = Array.from({ length: Math.floor(high / 0.5) }, (_, floor): Part => {
    const glass = isDark && random.chance(0.5) ? '#ffc470 glow' : '#3c4a58 glossy';
    return box([x, 0.3 + floor * 0.5, z], [wide + 0.02, 0.22, wide + 0.02], glass, 0, turn);
  });
  return [box([x, high / 2, z], [wide, high, wide], wall, 0, turn), ...windows];
}

function wallOf({ box: { low, high } }: PicturePlan): Part[] {
  const size = Math.max(high[0] - low[0], high[1], 1.5);
  const z = low[2] - size * 0.9;
  return [
    box([0, 29.9, z], [120, 60, 0.2], '#cfc8ba', 0),
    box([0, size * 0.035, z], [120, size * 0.07, 0.26], '#efece4 plastic', 0),
  ];
}

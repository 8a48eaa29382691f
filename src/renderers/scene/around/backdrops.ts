/** Surroundings of the things: mountains, hills, a shore, a forest, a town, a street, a wall, and the ground; pure. */
import { type Colour, mix, namedColours, rgb } from '../../colour.ts';
import { createRandom, type Random, cloudNoise } from '../../random.ts';
import type { Backdrop, Ground } from '../layout/setting-of.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { both, box, type Paint, type Part, post, type Shape, slab, straight } from '../things/parts.ts';
import type { Vector } from '../vector.ts';

export type AnyShape = Shape | { kind: 'sheet'; rows: Vector[][] };

/** A part that may also have paints of the surroundings, such as `ground snow`. */
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

function relief(
  { view: { facing }, seed }: PicturePlan,
  high: number,
  detail: number,
  earth: string,
  isRocky: boolean,
  /** Only land above this share of the height is visible. */
  snowline = -1,
): AnyPart {
  // Rounded land needs fewer points and octaves.
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

/** Height of a ridge: sharp where `rough` changes its sign, and scaled by `broad`. */
function ridge(rough: number, broad: number): number {
  return Math.max(0.08, (1 - Math.abs(rough) * 2.1) ** 2 * (0.72 + broad * 1.3));
}

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

const pavement = 1.3;
const [streetBegin, streetEnd] = [5, -46];
const plasters = '#c98f62 #d9c7a3 #b4644c #93a3a0 #cfae6e #e3dccb #8d7468 #a9b48f'.split(' ');
const tiles = '#7b4436 #5b4b48 #4c5560 #8a5340'.split(' ');
const doors = '#5a3a26 #2f4a42 #6f2a28'.split(' ');

/** Returns a street away from the camera: built along z with x to its right, then turned to `facing`. */
function streetOf({ box: room, view: { facing }, daylight, seed }: PicturePlan): Part[] {
  const half = Math.max(2.3, room.high[0] + 0.9, 0.9 - room.low[0]);
  const isDark = daylight.stars > 0 || Math.max(...daylight.sun) < 1.2;
  const random = createRandom(`street ${seed}`);
  const [cos, sin] = [Math.cos(facing), Math.sin(facing)];
  return both((side) => sideOf(side, half, isDark, random)).map((part) => {
    const [x, y, z] = part.at;
    return { ...part, at: [x * cos + z * sin, y, z * cos - x * sin], turn: [0, facing, 0] };
  });
}

function sideOf(side: -1 | 1, half: number, isDark: boolean, random: Random): Part[] {
  const paving: Vector = [side * (half + pavement / 2), 0.05, (streetBegin + streetEnd) / 2];
  const parts = [box(paving, [pavement, 0.1, streetBegin - streetEnd], '#a5a29b', 0)];
  for (let z = streetBegin; z > streetEnd;) {
    const wide = random.between(2.4, 3.8);
    parts.push(...houseAt(side, half + pavement, z - wide / 2, wide, isDark, random));
    z -= wide + 0.04;
  }
  for (let z = side === 1 ? 1 : -2.5; z > streetEnd; z -= 7)
    parts.push(...lampAt(side * (half + 0.25), z, isDark));
  return parts;
}

function houseAt(
  side: -1 | 1,
  edge: number,
  z: number,
  wide: number,
  isDark: boolean,
  random: Random,
): Part[] {
  const [floors, deep] = [random.whole(2, 3), 3];
  const high = 0.5 + floors * 1.25;
  const [x, roof] = [side * (edge + deep / 2), deep * 0.56];
  const columns = Math.round(wide / 1.05);
  const door = random.whole(0, columns - 1);
  const openings = Array.from({ length: floors * columns }, (_, index) => {
    const [floor, column] = [Math.floor(index / columns), index % columns];
    const isDoor = index === door;
    const [tall, y] = isDoor ? [1, 0.6] : [0.72, 0.95 + floor * 1.25];
    const at: Vector = [side * edge, y, z + ((column + 0.5) / columns - 0.5) * wide];
    const window = isDark && random.chance(0.45) ? '#ffd08a glow' : '#2f3d49';
    return [
      box(at, [0.05, tall + 0.12, 0.58], '#efe9db', 0),
      box(at, [0.08, tall, 0.46], isDoor ? pickOf(doors, random) : window, 0),
    ];
  });
  return [
    box([x, high / 2, z], [deep, high, wide], pickOf(plasters, random), 0),
    box([x, high, z], [deep + 0.24, 0.1, wide], '#e8e0d0', 0),
    slab(`${-roof} 0, ${roof} 0, 0 0.8`, wide, pickOf(tiles, random), [x, high, z]),
    ...openings.flat(),
  ];
}

function pickOf(colours: readonly string[], random: Random): string {
  return colours[random.whole(0, colours.length - 1)] ?? '';
}

function lampAt(x: number, z: number, isDark: boolean): Part[] {
  return [
    box([x, 1.2, z], [0.07, 2.4, 0.07], '#2b2e33', 0),
    box([x, 2.74, z], [0.3, 0.06, 0.3], '#2b2e33', 0),
    box([x, 2.55, z], [0.2, 0.3, 0.2], `#fff0cc ${isDark ? 'glow' : 'matt'}`, 0),
  ];
}

const soils: Record<Ground, string> = {
  studio: '#8f6750',
  grass: '#7fa85a',
  sand: '#e6d0a2',
  snow: '#f4f6f9',
  water: '#2c6f94',
  floor: '#a57a56',
  road: '#8b8c90',
  stone: '#b8b2a8',
  field: '#cfae58',
  space: '#6b675f',
};
export const waterColour = rgb(soils.water);

export function soilOf({ setting: { ground, groundColour } }: PicturePlan): Colour {
  return groundColour === null ? rgb(soils[ground]) : namedColours[groundColour];
}

/** Returns the distance behind the things at which water begins. */
export function shoreAway({ box: { low, high } }: PicturePlan): number {
  return 0.6 + 0.75 * Math.max(high[0] - low[0], high[2] - low[2], high[1]);
}

/** Point at a distance from the origin, directly away from the camera. */
export function behind({ view: { facing } }: PicturePlan, away: number): [x: number, z: number] {
  return [-Math.sin(facing) * away, -Math.cos(facing) * away];
}

/** What is around the things of a picture: ground, far land, forest, town and street, a room's wall, rain and snow; pure. */
import { mix, namedColours, rgb, type Colour } from '../colour.ts';
import { createRandom, type Random } from '../random.ts';
import { ridge } from '../scene/gpu/backdrops.ts';
import { blocksOf, type Block } from '../scene/gpu/street.ts';
import { behind, shoreAway, soils } from '../scene/gpu/surroundings.ts';
import type { Backdrop } from '../scene/layout/setting-of.ts';
import { cloudNoise } from '../scene/picture/noise.ts';
import type { PicturePlan } from '../scene/plan-picture.ts';
import { box, paintOf, post, straight, type Paint, type Part, type Shape } from '../scene/things/parts.ts';
import {
  across,
  cross,
  dot,
  each,
  lengthOf,
  minus,
  plus,
  times,
  unit,
  type Vector,
} from '../scene/vector.ts';

type AnyShape = Shape | { kind: 'sheet'; rows: Vector[][] };

/** Of paints that things do not have as well, such as `ground snow`. */
export interface AnyPart extends Omit<Part, 'shape' | 'paint'> {
  shape: AnyShape;
  paint: { colour: Paint['colour']; material: string };
}

interface Piece {
  name: string;
  parts: AnyPart[];
}

export function surroundingsOf(plan: PicturePlan): Piece[] {
  const { ground, backdrops, hasWater, weather } = plan.setting;
  const pieces = backdrops.map((name): Piece => ({ name, parts: backdropOf(plan, name) }));
  if (ground !== 'space') pieces.push({ name: 'ground', parts: [groundOf(plan)] });
  if (hasWater) pieces.push({ name: 'water', parts: [lakeBehind(plan)] });
  if (ground === 'floor') pieces.push({ name: 'wall', parts: wallOf(plan) });
  if (weather === 'rain' || weather === 'storm' || weather === 'snowfall')
    pieces.push({ name: weather, parts: falling(plan) });
  return pieces;
}

function backdropOf(plan: PicturePlan, name: Backdrop): AnyPart[] {
  switch (name) {
    case 'mountains':
      return [relief(plan, 11, 0.1, '#6d7076', true), relief(plan, 11, 0.1, '#f2f6fc', true, 0.42)];
    case 'hills':
      return [relief(plan, 5, 0.05, plan.setting.ground === 'snow' ? '#dfe8f2' : '#5f8f42', false)];
    case 'shore':
      return [relief(plan, 2, 0.06, '#7d8a58', false)];
    case 'forest':
    case 'city':
      return crowd(plan, name === 'city');
    case 'street':
      return street(plan);
  }
}

function disc(at: Vector, colour: Colour, material: string): AnyPart {
  return { ...post(at, 220, 0.002, '#000000', straight, 96), paint: { colour, material } };
}

function groundOf({ setting: { ground, groundColour, weather } }: PicturePlan): AnyPart {
  const colour = groundColour === null ? rgb(soils[ground]) : namedColours[groundColour];
  const isWet = (weather === 'rain' || weather === 'storm') && (ground === 'road' || ground === 'stone');
  if (isWet) return disc([0, 0, 0], mix(colour, [0, 0, 0], 0.4), 'plastic');
  return disc([0, ground === 'water' ? 0.1 : 0, 0], colour, ground === 'water' ? ground : `ground ${ground}`);
}

/** From a shore behind the things to the horizon. */
function lakeBehind(plan: PicturePlan): AnyPart {
  const [x, z] = behind(plan, shoreAway(plan) + 220);
  return disc([x, 0.03, z], rgb(soils.water), 'water');
}

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
  const [columns, rows] = [160, 34];
  const offset = createRandom(`relief ${seed}`).between(0, 900);
  const point = (row: number, column: number): Vector => {
    const angle = facing + Math.PI + (column / columns - 0.5) * 2.4;
    const away = 42 + (row / rows) * 48;
    const [x, z] = [Math.sin(angle) * away, Math.cos(angle) * away];
    const rough = cloudNoise(x * detail + offset, 0.5, z * detail, 5);
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

/** Shapes that are rows of points, with faces between them. */
export function sheetOf(shape: Shape): AnyPart['shape'] {
  const turns = Array.from({ length: 33 }, (_, step) => (step / 32) * 2 * Math.PI);
  const lathe = (profile: readonly (readonly [number, number])[]) =>
    profile.map(([out, y]) => turns.map((turn): Vector => [Math.sin(turn) * out, y, Math.cos(turn) * out]));
  if (shape.kind === 'ring') {
    const { radius, thickness } = shape;
    const around = (turn: number) =>
      [radius + thickness * Math.cos(turn), thickness * Math.sin(turn)] as const;
    return { kind: 'sheet', rows: lathe(turns.map(around)) };
  }
  if (shape.kind === 'turned') return { kind: 'sheet', rows: lathe(shape.profile) };
  if (shape.kind === 'bend') return { kind: 'sheet', rows: tube(shape.points, shape.radius, turns) };
  return shape;
}

/** Around a curve through the points (Catmull and Rom's), the same side always up. */
function tube(points: readonly Vector[], radius: number, turns: readonly number[]): Vector[][] {
  const from = (index: number): Vector =>
    points[Math.max(0, Math.min(index, points.length - 1))] ?? [0, 0, 0];
  const path = Array.from({ length: (points.length - 1) * 8 + 1 }, (_, step): Vector => {
    const [index, t] = [Math.floor(step / 8), (step % 8) / 8];
    const [a, b, c, d] = [from(index - 1), from(index), from(index + 1), from(index + 2)];
    const bent = (i: 0 | 1 | 2): number =>
      2 * a[i] - 5 * b[i] + 4 * c[i] - d[i] + (3 * (b[i] - c[i]) + d[i] - a[i]) * t;
    return each((axis) => b[axis] + ((c[axis] - a[axis] + bent(axis) * t) * t) / 2);
  });
  let side: Vector = [0.3, 0.2, 0.93];
  return path.map((point, step) => {
    const along = unit(minus(path[step + 1] ?? point, path[step - 1] ?? point));
    side = unit(minus(side, times(along, dot(side, along))));
    const other = cross(along, side);
    const out = (turn: number): Vector => plus(times(side, Math.cos(turn)), times(other, Math.sin(turn)));
    return turns.map((turn) => plus(point, times(out(turn), radius)));
  });
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

function street({ box: room, view: { facing }, daylight, seed }: PicturePlan): Part[] {
  const half = Math.max(2.3, room.high[0] + 0.9, 0.9 - room.low[0]);
  const isDark = daylight.stars > 0 || Math.max(...daylight.sun) < 1.2;
  const { walls, roofs, lights } = blocksOf(half, isDark, createRandom(`street ${seed}`));
  const [cos, sin] = [Math.cos(facing), Math.sin(facing)];
  const place = ([x, y, z]: Vector): Vector => [x * cos + z * sin, y, z * cos - x * sin];
  const turn: Vector = [0, facing, 0];
  const block = ({ at, size, colour }: Block, material: string): Part =>
    box(place(at), size, `${colour} ${material}`, 0, turn);
  const roof = ({ at, size: [wide, high, long], colour }: Block): Part => ({
    shape: {
      kind: 'slab',
      outline: [
        [-wide * 0.9, -high / 2],
        [wide * 0.9, -high / 2],
        [0, high / 2],
      ],
      depth: long,
    },
    at: place(at),
    turn,
    paint: paintOf(colour),
  });
  return [
    ...walls.map((wall) => block(wall, 'matt')),
    ...roofs.map(roof),
    ...lights.map((light) => block(light, 'glow')),
  ];
}

function wallOf({ box: { low, high } }: PicturePlan): Part[] {
  const size = Math.max(high[0] - low[0], high[1], 1.5);
  const z = low[2] - size * 0.9;
  return [
    box([0, 29.9, z], [120, 60, 0.2], '#cfc8ba', 0),
    box([0, size * 0.035, z], [120, size * 0.07, 0.26], '#efece4 plastic', 0),
  ];
}

/** Between the camera and what is behind the things. */
function falling({ view: { from, to, fieldOfView }, setting, seed }: PicturePlan): Part[] {
  const random = createRandom(`falling ${seed}`);
  const [back, away] = [unit(minus(from, to)), lengthOf(minus(from, to))];
  const [right, above] = across(back);
  const half = Math.tan((fieldOfView * Math.PI) / 360);
  return Array.from({ length: 320 }, () => {
    const deep = away * random.between(0.25, 1.5);
    const [x, y] = [random.between(-1.6, 1.6) * half * deep, random.between(-1, 1) * half * deep];
    const at = plus(plus(plus(from, times(back, -deep)), times(right, x)), times(above, y));
    const size = half * away * random.between(0.004, 0.011);
    return setting.weather === 'snowfall'
      ? post(at, size, size * 1.6, '#ffffff', [random.next(), 0, random.next()], 6)
      : post(at, size * 0.16, size * 9, '#c8d4e0 glass', [0, 0, 0.1], 4);
  });
}

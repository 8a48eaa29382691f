/** Shades places of a triangle: its surface made of paint, its light, and its pattern of wood, stone, bricks, cloth or windows. */
import type { Colour } from '../../colour.ts';
import { chanceAt } from '../../random.ts';
import { type Light, linear } from '../layout/setting-of.ts';
import { long, snapped, type Vector } from '../vector.ts';
import type { Eye, Seen } from './eye.ts';
import { type Air, airAt, type Lamp, mirrored, type Orb } from './light.ts';
import { type Mesh, pointSize } from './mesh.ts';
import type { Shadows } from './shadows.ts';

export interface Scene {
  eye: Eye;
  air: Air;
  mesh: Mesh;
  surfaces: Float32Array;
  shadows: Shadows;
  /** Points as the camera sees them, and their reflections in water. */
  seen: Seen;
  seenInWater: Seen | null;
  level: number;
  orb: Orb | null;
  /** A road along x. `middle` and `half`: z of its centre, and half its width. */
  road: { middle: number; half: number } | null;
  /** Direction on the ground towards the water, and the distance where it begins. */
  shore: { x: number; z: number; away: number } | null;
  /** Lamps, only in the dark. */
  lamps: readonly Lamp[];
  haze: Float32Array;
}

/** Place being shaded: its point, the direction to the camera, and its reflection. */
const place = new Float64Array(pointSize);
const view = new Float64Array(3);
const shine = new Float64Array(3);

/** Writes red, green and blue into `out`; returns the opacity. */
export function shadeTriangle(
  scene: Scene,
  triangle: number,
  isMirrored: boolean,
  x: number,
  y: number,
  out: Float64Array,
): number {
  const { eye, air, mesh, level, seenInWater } = scene;
  const { places } = isMirrored && seenInWater !== null ? seenInWater : scene.seen;
  const depth = findPlace(mesh, places, triangle, x, y);
  const hidden = airAt(air, depth);
  const patch = mesh.patches[triangle] ?? 0;
  let opacity = 1;
  if (hidden < 1) {
    const facing = lookFrom(
      eye,
      isMirrored ? 2 * level - eye.from[1] : eye.from[1],
      mesh.closed[patch] === true,
    );
    opacity = lightPlace(scene, (mesh.surfaces[patch] ?? 0) * surfaceSize, facing, out);
  }
  fadeInto(out, hidden, scene.haze, x);
  return opacity;
}

function findPlace(
  { corners, points }: Mesh,
  seen: Float32Array,
  triangle: number,
  x: number,
  y: number,
): number {
  const a = corners[triangle * 3] ?? 0;
  const b = corners[triangle * 3 + 1] ?? 0;
  const c = corners[triangle * 3 + 2] ?? 0;
  const ax = seen[a * 3] ?? 0;
  const ay = seen[a * 3 + 1] ?? 0;
  const bx = seen[b * 3] ?? 0;
  const by = seen[b * 3 + 1] ?? 0;
  const cx = seen[c * 3] ?? 0;
  const cy = seen[c * 3 + 1] ?? 0;
  const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay) || 1;
  let wb = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area;
  let wc = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area;
  // The centre of a pixel may be outside of a triangle that covers only a part of the pixel.
  wb = wb < 0 ? 0 : wb > 1 ? 1 : wb;
  wc = wc < 0 ? 0 : wc > 1 - wb ? 1 - wb : wc;
  const na = (1 - wb - wc) * (seen[a * 3 + 2] ?? 0);
  const nb = wb * (seen[b * 3 + 2] ?? 0);
  const nc = wc * (seen[c * 3 + 2] ?? 0);
  const depth = 1 / (na + nb + nc);
  for (let part = 0; part < pointSize; part += 1)
    place[part] =
      ((points[a * pointSize + part] ?? 0) * na +
        (points[b * pointSize + part] ?? 0) * nb +
        (points[c * pointSize + part] ?? 0) * nc) *
      depth;
  return depth;
}

/** Turns the normal towards the camera; returns the cosine between them. */
function lookFrom({ from }: Eye, height: number, isClosed: boolean): number {
  const vx = from[0] - (place[0] ?? 0);
  const vy = height - (place[1] ?? 0);
  const vz = from[2] - (place[2] ?? 0);
  const away = 1 / (long(vx, vy, vz) || 1);
  view[0] = vx * away;
  view[1] = vy * away;
  view[2] = vz * away;
  const nx = place[3] ?? 0;
  const ny = place[4] ?? 0;
  const nz = place[5] ?? 0;
  const by = 1 / (long(nx, ny, nz) || 1);
  const facing = (nx * vx + ny * vy + nz * vz) * away * by;
  // At the outline of a closed part the normal points away a little; it must not be flipped.
  const sign = facing < 0 && !isClosed ? -by : by;
  place[3] = nx * sign;
  place[4] = ny * sign;
  place[5] = nz * sign;
  return facing >= 0 ? facing : isClosed ? 0 : -facing;
}

function lightPlace(
  { air, shadows, lamps, surfaces }: Scene,
  surface: number,
  facing: number,
  out: Float64Array,
): number {
  const { sunAt, sun, sky } = air.daylight;
  const x = place[0] ?? 0;
  const y = place[1] ?? 0;
  const z = place[2] ?? 0;
  const nx = place[3] ?? 0;
  const ny = place[4] ?? 0;
  const nz = place[5] ?? 0;
  const u = place[6] ?? 0;
  const v = place[7] ?? 0;
  const w = place[8] ?? 0;
  const kind = surfaces[surface + 6] ?? 0;
  const toSun = nx * sunAt[0] + ny * sunAt[1] + nz * sunAt[2];
  const off = shadows.size * 0.012;
  const lit = toSun > -0.1 ? shadows.sunAt(x + nx * off, y + ny * off, z + nz * off) : 0;
  const key = lit * (toSun > 0 ? 0.12 + 0.88 * toSun : 0.12 + toSun * 1.2) * 0.33;
  const wide = shadows.size * 0.05;
  const open = 0.5 + 0.5 * shadows.skyAt(x + nx * wide, y + ny * wide, z + nz * wide);
  const up = 0.5 + 0.5 * ny;
  const pane = kind === patterns.windows && ny * ny < 0.25 ? windowAt(u + w, v) : 0;
  const pattern = pane === 0 ? patternAt(kind, u, v, w) : 0.55;
  const glow = pane > 0 && air.daylight.stars > 0 ? -pane : (surfaces[surface + 5] ?? 0);
  const mirror = surfaces[surface + 4] ?? 0;
  const isMetal = mirror > 0.6;
  const share = mirror > 0 ? mirrorTo(air, facing, mirror, isMetal) : 0;
  const shining = lit * (surfaces[surface + 3] ?? 0) * highlight(sunAt, mirror);
  const warm = lamps.length > 0 ? lamplightAt(lamps, x, y, z, nx, ny, nz) : 0;
  for (let part = 0; part < 3; part += 1) {
    const colour = (surfaces[surface + part] ?? 0) * pattern;
    const ambient = ((sky[part] ?? 0) * 0.62 * up + (air.bounce[part] ?? 0) * (1 - up)) * open;
    const matt = colour * ((sun[part] ?? 0) * key + ambient + warm * (lamplight[part] ?? 0));
    const seen = (shine[part] ?? 0) * (isMetal ? colour * 1.25 : 1) * (0.35 + 0.65 * open);
    const all = matt + (seen - matt) * share + (sun[part] ?? 0) * shining * (isMetal ? 0.3 + colour : 1);
    out[part] = glow < 0 ? -glow * (lamplight[part] ?? 0) : all + (colour * 1.25 + 0.12 - all) * glow;
  }
  return surfaces[surface + 7] ?? 1;
}

/** Pattern of a wall with windows: 0 is wall, negative a dark window, positive a lit one. */
function windowAt(along: number, up: number): number {
  const row = Math.floor(up * 2.2);
  const column = Math.floor(along * 2.4);
  const v = up * 2.2 - row;
  const u = along * 2.4 - column;
  if (v < 0.3 || v > 0.8 || u < 0.22 || u > 0.78) return 0;
  return chanceAt(column, row, 3) < 0.42 ? 0.4 + 0.6 * chanceAt(row, column, 5) : -1;
}

/** Factor for the colour at a place of a part. */
function patternAt(pattern: number, x: number, y: number, z: number): number {
  switch (pattern) {
    case patterns.wood: {
      const bent = smooth(x * 1.4 + z * 3, y * 5 + z * 2);
      return 0.97 + 0.13 * smooth(x * 2.2, y * 26 + z * 21 + bent * 2.4) + 0.08 * bent;
    }
    case patterns.stone:
      return (
        0.96 + 0.12 * smooth(x * 4 + z * 2.3, y * 4 - z * 2.9) + 0.09 * smooth(x * 13 + z * 9, y * 13 + z * 7)
      );
    case patterns.brick:
      return bricksAt(x + z, y);
    case patterns.cloth:
      return 0.98 + 0.05 * smooth(x * 22 + z * 13, y * 22 - z * 9);
    default:
      return 1;
  }
}

function bricksAt(along: number, up: number): number {
  const row = Math.floor(up * 6);
  const across = along * 2.2 + (row & 1) * 0.5;
  const brick = Math.floor(across);
  const isJoint = up * 6 - row < 0.12 || across - brick < 0.06;
  return isJoint ? 1.3 : 0.94 + 0.14 * smooth(brick * 3.7 + 0.5, row * 5.3 + 0.5);
}

/** Writes the reflected light into `shine`; returns its share, which is larger at grazing angles. */
function mirrorTo(air: Air, facing: number, mirror: number, isMetal: boolean): number {
  const x = 2 * facing * (place[3] ?? 0) - (view[0] ?? 0);
  const y = 2 * facing * (place[4] ?? 0) - (view[1] ?? 0);
  const z = 2 * facing * (place[5] ?? 0) - (view[2] ?? 0);
  mirrored(air, x, y, z, isMetal ? 0.15 : 0.7, shine);
  const rest = (1 - facing) * (1 - facing);
  return isMetal ? mirror : mirror + (0.75 - mirror) * rest * rest;
}

export const lamplight = [1, 0.72, 0.4] as const;

/** Light from lamps, without shadows. */
export function lamplightAt(
  lamps: readonly Lamp[],
  x: number,
  y: number,
  z: number,
  nx: number,
  ny: number,
  nz: number,
): number {
  let sum = 0;
  for (const { at, size, power } of lamps) {
    const dx = at[0] - x;
    const dy = at[1] - y;
    const dz = at[2] - z;
    const square = dx * dx + dy * dy + dz * dz;
    const toward = (dx * nx + dy * ny + dz * nz) / Math.sqrt(square || 1);
    if (toward > 0) sum += (toward * power) / (size + square);
  }
  return sum;
}

/** Reflection of the sun: small and bright on mirrors, wide and weak on rough surfaces. */
function highlight(sunAt: Vector, mirror: number): number {
  const hx = (view[0] ?? 0) + sunAt[0];
  const hy = (view[1] ?? 0) + sunAt[1];
  const hz = (view[2] ?? 0) + sunAt[2];
  const near = ((place[3] ?? 0) * hx + (place[4] ?? 0) * hy + (place[5] ?? 0) * hz) / (long(hx, hy, hz) || 1);
  if (near <= 0.5) return 0;
  const two = near * near;
  const eight = two * two * two * two;
  const wide = eight * eight * eight;
  return mirror > 0.04 ? 0.5 * wide * wide * wide : 0.12 * wide;
}

export function fadeInto(out: Float64Array, share: number, haze: Float32Array, x: number): void {
  if (share <= 0) return;
  const at = Math.floor(x) * 3;
  for (let part = 0; part < 3; part += 1) {
    const own = out[part] ?? 0;
    out[part] = own + ((haze[at + part] ?? 0) - own) * share;
  }
}

/** Numbers for each surface: red, green, blue, sheen, mirror, glow, pattern, opacity. */
export const surfaceSize = 8;

const patterns = { plain: 0, wood: 1, stone: 2, brick: 3, cloth: 4, metal: 5, windows: 6 } as const;

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

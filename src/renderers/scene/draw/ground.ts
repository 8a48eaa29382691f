/** Shades places of the ground and of water. */
import type { Ground } from '../layout/setting-of.ts';
import { airAt, mirrored, type Orb } from './light.ts';
import { fadeInto, lamplight, lamplightAt, type Scene, smooth } from './shade.ts';

/** Writes the light of a place into `out`. `near`: 1 / depth of the place. `ray`: its direction, one metre deep. */
export function shadeGround(
  scene: Scene,
  ground: Ground,
  near: number,
  ray: Float64Array,
  x: number,
  out: Float64Array,
): void {
  const { eye, air, shadows } = scene;
  const dx = ray[0] ?? 0;
  const dy = ray[1] ?? 0;
  const dz = ray[2] ?? 0;
  const { sun, sky, sunAt } = air.daylight;
  const depth = near > 1e-5 ? 1 / near : 1e5;
  const share = airAt(air, depth);
  if (share < 1) {
    const px = eye.from[0] + dx * depth;
    const py = eye.from[1] + dy * depth;
    const pz = eye.from[2] + dz * depth;
    const lit = shadows.sunAt(px, py, pz);
    const contact = shadows.contactAt(px, pz);
    // Texture smaller than a pixel is left out.
    const fine = Math.max(0, Math.min(1, (eye.focal * near * 0.05 * (eye.from[1] - py)) / depth / 1.2));
    const shade = textureOf(ground, px, pz, fine, shadows.size);
    const key = lit * Math.max(0.12, sunAt[1]) * 0.33;
    const warm = scene.lamps.length > 0 ? lamplightAt(scene.lamps, px, py, pz, 0, 1, 0) : 0;
    coverAt(scene, px, pz, depth, cover);
    for (let part = 0; part < 3; part += 1) {
      const lamp = warm * (lamplight[part] ?? 0);
      out[part] =
        (cover[part] ?? 0) * shade * ((sun[part] ?? 0) * key + (sky[part] ?? 0) * 0.6 * contact + lamp);
    }
  }
  fadeInto(out, share, scene.haze, x);
}

/** Writes the colour of the ground into `out`: a road through a meadow, or wet sand at the shore. */
function coverAt(
  { air, road, shore, eye }: Scene,
  x: number,
  z: number,
  depth: number,
  out: Float64Array,
): void {
  const { soil } = air;
  out[0] = soil[0];
  out[1] = soil[1];
  out[2] = soil[2];
  if (road === null && shore === null) return;
  // Width of soft edges: the depth of a pixel on the ground.
  const soft = (depth * depth) / (eye.focal * eye.from[1]) + 0.01;
  if (road !== null) {
    const away = Math.abs(z - road.middle) - road.half;
    const dash = x * 0.4 - Math.floor(x * 0.4) < 0.55 ? 1 : 0;
    blendTo(
      out,
      marking,
      Math.max(
        inside(Math.abs(away + 0.22) - 0.035, soft),
        dash * inside(Math.abs(z - road.middle) - 0.04, soft),
      ) * 0.8,
    );
    blendTo(out, kerb, 1 - inside(away, soft));
    blendTo(out, meadow, 1 - inside(away - 0.16, soft));
  }
  if (shore !== null) {
    const dry = shore.away - x * shore.x - z * shore.z;
    const wet = 0.45 + 0.25 * smooth(x * 0.8, z * 0.8);
    for (let part = 0; part < 3; part += 1)
      out[part] = (out[part] ?? 0) * (1 - 0.3 * inside(dry - wet, soft + 0.1));
  }
}

const meadow = Float64Array.from([0.21, 0.39, 0.1]);
const kerb = Float64Array.from([0.55, 0.54, 0.5]);
const marking = Float64Array.from([0.8, 0.78, 0.72]);
const cover = new Float64Array(3);

/** 1 inside (negative distance), 0 beyond the soft edge. */
function inside(distance: number, soft: number): number {
  const share = 0.5 - distance / soft;
  return share < 0 ? 0 : share > 1 ? 1 : share;
}

function blendTo(out: Float64Array, colour: Float64Array, share: number): void {
  if (share <= 0) return;
  for (let part = 0; part < 3; part += 1)
    out[part] = (out[part] ?? 0) + ((colour[part] ?? 0) - (out[part] ?? 0)) * share;
}

function textureOf(ground: Ground, x: number, z: number, fine: number, size: number): number {
  const broad = smooth(x * 0.5, z * 0.5) * 0.6 + smooth(x * 1.3 + 40, z * 1.3) * 0.4;
  switch (ground) {
    case 'grass':
    case 'field':
      return 0.97 + 0.11 * broad + fine * 0.13 * smooth(x * 17, z * 17);
    case 'sand':
      return 0.98 + 0.05 * broad + fine * 0.04 * smooth(x * 3 + broad * 2, z * 14);
    case 'snow':
      return 0.98 + 0.03 * broad;
    case 'floor':
      return floorAt(x, z, fine);
    case 'road':
    case 'stone':
    case 'space':
      return 0.97 + 0.05 * broad + fine * 0.07 * smooth(x * 24, z * 24);
    case 'studio': {
      const u = x / size;
      const v = z / size;
      return 0.98 + 0.07 * smooth(u * 1.3, v * 14) + 0.05 * fine * smooth(u * 5, v * 60);
    }
    case 'water':
      return 1;
  }
}

function floorAt(x: number, z: number, fine: number): number {
  const board = Math.floor(x * 3.2);
  const along = Math.floor(z * 0.5 + board * 0.37);
  const tone = smooth(board * 7.3 + 0.5, along * 3.1 + 0.5);
  const isJoint = x * 3.2 - board < 0.03;
  return (isJoint ? 1 - 0.35 * fine : 1) * (0.97 + 0.1 * tone + fine * 0.06 * smooth(x * 40, z * 2.4));
}

const sea = [0.02, 0.19, 0.36] as const;
const lagoon = [0.16, 0.58, 0.56] as const;

/** Covers the reflection in `out` with water. If `isSky`, writes the reflection of the sky first. */
export function shadeWater(
  scene: Scene,
  isSky: boolean,
  ray: Float64Array,
  x: number,
  out: Float64Array,
): void {
  const { eye, air, level } = scene;
  const dx = ray[0] ?? 0;
  const dy = ray[1] ?? 0;
  const dz = ray[2] ?? 0;
  const depth = Math.min(1e5, (level - eye.from[1]) / Math.min(-1e-6, dy));
  const px = eye.from[0] + dx * depth;
  const pz = eye.from[2] + dz * depth;
  const by = 1 / Math.sqrt(dx * dx + dy * dy + dz * dz);
  const wave = smooth(px * 0.7, pz * 2.6) * 0.6 + smooth(px * 1.9 + 9, pz * 7) * 0.4;
  const calm = Math.min(1, 14 / depth);
  const slope = Math.max(0.02, -dy * by * (1 + 0.35 * wave * calm));
  if (isSky) mirrored(air, dx * by, slope * 0.5 + 0.3, dz * by, 0, out);
  const rest = 1 - slope;
  const share = 0.14 + (isSky ? 0.5 : 0.72) * rest * rest * rest;
  const { sun, sky, sunAt } = air.daylight;
  const off =
    scene.shore === null ? 100 : Math.max(0, px * scene.shore.x + pz * scene.shore.z - scene.shore.away);
  const shallow = 1 / (1 + off * off * 0.06) - 0.02;
  const soft = (depth * depth) / (eye.focal * (eye.from[1] - level)) + 0.08;
  const edge = 0.3 + 0.22 * smooth(px * 1.1, pz * 1.1);
  const line = 0.8 * inside(Math.abs(off - edge - 0.9 - 0.4 * wave) - 0.09 * calm, soft);
  const foam = scene.shore === null ? 0 : 0.75 * Math.max(line, inside(off - edge, soft));
  for (let part = 0; part < 3; part += 1) {
    const deep =
      (sea[part] ?? 0) *
      ((sun[part] ?? 0) * 0.2 * sunAt[1] + (sky[part] ?? 0) * 0.45) *
      (1 + 0.12 * wave * calm);
    const near =
      deep +
      ((lagoon[part] ?? 0) * ((sun[part] ?? 0) * 0.24 * sunAt[1] + (sky[part] ?? 0) * 0.5) - deep) * shallow;
    const bright = 0.85 * ((sun[part] ?? 0) * 0.3 * sunAt[1] + (sky[part] ?? 0) * 0.6);
    const seen = near + ((out[part] ?? 0) - near) * share * (1 + 0.08 * wave * calm) * (1 - 0.5 * shallow);
    out[part] = seen + (bright - seen) * foam;
  }
  if (scene.orb !== null)
    addGlitter(scene.orb, dx * by, slope, dz * by, smooth(px * 3.1, pz * 11), calm, out);
  fadeInto(out, airAt(air, depth) * 0.2, scene.haze, x);
}

/** Adds the path of light below the moon or the sun. */
function addGlitter(
  { toward, colour, isMoon }: Orb,
  x: number,
  y: number,
  z: number,
  wave: number,
  calm: number,
  out: Float64Array,
): void {
  const by = 1 / Math.sqrt(toward[0] * toward[0] + toward[2] * toward[2]);
  const aside = (x * toward[2] - z * toward[0]) * by;
  const wide = 0.02 + 0.16 * y;
  const share =
    Math.max(0, 1 - (aside * aside) / (wide * wide)) *
    Math.max(0, 0.35 + 0.65 * (1 - calm) + 1.3 * wave * calm);
  for (let part = 0; part < 3; part += 1) {
    const own = out[part] ?? 0;
    const light = (colour[part] ?? 0) / 255;
    out[part] = own + (light * light - own) * Math.min(0.85, share * (isMoon ? 0.55 : 0.8));
  }
}

/** The light of a picture: sun, sky, light from the ground, reflections, and haze. */
import { type Colour, mix } from '../../colour.ts';
import { createRandom, noise, cloudNoise, fade } from '../../random.ts';
import { soilOf } from '../around/backdrops.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { sizeOf } from '../things/parts.ts';
import {
  dot,
  each,
  falling,
  long,
  minus,
  normal,
  plus,
  sine,
  snap,
  snapped,
  times,
  toward,
  type Vector,
} from '../vector.ts';
import { type Eye, rayOf } from './eye.ts';
import { type Light, type Daylight, linear } from '../layout/setting-of.ts';

export interface Air {
  daylight: Daylight;
  soil: Light;
  bounce: Light;
  /** Depths where haze begins and where it hides everything. */
  near: number;
  far: number;
}

export interface Orb {
  toward: Vector;
  colour: Colour;
  /** In radians. */
  radius: number;
  shine: number;
  isMoon: boolean;
}

export interface Lamp {
  at: Vector;
  size: number;
  power: number;
  colour: Colour;
}

export function airOf(plan: PicturePlan, daylight: Daylight): Air {
  const { box, view } = plan;
  const { ground } = plan.setting;
  const soil = snapped(linear(soilOf(plan)));
  const fall = Math.max(0.15, daylight.sunAt[1]) * 0.3;
  const thrown: Light = each(
    (part) => soil[part] * (daylight.sky[part] * 0.55 + daylight.sun[part] * fall * 0.5),
  );
  const grey = (thrown[0] + thrown[1] + thrown[2]) / 3;
  const away = long(...minus(snapped(view.from), snapped(view.to)));
  const [near, far] = fogOf(daylight, Math.max(...snapped(sizeOf(box))));
  const isAirless = ground === 'space' || daylight.isStudio;
  return {
    daylight,
    soil,
    bounce: ground === 'space' ? [0.01, 0.01, 0.01] : mix(thrown, [grey, grey, grey], 0.35),
    near: isAirless ? 1000 : away + near,
    far: isAirless ? 2000 : away + far,
  };
}

/** The moon, or the sun if low or named, behind the things and off the centre. Null if there is none. */
export function orbOf({ view, setting, daylight, seed }: PicturePlan, aspect: number): Orb | null {
  const side = createRandom(`orb ${seed}`).chance(0.5) ? 1 : -1;
  const [x, y, z] = minus(snapped(view.to), snapped(view.from));
  const pitch = y / long(x, 0, z);
  const around = view.facing + Math.PI + side * Math.min(0.17, 0.15 * aspect);
  if (daylight.hasMoon)
    return {
      toward: snapped(toward(around, pitch + 0.19)),
      colour: [247, 243, 226],
      radius: 0.026,
      shine: 0.42,
      isMoon: true,
    };
  const isLow = setting.time === 'sunset' || setting.time === 'dawn';
  const isNamed = setting.sights.includes('sun');
  if (setting.weather !== 'clear' || daylight.isStudio || setting.ground === 'space' || !(isLow || isNamed))
    return null;
  const up = isLow ? 0.075 : Math.max(0.1, pitch + 0.19);
  return {
    toward: snapped(toward(around, up)),
    colour: isLow ? [255, 226, 160] : [255, 250, 226],
    radius: isLow ? 0.032 : 0.024,
    shine: isLow ? 0.75 : 0.8,
    isMoon: false,
  };
}

/** Distances from the things where haze begins and ends. A studio's backdrop begins close behind them. */
export function fogOf({ haze, isStudio }: Daylight, size: number): [near: number, far: number] {
  if (isStudio) return [size * 0.9, size * 4.5];
  return haze > 4 ? [-size * 0.3, 14] : [12 / snap(haze), 115 / snap(haze)];
}

/** Writes the light that a mirror reflects from a direction into `out`. `dull`: blur of the reflection. */
export function mirrored(
  { daylight, bounce }: Air,
  x: number,
  y: number,
  z: number,
  dull: number,
  out: Float64Array,
): void {
  const { horizon, middle, sunAt, isStudio } = daylight;
  const up = y > 0 ? (1 - y) * (1 - y) : 1;
  const share = 1 - up * up;
  // The lower reflection is dark at the edge of the ground, where things stand.
  const below = Math.max(0, Math.min(1, (0.04 + dull * 0.3 - y) / (0.11 + dull * 0.6)));
  const floor = 0.75 + 0.35 * Math.max(0, -y);
  let lamp = 0;
  if (isStudio) {
    const side = (x * sunAt[0] + z * sunAt[2] - 0.4) / (0.1 + dull * 0.3);
    const strip =
      Math.max(0, Math.min(1, side)) *
      Math.max(0, Math.min(1, (0.24 - Math.abs(y - 0.3)) / (0.06 + dull * 0.2)));
    lamp = 1.2 * Math.max(strip, Math.max(0, Math.min(1, (0.22 - Math.abs(y - 0.72)) / (0.05 + dull * 0.2))));
  }
  for (let part = 0; part < 3; part += 1) {
    const low = isStudio ? 0.5 : (horizon[part] ?? 0);
    const high = isStudio ? 0.35 : (middle[part] ?? 0);
    const sky = low + (high - low) * share + lamp;
    out[part] = sky + ((bounce[part] ?? 0) * floor + (isStudio ? 0.12 : 0) - sky) * below;
  }
}

/** Share of haze at a depth: 0 is clear, 1 is all haze, with soft ends. */
export function airAt({ near, far }: Air, depth: number): number {
  const share = (depth - near) / (far - near);
  if (!(share > 0)) return 0;
  return share >= 1 ? 1 : share * share * (3 - 2 * share);
}

const step = 8;

/** Light of the sky and its reflection, computed at every eighth pixel of the picture and interpolated between. */
export class SkyGrid {
  readonly #columns: number;
  readonly #values: Float32Array;

  constructor(eye: Eye, light: (ray: Vector, x: number, y: number) => Light) {
    this.#columns = Math.ceil(eye.width / step) + 2;
    const rows = Math.ceil(eye.height / step) + 2;
    this.#values = new Float32Array(this.#columns * rows * 3);
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < this.#columns; column += 1) {
        const ray = normal(rayOf(eye, column * step, row * step));
        this.#values.set(light(ray, column * step, row * step), (row * this.#columns + column) * 3);
      }
    }
  }

  at(x: number, y: number, out: Float64Array): void {
    const u = x / step;
    const v = y / step;
    const column = Math.floor(u);
    const row = Math.floor(v);
    const fu = u - column;
    const fv = v - row;
    const values = this.#values;
    const upper = (row * this.#columns + column) * 3;
    const lower = upper + this.#columns * 3;
    for (let part = 0; part < 3; part += 1) {
      const above = (values[upper + part] ?? 0) * (1 - fu) + (values[upper + part + 3] ?? 0) * fu;
      const below = (values[lower + part] ?? 0) * (1 - fu) + (values[lower + part + 3] ?? 0) * fu;
      out[part] = above * (1 - fv) + below * fv;
    }
  }
}

/** Rounds a daylight to be the same on every machine. Fixed order of fields makes access faster. */
export function exactDaylight(daylight: Daylight): Daylight {
  const { clouds, stars, haze, hasMoon, hasRainbow, hasAurora, isStudio, isSpace } = daylight;
  return {
    sunAt: normal(snapped(daylight.sunAt)),
    sun: snapped(daylight.sun),
    sky: snapped(daylight.sky),
    zenith: snapped(daylight.zenith),
    middle: snapped(daylight.middle),
    horizon: snapped(daylight.horizon),
    glow: snapped(daylight.glow),
    clouds,
    stars,
    haze,
    hasMoon,
    hasRainbow,
    hasAurora,
    isStudio,
    isSpace,
  };
}

export interface SkyView {
  /** Height of the picture's upper edge. All colours of the hour are between it and the horizon. */
  top: number;
  /** Horizontal direction into the picture. */
  ahead: Vector;
  seed: number;
  /** True if fair-weather clouds are painted over the sky later. */
  hasHeaps: boolean;
}

export function skyViewOf(eye: Eye, seed: number, hasHeaps: boolean): SkyView {
  const top = Math.max(0.14, normal(rayOf(eye, eye.width / 2, 0))[1]);
  return { top, ahead: normal([eye.forward[0], 0, eye.forward[2]]), seed, hasHeaps };
}

export function skyToward(daylight: Daylight, ray: Vector, view: SkyView): Light {
  const { horizon, middle, zenith, sunAt, glow, clouds } = daylight;
  const up = Math.max(0, ray[1]);
  const share = up / view.top;
  const lower = mix(horizon, middle, fade(share / 0.55));
  let light: Light = mix(lower, zenith, 0.9 * fade((share - 0.2) / 1.1));
  const toSun = Math.max(0, dot(ray, sunAt));
  const near = toSun * toSun * toSun * toSun;
  light = plus(light, times(glow, 0.06 * near + 0.15 * near * near * near));
  if (daylight.isSpace) light = plus(light, nebulaAt(ray, view.seed));
  if (daylight.hasAurora) light = plus(light, auroraAt(ray, view));
  if (daylight.hasRainbow) light = plus(light, rainbowAt(ray, view.ahead));
  return clouds > (view.hasHeaps ? 0.5 : 0) && up > 0.005
    ? withClouds(daylight, light, ray, view.seed)
    : light;
}

function nebulaAt([x, y, z]: Vector, seed: number): Light {
  const rough = cloudNoise(x * 5 + seed, y * 5, z * 5, 3);
  const band = fade(1 - Math.abs(x * 1.3 - y * 1.6 + rough * 0.55 + 0.1) / 0.5);
  const colour = mix([0.1, 0.025, 0.12], [0.03, 0.05, 0.16], fade(0.5 + noise(x * 3, y * 3, seed)));
  return times(colour, band * (0.55 + rough));
}

/** Curtains of northern lights, one behind the other, green at the hem and violet above. */
function auroraAt([x, y, z]: Vector, { top, ahead, seed }: SkyView): Light {
  const aside = x * ahead[2] - z * ahead[0];
  const lights = curtains.map(([hem, wave, strength], index): Light => {
    const fold = 0.09 * sine(aside * wave * 2.2 + index * 2 + seed) + 0.06 * noise(aside * 7, index, seed);
    const above = y / top - hem - fold;
    const rays = 0.6 + 0.5 * noise(aside * 70, index * 7, seed);
    const shine =
      strength * Math.max(0, rays) * fade((above + 0.03) / 0.07) * falling(Math.max(0, above) * 3.6);
    return times(mix([0.08, 0.85, 0.45], [0.5, 0.14, 0.8], fade(above / 0.5)), shine);
  });
  return lights.reduce(plus);
}

/** For each curtain: height of the hem as a share of the sky, number of folds, and strength. */
const curtains = [
  [0.2, 6, 0.6],
  [0.38, 4.4, 0.8],
  [0.58, 7.3, 0.45],
] as const;

/** A rainbow with a radius of 23 degrees around a point below the horizon. */
function rainbowAt(ray: Vector, [x, , z]: Vector): Light {
  const near = 1 - dot(ray, [x * 0.97, -0.243, z * 0.97]);
  const at = (Math.sqrt(2 * Math.max(0, near)) - 0.4) / 0.035;
  if (at < 0 || at > 1) return [0, 0, 0];
  const band = (center: number): number => 0.42 * fade(1 - Math.abs(at - center) / 0.36);
  return [band(0.8) + band(0.08) * 0.4, band(0.52), band(0.22)];
}

/** The wall behind a table, with light from a window. `x`, `y`: shares of the picture's width. */
export function wallAt(x: number, y: number, seed: number): Light {
  const side = seed % 2 === 0 ? x : 1 - x;
  const dx = side - 0.62;
  const dy = y - 0.16;
  const away = dx * dx + dy * dy * 1.6;
  const wall = mix([0.56, 0.44, 0.32], [0.17, 0.12, 0.085], fade(away * 1.5));
  const u = (side - 0.6 + y * 0.16) / 0.2;
  const v = (y - 0.045) / 0.2;
  const pane = (place: number): number =>
    fade(place / 0.06) * fade((1 - place) / 0.06) * fade((Math.abs(place - 0.5) - 0.02) / 0.03);
  return plus(wall, times([0.4, 0.33, 0.23], pane(u) * pane(v) * 0.75));
}

function withClouds(daylight: Daylight, light: Light, [x, y, z]: Vector, seed: number): Light {
  const reach = 1 / (y + 0.2);
  const u = x * reach * 0.9;
  const v = z * reach * 1.5;
  const thick = cloudNoise(u + seed, v, seed * 0.37, 4) + 0.5;
  const cover = fade((thick - (0.96 - daylight.clouds * 0.95)) / 0.3);
  if (cover <= 0) return light;
  const shaded = fade((thick - (1.04 - daylight.clouds * 0.95)) / 0.5);
  const bright = Math.min(1.05, 0.2 + Math.max(...daylight.horizon));
  const white = times(mix(daylight.horizon, [1, 1, 1], 0.6), bright);
  const body = mix(white, times(daylight.sky, 0.8), shaded * 0.4);
  return mix(light, body, cover * fade(y / 0.14) * 0.85);
}

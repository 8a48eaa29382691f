/** The sky and its reflection, computed at every eighth pixel and interpolated between. */
import { mix } from '../../colour.ts';
import type { Daylight, Light } from '../picture/daylight.ts';
import { cloudNoise, fade, noise } from '../picture/noise.ts';
import { dot, plus, times, type Vector } from '../vector.ts';
import { falling, normal, sine, snapped } from '../exact.ts';
import { rayOf, type Eye } from './eye.ts';

const step = 8;

/** Light of the sky on a grid over the picture. */
export class SkyGrid {
  readonly #columns: number;
  readonly #values: Float32Array;

  constructor(eye: Eye, light: (toward: Vector, x: number, y: number) => Light) {
    this.#columns = Math.ceil(eye.width / step) + 2;
    const rows = Math.ceil(eye.height / step) + 2;
    this.#values = new Float32Array(this.#columns * rows * 3);
    for (let row = 0; row < rows; row += 1) {
      for (let column = 0; column < this.#columns; column += 1) {
        const toward = normal(rayOf(eye, column * step, row * step));
        this.#values.set(light(toward, column * step, row * step), (row * this.#columns + column) * 3);
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

export function skyToward(daylight: Daylight, toward: Vector, view: SkyView): Light {
  const { horizon, middle, zenith, sunAt, glow, clouds } = daylight;
  const up = Math.max(0, toward[1]);
  const share = up / view.top;
  const lower = mix(horizon, middle, fade(share / 0.55));
  let light: Light = mix(lower, zenith, 0.9 * fade((share - 0.2) / 1.1));
  const toSun = Math.max(0, dot(toward, sunAt));
  const near = toSun * toSun * toSun * toSun;
  light = plus(light, times(glow, 0.06 * near + 0.15 * near * near * near));
  if (daylight.isSpace) light = plus(light, nebulaAt(toward, view.seed));
  if (daylight.hasAurora) light = plus(light, auroraAt(toward, view));
  if (daylight.hasRainbow) light = plus(light, rainbowAt(toward, view.ahead));
  return clouds > (view.hasHeaps ? 0.5 : 0) && up > 0.005
    ? withClouds(daylight, light, toward, view.seed)
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
function rainbowAt(toward: Vector, [x, , z]: Vector): Light {
  const near = 1 - dot(toward, [x * 0.97, -0.243, z * 0.97]);
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

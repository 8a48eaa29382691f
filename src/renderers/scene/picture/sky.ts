/** The light that comes from a direction of the sky: blue, clouds, sun, moon and stars, or a studio's lamps; pure. */
import { mix } from '../../colour.ts';
import { dot, plus, times, type Vector } from '../vector.ts';
import type { Daylight, Light } from './daylight.ts';
import { chanceAt, cloudNoise, fade, noise } from './noise.ts';

export interface SkyDetail {
  /** With clouds, moon and stars, as the eye sees them; without them for what lights and mirrors. */
  isSeen: boolean;
  seed: number;
  moonAt: Vector;
}

export function skyLight(daylight: Daylight, [x, y, z]: Vector, detail: SkyDetail): Light {
  if (daylight.isStudio) return studioLight(daylight, [x, y, z], detail.isSeen);
  const up = Math.max(0, y);
  let light = mix(daylight.horizon, daylight.zenith, 1 - (1 - up) ** 4.5);
  const toSun = Math.max(0, dot([x, y, z], daylight.sunAt));
  light = plus(light, times(daylight.glow, 0.28 * toSun ** 24 + 0.1 * toSun ** 5));
  if (detail.isSeen) light = plus(light, starsAt(daylight, [x, y, z]));
  if (daylight.hasAurora) light = plus(light, auroraAt([x, y, z], detail));
  if (detail.isSeen && daylight.hasMoon) light = withMoon(light, dot([x, y, z], detail.moonAt), [x, y, z]);
  if (detail.isSeen && daylight.hasRainbow) light = plus(light, rainbowAt([x, y, z], detail.moonAt));
  return y > 0.01 ? withClouds(daylight, light, [x, y, z], toSun, detail) : light;
}

/** A pale room with a large lamp above and a strip at the side. */
function studioLight(daylight: Daylight, [x, y, z]: Vector, isSeen: boolean): Light {
  const wall = mix([0.62, 0.615, 0.6], [0.36, 0.38, 0.42], Math.min(1, Math.max(0, y * 2.2)));
  if (isSeen) return wall;
  const lamp = y > 0.55 && Math.abs(x) < 0.55 && Math.abs(z) < 0.6 ? 3.2 : 0;
  const strip = Math.abs(y - 0.35) < 0.3 && dot([x, 0, z], daylight.sunAt) > 0.62 ? 2.4 : 0;
  return plus(times(wall, 1.5), [lamp + strip, lamp + strip, (lamp + strip) * 0.97]);
}

function withClouds(
  daylight: Daylight,
  light: Light,
  [x, y, z]: Vector,
  toSun: number,
  { seed, isSeen }: SkyDetail,
): Light {
  if (daylight.clouds <= 0) return light;
  const reach = 1 / (y + 0.16);
  const [u, v] = [x * reach * 1.15, z * reach * 1.15];
  const octaves = isSeen ? 5 : 2;
  const thick = cloudNoise(u + seed, v, seed * 0.37, octaves) + 0.5;
  const cover = fade((thick - (0.98 - daylight.clouds * 0.95)) / 0.34);
  if (cover <= 0) return light;
  const shaded = fade((thick - (1.08 - daylight.clouds * 0.95)) / 0.6);
  const white = plus(
    times(mix(daylight.horizon, [1, 1, 1], 0.55), Math.min(1.05, 0.25 + Math.max(...daylight.horizon))),
    times(daylight.glow, 0.25 * toSun ** 6),
  );
  const body = mix(white, times(daylight.sky, 0.75), shaded * 0.45);
  return mix(light, body, cover * fade(y / 0.14) * 0.92);
}

function starsAt({ stars }: Daylight, [x, y, z]: Vector): Light {
  if (stars <= 0 || y < 0.02) return [0, 0, 0];
  const cells = 46;
  const [a, b] = [Math.atan2(x, z) * cells, Math.asin(Math.min(1, y)) * cells];
  const [ia, ib] = [Math.floor(a), Math.floor(b)];
  const chance = chanceAt(ia, ib, 0);
  if (chance > 0.34) return [0, 0, 0];
  const away = Math.hypot(
    (a - ia - 0.25 - chanceAt(ia, ib, 1) * 0.5) * Math.sqrt(1 - y * y),
    b - ib - 0.25 - chanceAt(ia, ib, 2) * 0.5,
  );
  const shine = Math.max(0, 1 - away / (0.05 + 0.13 * chanceAt(ia, ib, 3) ** 2)) * stars * 1.4;
  return [shine, shine * 0.97, shine * (0.9 + 0.2 * chance)];
}

/** Curtains of light behind one another, green at their hems and violet above. */
function auroraAt([x, y, z]: Vector, { seed, moonAt }: SkyDetail): Light {
  // From the middle of the picture, where the moon would stand.
  const around = Math.atan2(x, z) - Math.atan2(moonAt[0], moonAt[2]);
  const up = Math.asin(Math.min(1, Math.max(-1, y)));
  let light: Light = [0, 0, 0];
  for (const [index, [hem, wave, strength]] of curtains.entries()) {
    const fold = 0.07 * Math.sin(around * wave + index * 2 + seed) + 0.05 * noise(around * 5, index, seed);
    const above = up - hem - fold;
    const rays = 0.55 + 0.45 * noise(around * 90, index * 7, seed) + 0.3 * noise(around * 260, index, seed);
    const shine = strength * rays * fade((above + 0.02) / 0.05) * Math.exp(-Math.max(0, above) * 11);
    const colour = mix([0.1, 0.95, 0.5], [0.62, 0.16, 0.95], fade(above / 0.15));
    light = plus(
      light,
      times(colour, Math.max(0, shine) * fade((around + 1.5) / 0.5) * fade((1.5 - around) / 0.5)),
    );
  }
  return light;
}

/** The height of the hem in radians, folds and strength of each. */
const curtains = [
  [0.07, 6, 0.55],
  [0.14, 4.4, 0.75],
  [0.22, 7.3, 0.4],
] as const;

function withMoon(light: Light, toMoon: number, [x, y, z]: Vector): Light {
  const away = Math.acos(Math.min(1, toMoon));
  const disc = fade((0.052 - away) / 0.004);
  const seas = 0.82 + 0.3 * cloudNoise(x * 38, y * 38, z * 38, 3);
  const halo = plus(light, times([0.5, 0.6, 0.85], 0.28 * Math.exp(-away * 12)));
  return mix(halo, [1.15 * seas, 1.13 * seas, 1.04 * seas], disc);
}

/** A bow of 40 degrees around a point below the horizon. */
function rainbowAt([x, y, z]: Vector, moonAt: Vector): Light {
  const flat = Math.hypot(moonAt[0], moonAt[2]) || 1;
  const around = dot([x, y, z], [(moonAt[0] / flat) * 0.95, -0.31, (moonAt[2] / flat) * 0.95]);
  const at = (Math.acos(Math.max(-1, Math.min(1, around))) - 0.44) / 0.05;
  if (at < 0 || at > 1) return [0, 0, 0];
  const band = (center: number): number => 0.3 * Math.exp(-(((at - center) / 0.2) ** 2));
  return [band(0.85) + band(0.05) * 0.4, band(0.55), band(0.2)];
}

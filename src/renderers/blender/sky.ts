/** The light that comes from a direction of the sky, for Blender: as it is drawn, with moon and stars, or a studio's lamps; pure. */
import { mix } from '../colour.ts';
import { hashOf } from '../random.ts';
import { eyeOf } from '../scene/draw/eye.ts';
import { skyToward, skyViewOf, type SkyView } from '../scene/draw/sky.ts';
import type { Daylight, Light } from '../scene/picture/daylight.ts';
import { chanceAt, cloudNoise, fade } from '../scene/picture/noise.ts';
import type { PicturePlan } from '../scene/plan-picture.ts';
import { dot, minus, plus, times, toward, type Vector } from '../scene/vector.ts';

export interface SkyDetail {
  /** With moon and stars, as the eye sees them; without them for what lights and mirrors. */
  isSeen: boolean;
  view: SkyView;
  moonAt: Vector;
}

export function skyLight(daylight: Daylight, to: Vector, { isSeen, view, moonAt }: SkyDetail): Light {
  if (daylight.isStudio) return studioLight(daylight, to, isSeen);
  const light = skyToward(daylight, to, view);
  if (!isSeen) return light;
  const starry = plus(light, starsAt(daylight, to));
  return daylight.hasMoon ? withMoon(starry, dot(to, moonAt), to) : starry;
}

/** A pale room with a large lamp above and a strip at the side. */
function studioLight(daylight: Daylight, [x, y, z]: Vector, isSeen: boolean): Light {
  const wall = mix([0.62, 0.615, 0.6], [0.36, 0.38, 0.42], Math.min(1, Math.max(0, y * 2.2)));
  if (isSeen) return wall;
  const lamp = y > 0.55 && Math.abs(x) < 0.55 && Math.abs(z) < 0.6 ? 3.2 : 0;
  const strip = Math.abs(y - 0.35) < 0.3 && dot([x, 0, z], daylight.sunAt) > 0.62 ? 2.4 : 0;
  return plus(times(wall, 1.5), [lamp + strip, lamp + strip, (lamp + strip) * 0.97]);
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

function withMoon(light: Light, toMoon: number, [x, y, z]: Vector): Light {
  const away = Math.acos(Math.min(1, toMoon));
  const disc = fade((0.052 - away) / 0.004);
  const seas = 0.82 + 0.3 * cloudNoise(x * 38, y * 38, z * 38, 3);
  const halo = plus(light, times([0.5, 0.6, 0.85], 0.28 * Math.exp(-away * 12)));
  return mix(halo, [1.15 * seas, 1.13 * seas, 1.04 * seas], disc);
}

/** The moon stands where the camera sees it. */
export function skyDetail({ seed, view }: PicturePlan, aspect: number): SkyDetail {
  const [x, y, z] = minus(view.to, view.from);
  const moonAt = toward(view.facing + Math.PI + 0.15, Math.atan2(y, Math.hypot(x, z)) + 0.19);
  return { isSeen: true, view: skyViewOf(eyeOf(view, aspect, 1), hashOf(seed) % 1000, false), moonAt };
}

/** What the ground throws back onto what stands on it. */
export function groundLight({ daylight, setting }: PicturePlan): Light {
  const lit = mix(daylight.sky, daylight.sun, 0.12);
  return times(lit, setting.ground === 'snow' ? 0.7 : setting.ground === 'space' ? 0.02 : 0.32);
}

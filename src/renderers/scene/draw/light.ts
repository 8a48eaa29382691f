/** The light of a picture: sun, sky, light from the ground, reflections, and haze. */
import { mix, type Colour } from '../../colour.ts';
import { createRandom } from '../../random.ts';
import { soilOf } from '../around/ground.ts';
import { linear, type Daylight, type Light } from '../picture/daylight.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { sizeOf } from '../things/bounds.ts';
import { each, minus, toward, type Vector } from '../vector.ts';
import { long, snap, snapped } from '../exact.ts';

export interface Air {
  daylight: Daylight;
  soil: Light;
  /** Light that the ground reflects. */
  bounce: Light;
  /** Depths where haze begins and where it hides everything. */
  near: number;
  far: number;
}

/** The moon or the sun as the camera sees it. */
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

/**
 * The moon at night, or the sun if it is low or was named. It is behind the things, off the centre. Null if
 * there is none.
 */
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

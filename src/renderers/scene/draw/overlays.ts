/** Effects painted over a finished picture: clouds, stars, moon or sun, the glow of lamps, rain and snow. */
import { type Colour, mix, rgb } from '../../colour.ts';
import { createRandom, type Random, fade } from '../../random.ts';
import type { Weather } from '../layout/setting-of.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { dot, falling, long, minus, snap, type Vector } from '../vector.ts';
import { depthOf, type Eye } from './eye.ts';
import type { Lamp, Orb } from './light.ts';
import { type Scene, smooth } from './shade.ts';
import type { TimeOfDay } from '../../language/other-words.ts';

export interface Picture {
  bytes: Uint8Array;
  /** Number of the pixel's four samples that see the sky. */
  skyShare: Uint8Array;
  width: number;
  height: number;
}

/** Draws over a finished picture what has no surface: stars, clouds, sun or moon, the shine of lamps, and weather. */
export function drawOverlays(picture: Picture, plan: PicturePlan, { eye, air, orb, lamps }: Scene): void {
  const { stars, clouds, isStudio } = air.daylight;
  const { weather, time } = plan.setting;
  if (stars > 0) drawStars(picture, stars, plan.seed);
  if (!isStudio && weather === 'clear' && clouds > 0) drawClouds(picture, eye, time, plan.seed);
  if (orb !== null) drawOrb(picture, eye, orb);
  drawLampShine(picture, eye, lamps);
  drawWeather(picture, weather, plan.seed);
}

function drawStars(picture: Picture, amount: number, seed: string): void {
  const { width, height } = picture;
  const random = createRandom(`stars ${seed}`);
  const unit = Math.sqrt(width * height) / 627;
  for (let star = 0; star < 420 * amount; star += 1) {
    const x = random.next() * width;
    const y = random.next() * height;
    const chance = random.next();
    const bright = chance * chance * chance;
    drawDot(picture, x, y, (0.45 + 0.85 * bright) * unit, [226, 234, 255], 0.3 + 0.65 * bright, true);
  }
}

function drawOrb(picture: Picture, eye: Eye, { toward, colour, radius, shine, isMoon }: Orb): void {
  const [x, y] = placeOf(eye, toward);
  const size = radius * eye.focal;
  const reach = Math.ceil(size * (isMoon ? 7 : 13));
  eachPixel(picture, x, y, reach, (column, row, away) => {
    const disc = Math.max(0, Math.min(1, size + 0.5 - away));
    const halo = shine * falling(away / size / (isMoon ? 1.5 : 2.4)) * Math.max(0, 1 - away / reach);
    const sky = (picture.skyShare[row * picture.width + column] ?? 0) / 4;
    const share = Math.max(disc * sky, halo * (0.3 + 0.7 * sky));
    if (share < 0.002) return;
    const dark = smooth(((column - x) / size) * 2.2 + 5, ((row - y) / size) * 2.2 + 3);
    const seas = isMoon && disc > 0 ? 1 - 0.13 * Math.max(0, dark + 0.25) : 1;
    blend(picture, column, row, [colour[0] * seas, colour[1] * seas, colour[2] * seas], share);
  });
}

function placeOf(
  { right, above, forward, focal, width, height }: Eye,
  toward: Vector,
): [x: number, y: number] {
  const depth = dot(toward, forward);
  return [
    width / 2 + (dot(toward, right) / depth) * focal,
    height / 2 - (dot(toward, above) / depth) * focal,
  ];
}

function drawLampShine(picture: Picture, eye: Eye, lamps: readonly Lamp[]): void {
  for (const { at, size, colour } of lamps) {
    const depth = depthOf(eye, ...at);
    if (depth < 0.2) continue;
    const [x, y] = placeOf(eye, minus(at, eye.from));
    const reach = Math.min(picture.height * 0.4, (size * 3.2 * eye.focal) / depth + 4);
    eachPixel(picture, x, y, Math.ceil(reach), (column, row, away) => {
      const share = Math.max(0, 1 - away / reach);
      blend(picture, column, row, colour, 0.55 * share * share * share);
    });
  }
}

function drawWeather(picture: Picture, weather: Weather, seed: string): void {
  const random = createRandom(`falling ${seed}`);
  const { width, height } = picture;
  if (weather === 'snowfall') {
    for (let flake = 0; flake < 420; flake += 1) {
      const x = random.next() * width;
      const y = random.next() * height;
      const chance = random.next();
      const radius = (0.0014 + 0.0042 * chance * chance * chance * chance) * height;
      drawDot(picture, x, y, radius, [250, 252, 255], random.between(0.5, 0.9), false);
    }
  }
  if (weather === 'rain' || weather === 'storm') drawRain(picture, random);
}

function drawRain(picture: Picture, random: Random): void {
  const { width, height } = picture;
  for (let drop = 0; drop < 240; drop += 1) {
    const x = random.next() * width;
    const y = random.next() * height;
    const length = random.between(0.02, 0.06) * height;
    for (let step = 0; step < length; step += 1)
      blend(picture, Math.round(x - step * 0.12), Math.round(y + step), [236, 240, 244], 0.2);
  }
}

function drawDot(
  picture: Picture,
  x: number,
  y: number,
  radius: number,
  colour: Colour,
  strength: number,
  isSky: boolean,
): void {
  eachPixel(picture, x, y, Math.ceil(radius + 1), (column, row, away) => {
    const share = Math.max(0, Math.min(1, radius + 0.5 - away)) * strength;
    const sky = isSky ? (picture.skyShare[row * picture.width + column] ?? 0) / 4 : 1;
    blend(picture, column, row, colour, share * sky);
  });
}

function eachPixel(
  { width, height }: Picture,
  x: number,
  y: number,
  reach: number,
  visit: (column: number, row: number, away: number) => void,
): void {
  const cx = snap(x);
  const cy = snap(y);
  for (let row = Math.max(0, Math.floor(cy - reach)); row <= Math.min(height - 1, cy + reach); row += 1) {
    for (
      let column = Math.max(0, Math.floor(cx - reach));
      column <= Math.min(width - 1, cx + reach);
      column += 1
    )
      visit(column, row, long(column + 0.5 - cx, row + 0.5 - cy, 0));
  }
}

export function blend(
  { bytes, width, height }: Picture,
  x: number,
  y: number,
  colour: Colour,
  share: number,
): void {
  if (share <= 0 || x < 0 || y < 0 || x >= width || y >= height) return;
  const at = (y * width + x) * 3;
  for (let part = 0; part < 3; part += 1) {
    const value = bytes[at + part] ?? 0;
    bytes[at + part] = Math.min(255, Math.floor(value + ((colour[part] ?? 0) - value) * share + 0.5));
  }
}

const cloudColours: Record<TimeOfDay, string> = {
  dawn: '#ffe0d2 #d3a5b4',
  morning: '#ffffff #c9dcea',
  noon: '#ffffff #c6dcee',
  afternoon: '#fffaf0 #d6d4d6',
  sunset: '#ffb596 #a85c80',
  dusk: '#b3739a #54427c',
  night: '#3a4c78 #1c2a50',
};

interface Puff {
  x: number;
  radius: number;
}

function drawClouds(picture: Picture, eye: Eye, time: TimeOfDay, seed: string): void {
  const random = createRandom(`clouds ${seed}`);
  const [light, shade] = cloudColours[time].split(' ').map(rgb) as [Colour, Colour];
  const horizon = Math.min(eye.height, eye.height / 2 + (eye.forward[1] / eye.above[1]) * eye.focal);
  const size = Math.min(eye.width, eye.height * 1.6);
  const count = random.whole(3, 5);
  for (let cloud = 0; cloud < count; cloud += 1) {
    const high = random.next();
    const x = ((cloud + random.between(0.15, 0.85)) / count) * eye.width;
    const base = snap(horizon * (0.3 + 0.45 * high));
    drawHeap(
      picture,
      x,
      base,
      size * random.between(0.07, 0.12) * (1.15 - 0.75 * high),
      light,
      shade,
      random,
    );
  }
}

function drawHeap(
  picture: Picture,
  x: number,
  base: number,
  half: number,
  light: Colour,
  shade: Colour,
  random: Random,
): void {
  const puffs = Array.from({ length: 7 }, (_, index): Puff => {
    const along = (index / 6) * 2 - 1;
    const radius = half * (0.16 + 0.3 * (1 - along * along)) * random.between(0.75, 1.15);
    return { x: snap(x + along * half * 0.9), radius: snap(radius) };
  });
  const top = Math.max(...puffs.map(({ radius }) => radius)) * 1.5;
  const { width, height, skyShare } = picture;
  for (let row = Math.max(0, Math.floor(base - top)); row <= Math.min(height - 1, base + 2); row += 1) {
    const up = base - row;
    const from = Math.floor(x - half * 1.5);
    const to = Math.ceil(x + half * 1.5);
    const level = fade(up / 3 + 0.5);
    const colour = mix(shade, light, fade(up / (half * 0.34)));
    for (let column = Math.max(0, from); column <= Math.min(width - 1, to); column += 1) {
      const sky = skyShare[row * width + column] ?? 0;
      if (sky === 0) continue;
      const share = coverAt(puffs, column, up) * level * 0.92 * (sky / 4);
      blend(picture, column, row, colour, share);
    }
  }
}

function coverAt(puffs: readonly Puff[], x: number, up: number): number {
  let most = 0;
  for (const { x: middle, radius } of puffs) {
    const dx = x - middle;
    const dy = up - radius * 0.45;
    const share = radius + 0.6 - Math.sqrt(dx * dx + dy * dy);
    if (share > most) most = share;
  }
  return most > 1.2 ? 1 : most / 1.2;
}

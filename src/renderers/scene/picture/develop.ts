/** Light as it was measured → a picture's values: exposure, highlights rolled off, gentle corners, rain and snow; pure. */
import { mix } from '../../colour.ts';
import { createRandom } from '../../random.ts';
import type { PicturePlan } from '../plan-picture.ts';
import { each, minus, times } from '../vector.ts';
import type { Light } from './daylight.ts';

/** Sums of passes, four numbers a pixel, become three bytes a pixel. */
export function develop(
  light: Float32Array,
  width: number,
  height: number,
  passes: number,
  plan: PicturePlan,
): Buffer {
  const bytes = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = (y * width + x) * 4;
      const shine = corners(x / width - 0.5, y / height - 0.5) / passes;
      const lit = rolledOff(each((part) => (light[at + part] ?? 0) * shine));
      const grain = dither(x, y);
      for (const part of [0, 1, 2] as const) bytes[(y * width + x) * 3 + part] = encoded(lit[part], grain);
    }
  }
  paintFalling({ bytes, width, height }, plan);
  return bytes;
}

function corners(x: number, y: number): number {
  const away = x * x + y * y;
  return 1 - 0.3 * away * away * 4;
}

/** Khronos' neutral tone mapping: colours stay what they are, only what is too bright is drawn in. */
function rolledOff(light: Light): Light {
  const start = 0.8 - 0.04;
  const least = Math.min(...light);
  const offset = least < 0.08 ? least - 6.25 * least * least : 0.04;
  const shown = minus(light, [offset, offset, offset]);
  const peak = Math.max(...shown);
  if (peak < start) return shown;
  const room = 1 - start;
  const drawn = 1 - (room * room) / (peak + room - start);
  const share = drawn / peak;
  const white = 1 - 1 / (0.15 * (peak - drawn) + 1);
  return mix(times(shown, share), [drawn, drawn, drawn], white);
}

function encoded(light: number, grain: number): number {
  const share = light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055;
  return Math.max(0, Math.min(255, Math.floor(share * 255 + grain)));
}

/** Steps in a smooth sky would be seen: rounded up here and down there. */
function dither(x: number, y: number): number {
  const value = Math.sin(x * 12.9898 + y * 78.233) * 43758.5453;
  return 0.25 + 0.5 * (value - Math.floor(value));
}

interface Pixels {
  bytes: Buffer;
  width: number;
  height: number;
}

/** Rain and snow between the camera and the things. */
function paintFalling(pixels: Pixels, { setting, seed }: PicturePlan): void {
  const random = createRandom(`falling ${seed}`);
  const { width, height } = pixels;
  if (setting.weather === 'snowfall') {
    for (let flake = 0; flake < 420; flake += 1) {
      const radius = (0.0014 + 0.0042 * random.next() ** 4) * height;
      paintDot(pixels, random.next() * width, random.next() * height, radius, random.between(0.5, 0.9));
    }
  }
  if (setting.weather === 'rain' || setting.weather === 'storm') {
    for (let drop = 0; drop < 260; drop += 1) {
      const [x, y] = [random.next() * width, random.next() * height];
      const long = random.between(0.02, 0.06) * height;
      for (let step = 0; step < long; step += 1) blendAt(pixels, x - step * 0.12, y + step, 0.2);
    }
  }
}

function paintDot(pixels: Pixels, x: number, y: number, radius: number, strength: number): void {
  for (let row = Math.floor(y - radius); row <= y + radius + 1; row += 1) {
    for (let column = Math.floor(x - radius); column <= x + radius + 1; column += 1) {
      const share = radius + 0.5 - Math.hypot(column - x, row - y);
      if (share > 0) blendAt(pixels, column, row, Math.min(1, share) * strength);
    }
  }
}

function blendAt({ bytes, width, height }: Pixels, x: number, y: number, share: number): void {
  const [column, row] = [Math.round(x), Math.round(y)];
  if (column < 0 || row < 0 || column >= width || row >= height) return;
  for (let part = 0; part < 3; part += 1) {
    const at = (row * width + column) * 3 + part;
    const value = bytes[at] ?? 0;
    bytes[at] = Math.round(value + (240 - value) * share);
  }
}

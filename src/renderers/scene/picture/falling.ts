/** Rain and snow between the camera and the things: drawn over the finished picture; pure. */
import { createRandom } from '../../random.ts';
import type { PicturePlan } from '../plan-picture.ts';

export function fallingOver(
  bytes: Buffer,
  width: number,
  height: number,
  { setting, seed }: PicturePlan,
): Buffer {
  const random = createRandom(`falling ${seed}`);
  if (setting.weather === 'snowfall') {
    for (let flake = 0; flake < 420; flake += 1) {
      const radius = (0.0014 + 0.0042 * random.next() ** 4) * height;
      dot(
        bytes,
        width,
        height,
        [random.next() * width, random.next() * height],
        radius,
        random.between(0.5, 0.9),
      );
    }
  }
  if (setting.weather === 'rain' || setting.weather === 'storm') {
    for (let drop = 0; drop < 260; drop += 1) {
      const [x, y, long] = [
        random.next() * width,
        random.next() * height,
        random.between(0.02, 0.06) * height,
      ];
      for (let step = 0; step < long; step += 1)
        blendAt(bytes, width, height, x - step * 0.12, y + step, 0.2);
    }
  }
  return bytes;
}

function dot(
  bytes: Buffer,
  width: number,
  height: number,
  [x, y]: readonly [number, number],
  radius: number,
  strength: number,
): void {
  for (let row = Math.floor(y - radius); row <= y + radius + 1; row += 1) {
    for (let column = Math.floor(x - radius); column <= x + radius + 1; column += 1) {
      const share = radius + 0.5 - Math.hypot(column - x, row - y);
      if (share > 0) blendAt(bytes, width, height, column, row, Math.min(1, share) * strength);
    }
  }
}

function blendAt(bytes: Buffer, width: number, height: number, x: number, y: number, share: number): void {
  const [column, row] = [Math.round(x), Math.round(y)];
  if (column < 0 || row < 0 || column >= width || row >= height) return;
  for (let part = 0; part < 3; part += 1) {
    const at = (row * width + column) * 3 + part;
    const value = bytes[at] ?? 0;
    bytes[at] = Math.round(value + (240 - value) * share);
  }
}

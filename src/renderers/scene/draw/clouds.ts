/** Fair-weather clouds: heaps with level bases, painted over the sky. */
import { mix, rgb, type Colour } from '../../colour.ts';
import type { TimeOfDay } from '../../language/other-words.ts';
import { createRandom, type Random } from '../../random.ts';
import { fade } from '../picture/noise.ts';
import { snap } from '../exact.ts';
import type { Eye } from './eye.ts';
import { blend, type Picture } from './overlays.ts';

/** Where the light falls, and below. */
const colours: Record<TimeOfDay, string> = {
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

export function drawClouds(picture: Picture, eye: Eye, time: TimeOfDay, seed: string): void {
  const random = createRandom(`clouds ${seed}`);
  const [light, shade] = colours[time].split(' ').map(rgb) as [Colour, Colour];
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

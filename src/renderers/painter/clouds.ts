/** Clouds: heaps of round tops over a flat foot, lit from the side of the sun, and closed covers in bad weather. */
import { hex, mix, namedColours, shade } from '../colour.ts';
import { circles, ellipse, path } from './drawing.ts';
import { type Random } from '../random.ts';
import { mentionOf, speaksOf } from './mentions.ts';
import { seen, type Stage } from './stage.ts';

export function paintClouds(stage: Stage): string {
  const { description } = stage.setting;
  const random = stage.random.fork('clouds');
  if (description.denied.includes('cloud')) return '';
  const isFoggy = speaksOf(description, 'fog');
  const isClosed =
    speaksOf(description, 'storm', 'rain', 'lightning', 'snowfall') && !speaksOf(description, 'rainbow');
  const mention = mentionOf(description, 'cloud');
  const isNight = stage.palette.stars > 0.6;
  const count = isClosed
    ? 11
    : mention === undefined
      ? isNight || isFoggy
        ? 0
        : random.whole(2, 4)
      : Math.max(mention.count, 3);
  const clouds = Array.from({ length: Math.min(count, 16) }, (_, index) => {
    const height = isClosed ? random.between(0, 0.5) : random.between(0.1, 0.74);
    const y = stage.horizon * height + 12;
    const x = (stage.width * (index + random.between(0.1, 0.9))) / Math.min(count, 16);
    const size = (isClosed ? 1.5 : mention === undefined ? 0.8 : 1) * (mention?.size ?? 1) * (1.15 - height);
    return { x, y, size };
  }).toSorted((one, other) => other.y - one.y);
  const veils = isClosed ? '' : streaks(stage, random);
  return veils + clouds.map(({ x, y, size }) => cloud(stage, random, x, y, size)).join('');
}

function cloud(stage: Stage, random: Random, x: number, y: number, size: number): string {
  const { palette, drawing, light } = stage;
  const named = mentionOf(stage.setting.description, 'cloud')?.colours[0];
  const top = named === undefined ? palette.cloud : seen(stage, shade(namedColours[named], 0.15), 0.9);
  const far = Math.max(0, (y / stage.horizon - 0.3) * 0.7);
  const lit = mix(top, palette.skyLow, far);
  const dark = mix(named === undefined ? palette.cloudShade : shade(top, -0.2), palette.skyMiddle, far);
  const width = random.between(70, 120) * size;
  const heaps = Array.from({ length: 9 }, (_, index) => {
    const along = index / 8 - 0.5;
    const swell = Math.cos(along * Math.PI) ** 0.8;
    const radius = width * (0.09 + 0.17 * swell * random.between(0.6, 1.15));
    return [x + along * width * 1.45, y - radius * 0.75 - swell * width * 0.08, radius] as const;
  });
  const body = drawing.linear([0, lit, 0.98], [0.55, mix(lit, dark, 0.35), 0.92], [1, dark, 0.25]);
  const crown = drawing.linear([0, mix(lit, palette.glow, 0.35), 0.9], [0.8, lit, 0]);
  const lifted = heaps.map(([cx, cy, r]) => [cx + light.side * r * 0.12, cy - r * 0.1, r * 0.78] as const);
  const foot = ellipse([x, y + width * 0.015], width * 0.86, width * 0.07, hex(dark), 'opacity="0.28"');
  return foot + path(circles(heaps), body) + path(circles(lifted), crown);
}

/** Long thin clouds low over the horizon. */
function streaks(stage: Stage, random: Random): string {
  const { palette, width, horizon, drawing } = stage;
  const fill = drawing.linearAlong(
    [0, 0, 1, 0],
    [0, palette.cloud, 0],
    [0.5, palette.cloud, 0.55],
    [1, palette.cloud, 0],
  );
  return Array.from({ length: 7 }, () => {
    const y = horizon * random.between(0.55, 0.97);
    const long = random.between(60, 190);
    return ellipse([random.between(0, width), y], long, random.between(1.2, 4.5), fill);
  }).join('');
}

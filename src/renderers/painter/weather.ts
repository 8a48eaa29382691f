/** Clouds, and what falls or lies between the eye and the land: rain, snow, fog and lightning. */
import { clamp, hex, mix, rgb, shade } from '../colour.ts';
import type { Noun } from '../language/nouns.ts';
import type { Random } from '../random.ts';
import { box, circles, dots, ellipse, path, stroke, type Circle } from './drawing.ts';
import { seen, type Stage } from './stage.ts';

export function paintClouds(stage: Stage): string {
  const { description } = stage.setting;
  const random = stage.random.fork('clouds');
  if (description.denied.includes('cloud')) return '';
  const isFoggy = stage.says('fog');
  const isClosed = stage.says('storm', 'rain', 'lightning', 'snowfall') && !stage.says('rainbow');
  const mention = stage.mention('cloud');
  const isNight = stage.palette.stars > 0.6;
  const usual = (): number => (isNight || isFoggy ? 0 : random.whole(2, 4));
  const count = isClosed ? 11 : mention === undefined ? usual() : clamp(mention.count, 3, 16);
  const clouds = Array.from({ length: count }, (_, index) => {
    const height = isClosed ? random.between(0, 0.5) : random.between(0.1, 0.74);
    const y = stage.horizon * height + 12;
    const x = (stage.width * (index + random.between(0.1, 0.9))) / count;
    const size = (isClosed ? 1.5 : mention === undefined ? 0.8 : 1) * (mention?.size ?? 1) * (1.15 - height);
    return { x, y, size };
  }).toSorted((one, other) => other.y - one.y);
  const veils = isClosed ? '' : streaks(stage, random);
  return veils + clouds.map(({ x, y, size }) => cloud(stage, random, x, y, size)).join('');
}

function cloud(stage: Stage, random: Random, x: number, y: number, size: number): string {
  const { palette, drawing, light } = stage;
  const named = stage.saidColour('cloud');
  const top = named === undefined ? palette.cloud : seen(stage, named, 0.9, 0.15);
  const far = Math.max(0, (y / stage.horizon - 0.3) * 0.7);
  const lit = mix(top, palette.skyLow, far);
  const dark = mix(named === undefined ? palette.cloudShade : shade(top, -0.2), palette.skyMiddle, far);
  const width = random.between(70, 120) * size;
  const heaps = Array.from({ length: 9 }, (_, index): Circle => {
    const along = index / 8 - 0.5;
    const swell = Math.cos(along * Math.PI) ** 0.8;
    const radius = width * (0.09 + 0.17 * swell * random.between(0.6, 1.15));
    return [x + along * width * 1.45, y - radius * 0.75 - swell * width * 0.08, radius];
  });
  const body = drawing.linear([0, lit, 0.98], [0.55, mix(lit, dark, 0.35), 0.92], [1, dark, 0.25]);
  const crown = drawing.linear([0, mix(lit, palette.glow, 0.35), 0.9], [0.8, lit, 0]);
  const lifted = heaps.map(([cx, cy, r]): Circle => [cx + light.side * r * 0.12, cy - r * 0.1, r * 0.78]);
  const foot = ellipse([x, y + width * 0.015], width * 0.86, width * 0.07, hex(dark), 0.28);
  return foot + dots(heaps, body) + dots(lifted, crown);
}

/** Long thin clouds low over the horizon. */
function streaks(stage: Stage, random: Random): string {
  const { palette, width, horizon } = stage;
  const { cloud: white } = palette;
  const fill = stage.drawing.across(1, [0, white, 0], [0.5, white, 0.55], [1, white, 0]);
  return Array.from({ length: 7 }, () => {
    const y = horizon * random.between(0.55, 0.97);
    const long = random.between(60, 190);
    return ellipse([random.between(0, width), y], long, random.between(1.2, 4.5), fill);
  }).join('');
}

export function paintWeather(stage: Stage): string {
  const says = (...nouns: Noun[]): boolean => stage.says(...nouns);
  const isRaining = says('rain') || (says('storm') && !says('snowfall'));
  return [
    says('fog') ? fog(stage) : '',
    says('lightning', 'storm') ? lightning(stage) : '',
    isRaining ? rain(stage) : '',
    says('snowfall', 'snowman') ? snow(stage) : '',
  ].join('');
}

function rain(stage: Stage): string {
  const random = stage.random.fork('rain');
  const { width, height } = stage;
  const lean = stage.light.side * -0.22;
  const drops = (count: number, long: number): string =>
    Array.from({ length: Math.round((count * width) / 768) }, () => {
      const [x, y] = [random.between(-30, width + 30), random.between(-20, height)];
      const fall = long * random.between(0.6, 1.2);
      return `M${x.toFixed(1)} ${y.toFixed(1)}l${(fall * lean).toFixed(1)} ${fall.toFixed(1)}`;
    }).join('');
  const colour = hex(mix(stage.palette.skyLow, [255, 255, 255], 0.45));
  return stroke(drops(170, 20), colour, 0.8, 0.32) + stroke(drops(80, 38), colour, 1.2, 0.38);
}

function snow(stage: Stage): string {
  const random = stage.random.fork('snow');
  const { width, height } = stage;
  const flakes = (count: number, size: number): string =>
    circles(
      Array.from({ length: Math.round((count * width) / 768) }, (): Circle => {
        return [random.between(0, width), random.between(0, height), size * random.between(0.6, 1.2)];
      }),
    );
  const white = hex(mix(seen(stage, [255, 255, 255], 1), [255, 255, 255], 0.6));
  return (
    path(flakes(190, 1.2), white, 0.65) +
    path(flakes(90, 2.2), white, 0.8) +
    path(flakes(26, 3.8), white, 0.6)
  );
}

/** Flat veils, thickest over the far land. */
function fog(stage: Stage): string {
  const random = stage.random.fork('fog');
  const { width, height, horizon, palette, drawing } = stage;
  const colour = mix(palette.skyLow, palette.haze, 0.4);
  const veil = drawing.linear([0, colour, 0], [0.5, colour, 0.85], [1, colour, 0]);
  const thin = drawing.linear([0, colour, 0], [0.5, colour, 0.5], [1, colour, 0]);
  const bands = [0.06, 0.3, 0.6].map((depth) =>
    box([0, horizon + (height - horizon) * depth - 34], width, random.between(44, 76), thin),
  );
  return box([0, horizon - 110], width, 210, veil) + bands.join('');
}

function lightning(stage: Stage): string {
  const random = stage.random.fork('lightning');
  const { width, horizon, light, drawing } = stage;
  const start = width * (0.5 - light.side * random.between(0.1, 0.3));
  const bolt = (from: readonly [number, number], fall: number, steps: number): string => {
    let [x, y] = from;
    let line = `M${x.toFixed(1)} ${y.toFixed(1)}`;
    for (let step = 0; step < steps; step += 1) {
      x += random.between(-24, 24);
      y += fall / steps;
      line += `L${x.toFixed(1)} ${y.toFixed(1)}`;
    }
    return line;
  };
  const main = bolt([start, horizon * 0.16], horizon * 0.84, 9);
  const branch = bolt([start + 4, horizon * 0.44], horizon * 0.34, 5);
  const flash = drawing.glow([start, horizon * 0.4], width * 0.4, horizon * 0.7, rgb('#cfd6ff'), 0.45);
  return (
    flash +
    stroke(main, '#b9c4ff', 7, 0.28) +
    stroke(branch, '#e8ecff', 1.3, 0.8) +
    stroke(main, '#ffffff', 2.6)
  );
}

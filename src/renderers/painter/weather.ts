/** Weather between the eye and the land: rain, falling snow, fog and lightning. */
import { hex, mix, rgb } from '../colour.ts';
import { box, circles, path, stroke } from './drawing.ts';
import { speaksOf } from './mentions.ts';
import { seen, type Stage } from './stage.ts';

export function paintWeather(stage: Stage): string {
  const { description } = stage.setting;
  const parts: string[] = [];
  if (speaksOf(description, 'fog')) parts.push(fog(stage));
  if (speaksOf(description, 'lightning', 'storm')) parts.push(lightning(stage));
  if (speaksOf(description, 'rain') || (speaksOf(description, 'storm') && !speaksOf(description, 'snowfall')))
    parts.push(rain(stage));
  if (speaksOf(description, 'snowfall', 'snowman')) parts.push(snow(stage));
  return parts.join('');
}

function rain(stage: Stage): string {
  const random = stage.random.fork('rain');
  const { width, height } = stage;
  const lean = stage.light.side * -0.22;
  const drops = (count: number, long: number): string =>
    Array.from({ length: Math.round((count * width) / 768) }, () => {
      const [x, y, fall] = [
        random.between(-30, width + 30),
        random.between(-20, height),
        long * random.between(0.6, 1.2),
      ];
      return `M${x.toFixed(1)} ${y.toFixed(1)}l${(fall * lean).toFixed(1)} ${fall.toFixed(1)}`;
    }).join('');
  const colour = hex(mix(stage.palette.skyLow, [255, 255, 255], 0.45));
  return (
    stroke(drops(170, 20), colour, 0.8, 'opacity="0.32"') +
    stroke(drops(80, 38), colour, 1.2, 'opacity="0.38"')
  );
}

function snow(stage: Stage): string {
  const random = stage.random.fork('snow');
  const { width, height } = stage;
  const flakes = (count: number, size: number): string =>
    circles(
      Array.from(
        { length: Math.round((count * width) / 768) },
        () => [random.between(0, width), random.between(0, height), size * random.between(0.6, 1.2)] as const,
      ),
    );
  const white = hex(mix(seen(stage, [255, 255, 255], 1), [255, 255, 255], 0.6));
  return (
    path(flakes(190, 1.2), white, 'opacity="0.65"') +
    path(flakes(90, 2.2), white, 'opacity="0.8"') +
    path(flakes(26, 3.8), white, 'opacity="0.6"')
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
    stroke(main, '#b9c4ff', 7, 'opacity="0.28"') +
    stroke(branch, '#e8ecff', 1.3, 'opacity="0.8"') +
    stroke(main, '#ffffff', 2.6)
  );
}

/** The land: far hills with their trees, open ground, dunes, fields, paths, and the grass at one's feet. */
import { clamp, hex, mix, rgb, shade, type Colour } from '../colour.ts';
import type { Random } from '../random.ts';
import { box, dots, lines, path, smooth, strip, type Circle, type Point } from './drawing.ts';
import type { Setting } from './setting.ts';
import { seen, type Stage } from './stage.ts';

/** The colour of the open ground, as it is in white light. */
export function soilOf(stage: Stage): Colour {
  const { ground, description } = stage.setting;
  const said = stage.saidColour('meadow', 'field', 'desert', 'beach', 'hill');
  if (said !== undefined) return mix(said, rgb('#6f9a4a'), 0.12);
  return rgb(soils[ground] ?? (description.season === 'autumn' ? '#b79a4c' : '#7fae4e'));
}

const soils: Partial<Record<Setting['ground'], string>> = {
  desert: '#e3a765',
  beach: '#f0d6a0',
  snow: '#eef3fa',
  field: '#d9b354',
};

/** All that is below a ridge, down to the bottom. */
export function landUnder(ridge: readonly Point[], bottom: number, fill: string): string {
  return path(`${smooth(ridge)}V${bottom}H-40Z`, fill);
}

/** Rows of hills towards the horizon, the farthest first; each is paler than the next. */
export function paintFarHills(stage: Stage): string {
  const { setting, random, horizon, width } = stage;
  const mention = stage.mention('hill');
  const isOpen = setting.ground === 'sea' || setting.ground === 'beach';
  if (isOpen && mention === undefined) return '';
  const chance = random.fork('hills');
  const count = mention === undefined ? 2 : 4;
  const tall = mention === undefined ? 26 : 66 * Math.min(1.4, mention.size);
  const isBare = setting.ground === 'desert' || setting.ground === 'snow';
  const green = mix(soilOf(stage), rgb('#4f7d52'), isBare ? 0 : 0.55);
  const colour = stage.saidColour('hill') ?? green;
  return Array.from({ length: count }, (_, index) => {
    const near = (index + 1) / (count + 1);
    const y = horizon + 14 - tall * (1 - near * 0.75);
    const ridge = wave(chance, width, y, tall * 0.42);
    const trees = setting.ground === 'desert' ? '' : treeline(stage, chance, ridge, 0.1 + 0.42 * near);
    return trees + hillSide(stage, ridge, colour, 0.08 + 0.5 * near, horizon + 60);
  }).join('');
}

export function wave(random: Random, width: number, y: number, swing: number): Point[] {
  const steps = 7;
  return Array.from({ length: steps + 1 }, (_, index) => {
    const rise = (index % 2 === 0 ? 1 : -1) * random.between(0.1, 1) + random.between(-0.3, 0.3);
    return [(index / steps) * (width + 80) - 40, y + rise * swing] as const;
  });
}

function hillSide(stage: Stage, ridge: Point[], colour: Colour, depth: number, bottom: number): string {
  const lit = seen(stage, colour, depth, 0.1);
  const foot = mix(seen(stage, colour, depth), stage.palette.haze, 0.38);
  return landUnder(ridge, bottom, stage.drawing.linear([0, lit], [1, foot]));
}

/** Small round trees along a ridge, in loose groups. */
function treeline(stage: Stage, random: Random, ridge: Point[], depth: number): string {
  const [start] = ridge;
  if (start === undefined) return '';
  const spots: Circle[] = [];
  for (let index = 0; index + 1 < ridge.length; index += 1) {
    const [from, to] = [ridge[index] ?? start, ridge[index + 1] ?? start];
    if (random.chance(0.4)) continue;
    for (let step = 0; step < 13; step += 1) {
      const share = random.next();
      const bend = share * share * (3 - 2 * share);
      const size = random.between(2, 5.5) * (0.5 + depth);
      const y = from[1] + (to[1] - from[1]) * bend - size * 0.3;
      spots.push([from[0] + (to[0] - from[0]) * share, y, size]);
    }
  }
  const colour = stage.setting.ground === 'snow' ? rgb('#5d7484') : rgb('#3f6b4a');
  return dots(spots, hex(seen(stage, colour, depth)));
}

/** The flat ground from the horizon to the picture's foot. */
export function paintPlain(stage: Stage): string {
  const { horizon, height, width, random, drawing, setting } = stage;
  const soil = soilOf(stage);
  const fill = drawing.linear(
    [0, seen(stage, soil, 0.45, 0.12)],
    [0.3, seen(stage, soil, 0.75)],
    [1, seen(stage, soil, 1, -0.26)],
  );
  const ridge = wave(random.fork('plain'), width, horizon + 6, 4);
  const ground = landUnder(ridge, height, fill);
  if (setting.ground === 'desert') return ground + paintDunes(stage, soil);
  if (setting.ground === 'field') return ground + furrows(stage);
  return ground + swells(stage, soil);
}

/** Soft long bands of light and shade over the ground; true hills where the words ask for them. */
function swells(stage: Stage, soil: Colour): string {
  const random = stage.random.fork('swells');
  const { horizon, height, width, drawing } = stage;
  const isHilly = stage.says('hill');
  return [0.2, 0.42, 0.68]
    .map((depth) => {
      const y = horizon + (height - horizon) * (depth - (isHilly ? 0.1 : 0));
      const ridge = wave(random, width, y, (isHilly ? 14 : 6) + (isHilly ? 30 : 15) * depth);
      const tint = seen(stage, soil, depth + 0.3, isHilly ? 0.16 : random.between(-0.1, 0.16));
      const foot = seen(stage, soil, depth + 0.35, -0.22);
      const fill = isHilly
        ? drawing.linear([0, tint], [0.22, seen(stage, soil, depth + 0.3)], [0.75, foot])
        : drawing.linear([0, tint, 0.95], [0.5, tint, 0]);
      return landUnder(ridge, height, fill);
    })
    .join('');
}

/** Rows of a field, running towards one point on the horizon. */
function furrows(stage: Stage): string {
  const { horizon, height, width, drawing } = stage;
  const soil = soilOf(stage);
  const vanish = width * (0.5 + stage.light.side * 0.08);
  const dark = seen(stage, mix(shade(soil, -0.4), rgb('#4a5a34'), 0.3), 0.95);
  const far = seen(stage, soil, 0.5);
  const fill = drawing.linear([0, far, 0], [0.2, dark, 0.45], [1, dark, 0.75]);
  const rows = Array.from({ length: 33 }, (_, index) => {
    const foot = vanish + (index - 16) * width * 0.105;
    const wide = width * 0.034;
    const top = vanish + (index - 16) * width * 0.008;
    return lines(`${top} ${horizon + 8}, ${foot + wide} ${height}, ${foot - wide} ${height}`);
  });
  return path(rows.join(''), fill);
}

/** A path that winds from the foot of the picture to the horizon. */
export function paintPath(stage: Stage, from: number): string {
  if (!stage.says('path')) return '';
  const { height, width, light } = stage;
  const random = stage.random.fork('path');
  const soil = stage.saidColour('path') ?? rgb(stage.setting.ground === 'snow' ? '#cfd8e4' : '#d8bf92');
  const middle = width * (0.5 + light.side * random.between(0.05, 0.14));
  const swing = width * random.between(0.05, 0.1);
  const edge = (side: number): Point[] =>
    Array.from({ length: 13 }, (_, index): Point => {
      const share = index / 12;
      const wide = 2 + width * 0.075 * share ** 1.5;
      return [
        middle + Math.sin(share ** 0.7 * 6) * swing * (0.3 + share) + side * wide,
        from + (height - from + 6) * share,
      ];
    });
  const outline = strip(edge(-1), edge(1));
  const fill = stage.drawing.linear([0, seen(stage, soil, 0.5)], [1, seen(stage, soil, 1, -0.12)]);
  return (
    path(outline, hex(seen(stage, soil, 0.9, -0.45)), 'opacity="0.35" transform="translate(2 2)"') +
    path(outline, fill)
  );
}

/** Blades of grass along the foot of the picture, which bring it near. */
export function paintForeground(stage: Stage): string {
  const { ground } = stage.setting;
  if (ground === 'sea' || ground === 'desert' || ground === 'beach') return '';
  const random = stage.random.fork('foreground');
  const { width, height } = stage;
  const green = mix(soilOf(stage), rgb('#3f6a35'), 0.5);
  const base = ground === 'snow' ? rgb('#a9b6c6') : ground === 'field' ? soilOf(stage) : green;
  const blades = (count: number, tall: number): string =>
    Array.from({ length: count }, () => {
      const [x, lean] = [random.between(0, width), random.between(-7, 7)];
      const long = random.between(0.4, 1) * tall;
      return `M${(x - 1.6).toFixed(1)} ${height + 2}Q${x.toFixed(1)} ${(height - long * 0.6).toFixed(1)} ${(x + lean).toFixed(1)} ${(height - long).toFixed(1)}Q${(x + 1).toFixed(1)} ${(height - long * 0.5).toFixed(1)} ${(x + 1.8).toFixed(1)} ${height + 2}Z`;
    }).join('');
  const share = clamp(width / 768, 0.6, 2) * stage.detail * (ground === 'snow' ? 0.25 : 1);
  const dark = path(blades(Math.round(150 * share), 34), hex(seen(stage, base, 1, -0.42)));
  const lit = path(blades(Math.round(90 * share), 24), hex(seen(stage, base, 1, -0.12)));
  return box([0, height - 1], width, 1, hex(seen(stage, base, 1, -0.4))) + dark + lit;
}

/** Smooth backs of sand with a sharp crest between light and shade. */
function paintDunes(stage: Stage, soil: Colour): string {
  const random = stage.random.fork('dunes');
  const { horizon, height, width, light } = stage;
  return [0.02, 0.16, 0.4]
    .map((depth, index) => {
      const x = width * (index % 2 === 0 ? random.between(0.56, 0.82) : random.between(0.16, 0.42));
      const [y, tall] = [horizon + (height - horizon) * depth, 40 + 96 * depth];
      const peak: Point = [x, y - tall * 0.5];
      const left: Point[] = [peak, [x * 0.52, y + tall * random.between(0, 0.25)], [-40, y + tall * 0.35]];
      const right: Point[] = [
        peak,
        [(x + width) / 2, y + tall * random.between(0.05, 0.3)],
        [width + 40, y + tall * 0.3],
      ];
      const outline = `${smooth([...left.toReversed(), ...right.slice(1)])}V${height}H-40Z`;
      return dune(stage, soil, outline, light.side === 1 ? left : right, depth, y + tall * 1.5);
    })
    .join('');
}

/** The side away from the light lies in shade below the crest, up to a line that winds down from the peak. */
function dune(
  stage: Stage,
  soil: Colour,
  outline: string,
  crest: readonly Point[],
  depth: number,
  foot: number,
): string {
  const near = depth * 1.1 + 0.42;
  const [peak = [0, 0] as Point, , end = peak] = crest;
  const lit = stage.drawing.linear(
    [0, seen(stage, soil, near, 0.26)],
    [0.6, seen(stage, soil, near + 0.1, -0.06)],
  );
  const dark = seen(stage, mix(soil, rgb('#6a3f58'), 0.58), near);
  const shadow = stage.drawing.linear([0, dark, 0.95], [0.5, dark, 0.55], [1, dark, 0]);
  const [x, y] = peak;
  const swing = stage.light.side * (foot - y) * 0.42;
  const winding = `C${x - swing * 1.2} ${foot - (foot - y) * 0.35} ${x + swing * 1.5} ${y + (foot - y) * 0.4} ${x} ${y}Z`;
  const shaded = `${smooth(crest)}L${end[0]} ${foot}L${x + swing * 0.6} ${foot}${winding}`;
  return path(outline, lit) + path(shaded, shadow);
}

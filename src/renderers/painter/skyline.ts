/** A city on the horizon: three rows of towers, with lit windows when it is dark. */
import { hex, mix, rgb, rgbs, type Colour } from '../colour.ts';
import { box, circle, path, stroke } from './drawing.ts';
import { type Random } from '../random.ts';
import { seen, type Stage } from './stage.ts';

export function paintSkyline(stage: Stage): string {
  if (!stage.says('city')) return '';
  const random = stage.random.fork('skyline');
  const tint = stage.saidColour('city') ?? rgb('#77839a');
  const shine = stage.palette.isLamplit
    ? stage.drawing.glow([stage.width / 2, stage.horizon], stage.width * 0.7, 150, rgb('#ffb46a'), 0.55)
    : '';
  return (
    shine +
    row(stage, random, 0.06, 0.62, tint) +
    row(stage, random, 0.3, 0.5, tint) +
    row(stage, random, 0.55, 0.3, tint)
  );
}

type Tower = readonly [x: number, y: number, wide: number, tall: number];

function row(stage: Stage, random: Random, depth: number, reach: number, tint: Colour): string {
  const { width, horizon } = stage;
  const base = horizon + 14;
  const parts: string[] = [];
  for (let x = -20; x < width + 10;) {
    const wide = random.between(24, 54) * (0.75 + depth * 0.6);
    const middle = 1 - Math.abs((x + wide / 2) / width - 0.5) * 1.3;
    const tall = horizon * reach * random.between(0.32, 1) * Math.max(0.35, middle);
    const colour = mix(tint, random.pick(rgbs('#5a6a86 #8a7a78 #93a4b4')), 0.5);
    parts.push(tower(stage, random, depth, colour, [x, base - tall, wide, tall]));
    x += wide + random.between(-2, 6);
  }
  return parts.join('');
}

function tower(
  stage: Stage,
  random: Random,
  depth: number,
  colour: Colour,
  [x, y, wide, tall]: Tower,
): string {
  const bright = seen(stage, colour, depth, 0.12);
  const dark = seen(stage, colour, depth, -0.3);
  const base = mix(seen(stage, colour, depth), stage.palette.haze, 0.35);
  const lit = stage.drawing.across(stage.light.side, [0, dark], [1, bright]);
  const haze = stage.drawing.linear([0, base, 0], [0.5, base, 0.1], [1, base, 0.8]);
  const body = box([x, y], wide, tall + 6, lit);
  const foot = box([x, y], wide, tall + 6, haze);
  const top = roof(stage, random, x, y, wide, hex(dark));
  return top + body + windows(stage, random, depth, [x, y, wide, tall]) + foot;
}

function roof(stage: Stage, random: Random, x: number, y: number, wide: number, fill: string): string {
  const form = random.whole(0, 4);
  const middle = x + wide / 2;
  if (form === 0)
    return (
      stroke(`M${middle} ${y}v-${random.between(14, 34).toFixed(1)}`, fill, 1.6) +
      (stage.palette.isLamplit ? circle([middle, y - 14], 1.4, '#ff6a5a') : '')
    );
  if (form === 1) return path(`M${x} ${y + 1}L${middle} ${y - wide * 0.5}L${x + wide} ${y + 1}Z`, fill);
  if (form === 2)
    return (
      box([x + wide * 0.18, y - 12], wide * 0.64, 13, fill) +
      box([x + wide * 0.34, y - 21], wide * 0.32, 10, fill)
    );
  if (form === 3) return path(`M${x} ${y + 1}V${y - 9}L${x + wide} ${y - 22}V${y + 1}Z`, fill);
  return '';
}

function windows(stage: Stage, random: Random, depth: number, [x, y, wide, tall]: Tower): string {
  const { isLamplit } = stage.palette;
  const [step, rise] = [6.5 + depth * 3, 8.5 + depth * 4];
  let lit = '';
  let dark = '';
  for (let line = y + 6; line < y + tall - 8; line += rise) {
    for (let column = x + 4; column < x + wide - 5; column += step) {
      const pane = `M${column.toFixed(1)} ${line.toFixed(1)}h${(step * 0.5).toFixed(1)}v${(rise * 0.5).toFixed(1)}h-${(step * 0.5).toFixed(1)}Z`;
      if (random.chance(isLamplit ? 0.48 : 0.16)) lit += pane;
      else dark += pane;
    }
  }
  const glass = hex(seen(stage, rgb(isLamplit ? '#2c3448' : '#4a6680'), depth));
  const bright = isLamplit
    ? hex(mix(rgb('#ffd98c'), stage.palette.haze, 0.22 * (1 - depth)))
    : hex(mix(seen(stage, '#ffffff', depth), stage.palette.skyLow, 0.4));
  return path(dark, glass, 0.55) + path(lit, bright, 0.9);
}

/** The sky: its colours from top to horizon, sun, moon, stars, northern lights, rainbow and planets. */
import { hex, mix, namedColours, rgb, rgbs, shade, type Colour } from '../colour.ts';
import { pointsOf } from '../points.ts';
import { box, circle, circles, ellipse, path, stroke, type Circle, type Point } from './drawing.ts';
import { hasMoon, hasSun, type Stage } from './stage.ts';

export function paintSky(stage: Stage): string {
  const { palette, drawing, width, horizon } = stage;
  const fill = drawing.linear(
    [0, palette.skyTop],
    [0.55, palette.skyMiddle],
    [0.95, palette.skyLow],
    [1, palette.skyLow],
  );
  const parts = [box([0, 0], width, horizon + 60, fill)];
  if (palette.stars > 0.05) parts.push(stars(stage));
  if (stage.says('aurora')) parts.push(aurora(stage));
  const far = stage.mention('planet');
  if (far !== undefined) {
    const at: Point = [width * (0.5 - stage.light.side * 0.26), horizon * 0.36];
    const colour = stage.saidColour('planet') ?? rgb('#d99a6c');
    parts.push(planet(stage, at, 58 * far.size, colour, colour));
  }
  if (hasMoon(stage)) parts.push(moon(stage));
  else if (hasSun(stage)) parts.push(sun(stage));
  if (stage.says('rainbow')) parts.push(rainbow(stage));
  return parts.join('');
}

export function stars(stage: Stage, depth = stage.horizon): string {
  const random = stage.random.fork('stars');
  const isStarry = stage.says('star', 'space');
  const count = Math.round((isStarry ? 420 : 190) * stage.palette.stars * (stage.width / 768) * stage.detail);
  const spots = Array.from({ length: count }, () => {
    const y = depth * random.next() ** 1.25;
    return [random.between(0, stage.width), y, 0.4 + 1.1 * random.next() ** 4] as const;
  });
  const dim = circles(spots.filter((_, index) => index % 3 !== 0));
  const clear = circles(spots.filter((_, index) => index % 3 === 0));
  const bright = spots.slice(0, isStarry ? 16 : 7).map(([x, y]) => twinkle(stage, x, y * 0.8));
  const way = isStarry ? milkyWay(stage, depth) : '';
  return `${way}${path(dim, '#cfdcff', 0.5)}${path(clear, '#ffffff', 0.9)}${bright.join('')}`;
}

function twinkle(stage: Stage, x: number, y: number): string {
  const ray = (length: number): string =>
    `M${x - length} ${y}H${x + length}M${x} ${y - length}V${y + length}`;
  const halo = stage.drawing.glow([x, y], 9, 9, [200, 220, 255], 0.5);
  return halo + stroke(ray(4.5), '#ffffff', 0.7, 0.7) + circle([x, y], 1.5, '#ffffff');
}

function milkyWay(stage: Stage, depth: number): string {
  const random = stage.random.fork('milky way');
  const lean = stage.light.side * 0.55;
  const puffs = Array.from({ length: 26 }, (_, index) => {
    const along = index / 25;
    const y = depth * (along * 1.1 - 0.05) + random.between(-22, 22);
    const x = stage.width / 2 + lean * (depth * 1.5) * (0.5 - along) * 1.4 + random.between(-26, 26);
    const colour = random.pick(rgbs('#8fa6ff #c3a6ff #ffd9e8'));
    return stage.drawing.glow([x, y], random.between(55, 100), random.between(34, 60), colour, 0.17);
  });
  return puffs.join('');
}

function sun(stage: Stage): string {
  const { palette, drawing, light, setting } = stage;
  const mention = stage.mention('sun');
  const low = setting.time === 'sunset' || setting.time === 'dawn' || setting.time === 'dusk';
  const radius = (low ? 34 : 24) * (mention?.size ?? 1) * (mention === undefined ? 1 : 1.15);
  const colour = stage.saidColour('sun') ?? palette.glow;
  const isClear = palette.hazeStrength < 0.64 || low;
  const shine = drawing.glow(light.at, radius * 9, radius * 7, colour, isClear ? 0.6 : 0.35);
  const corona = drawing.glow(light.at, radius * 2.6, radius * 2.6, colour, isClear ? 0.85 : 0.4);
  const disc = drawing.radial([0, shade(colour, 0.75)], [0.8, shade(colour, 0.55)], [1, shade(colour, 0.3)]);
  return shine + corona + circle(light.at, radius, disc, `opacity="${isClear ? 1 : 0.55}"`);
}

function moon(stage: Stage): string {
  const { drawing, light, palette } = stage;
  const mention = stage.mention('crescent') ?? stage.mention('moon');
  const radius = (mention === undefined ? 17 : 27) * (mention?.size ?? 1);
  const named = mention && stage.saidColour(mention.noun);
  const colour = named === undefined ? rgb('#fbf4dc') : shade(named, 0.25);
  const [x, y] = light.at;
  const shine = drawing.glow([x, y], radius * 8, radius * 8, mix(palette.glow, colour, 0.4), 0.4);
  const halo = drawing.glow([x, y], radius * 2.4, radius * 2.4, colour, 0.55);
  if (stage.says('crescent')) {
    const [top, bottom] = [`${x + radius * 0.35} ${y - radius}`, `${x + radius * 0.35} ${y + radius}`];
    const outline = `M${top}A${radius * 1.06} ${radius * 1.06} 0 1 0 ${bottom}A${radius * 1.15} ${radius * 1.15} 0 0 1 ${top}Z`;
    return shine + path(outline, hex(colour));
  }
  const seas = pointsOf<Circle>(
    '-0.3 -0.25 0.26, 0.25 -0.1 0.2, -0.05 0.35 0.3, 0.42 0.35 0.12, -0.5 0.25 0.13',
  );
  const spots = circles(seas.map(([dx, dy, r]) => [x + dx * radius, y + dy * radius, r * radius]));
  const dark = hex(mix(colour, rgb('#8d8fa6'), 0.6));
  return shine + halo + circle([x, y], radius, hex(colour)) + path(spots, dark, 0.4);
}

/** Curtains of light: thin upright strips along a winding line. */
function aurora(stage: Stage): string {
  const random = stage.random.fork('aurora');
  const named = stage.mention('aurora')?.colours.map((name) => namedColours[name]) ?? [];
  const [main = rgb('#4dffb0'), second = rgb('#9a6bff')] = named;
  const curtains = [0, 1, 2].map((layer) => {
    const base = stage.horizon * (0.5 + 0.16 * layer);
    const [swing, turn] = [random.between(20, 46), random.between(0, 6)];
    const colour = layer === 1 ? mix(main, second, 0.5) : main;
    const fill = stage.drawing.linear(
      [0, second, 0],
      [0.4, second, 0.16],
      [0.82, colour, 0.42],
      [0.94, colour, 0.5],
      [1, colour, 0],
    );
    const strips: string[] = [];
    for (let x = -20; x < stage.width + 20; x += 13) {
      const bend = Math.sin(x / 105 + turn) + 0.5 * Math.sin(x / 43 + turn * 2);
      const fold = 0.5 + 0.5 * Math.sin(x / 31 + turn * 3 + layer);
      const tall = stage.horizon * (0.26 + 0.3 * fold) * random.between(0.9, 1.1);
      const y = base + bend * swing;
      strips.push(box([x, y - tall], 16, tall, fill, `opacity="${(0.35 + 0.65 * fold).toFixed(2)}"`));
    }
    return strips.join('');
  });
  const { width, horizon } = stage;
  const sheen = stage.drawing.glow([width / 2, horizon * 0.7], width * 0.6, horizon * 0.5, main, 0.2);
  return sheen + curtains.join('');
}

function rainbow(stage: Stage): string {
  const { width, horizon, light } = stage;
  const centre = width * (0.5 - light.side * 0.12);
  const radius = Math.min(width * 0.44, horizon * 0.88);
  const bands = ['#e8414a', '#f58a3a', '#f8d84a', '#5cc46a', '#4a9be8', '#5a5fd0', '#9a5ad0'];
  const arcs = bands.map((colour, index) => {
    const r = radius - index * 5.4;
    const arc = `M${centre - r} ${horizon + 14}A${r} ${r} 0 0 1 ${centre + r} ${horizon + 14}`;
    return stroke(arc, colour, 5.8, 0.55);
  });
  const inside = ellipse([centre, horizon + 14], radius - 38, radius - 38, '#ffffff', 0.1);
  return inside + arcs.join('');
}

/** A ball with bands, lit from one side, perhaps with a ring around it. */
export function planet(
  { drawing, light }: Stage,
  [x, y]: Point,
  radius: number,
  colour: Colour,
  ring: Colour | undefined,
): string {
  const body = drawing.radialAround(
    [0.5 + light.side * 0.2, 0.34],
    [0, shade(colour, 0.45)],
    [0.5, colour],
    [0.85, shade(colour, -0.5)],
    [1, shade(colour, -0.75)],
  );
  const bands = [-0.5, -0.2, 0.15, 0.45].map((at) => {
    const [half, level] = [radius * Math.sqrt(1 - at * at), y + at * radius];
    return `M${x - half} ${level}Q${x} ${level + radius * 0.16} ${x + half} ${level}`;
  });
  const [wide, flat] = [radius * 1.75, radius * 0.42];
  const half = (sweep: 0 | 1): string => {
    if (ring === undefined) return '';
    const arc = `M${x - wide} ${y}A${wide} ${flat} 0 0 ${sweep} ${x + wide} ${y}`;
    const turned = `transform="rotate(-16 ${x} ${y})" opacity="0.75"`;
    return stroke(arc, hex(shade(ring, 0.55)), radius * 0.11, turned);
  };
  return [
    drawing.glow([x, y], radius * 1.8, radius * 1.8, colour, 0.4),
    half(1),
    circle([x, y], radius, body),
    stroke(bands.join(''), hex(shade(colour, 0.35)), radius * 0.07, 0.22),
    half(0),
  ].join('');
}

/** Mountains: rows of broken peaks with a lit and a shaded side, snow on top where the words ask for it. */
import { mix, namedColours, rgb, type Colour } from '../colour.ts';
import { box, lines, path, type Point } from './drawing.ts';
import { type Random } from '../random.ts';
import { seen, type Stage } from './stage.ts';

export function paintMountains(stage: Stage): string {
  const { ground } = stage.setting;
  const mention = stage.mention('mountain') ?? stage.mention('snowcap');
  if (mention === undefined) return '';
  const random = stage.random.fork('mountains');
  const said = stage.saidColour(mention.noun);
  const rock =
    said === undefined ? rgb(ground === 'desert' ? '#b0603f' : '#5d6c86') : mix(said, rgb('#56627a'), 0.15);
  const isWarm = said === namedColours.red || ground === 'desert';
  const isSnowy = !isWarm && (random.chance(0.6) || stage.says('snowcap', 'snow'));
  const tall = stage.horizon * 0.84 * Math.min(mention.size, 1.35);
  const back = row(stage, random, { count: 6, tall: tall * 0.62, depth: 0.08, rock, isSnowy });
  const main = { count: Math.max(2, Math.min(mention.count, 9)), tall, depth: 0.3, rock, isSnowy };
  return back + (mention.count === 1 ? lonePeak(stage, random, main) : row(stage, random, main));
}

interface Row {
  count: number;
  /** Of the highest peak, in drawing units. */
  tall: number;
  depth: number;
  rock: Colour;
  isSnowy: boolean;
}

function row(stage: Stage, random: Random, plan: Row): string {
  const step = stage.width / plan.count;
  const shift = random.between(-0.3, 0.3);
  const peaks = Array.from({ length: plan.count + 1 }, (_, index) => ({
    x: (index + shift + random.between(-0.18, 0.18)) * step,
    height: plan.tall * random.between(0.42, 1),
  }));
  const order = peaks.toSorted((one, other) => other.height - one.height);
  return order
    .map(({ x, height }) => mountain(stage, random, plan, x, height, Math.max(step * 1.7, height * 2.1)))
    .join('');
}

/** One great mountain, off the middle, with lower shoulders. */
function lonePeak(stage: Stage, random: Random, plan: Row): string {
  const x = stage.width * (0.5 + random.between(-0.14, 0.14));
  const width = plan.tall * 3;
  const bare = { ...plan, depth: plan.depth - 0.08, isSnowy: false };
  const shoulders = [-1, 1].map((side) => {
    const aside = side * width * random.between(0.34, 0.5);
    return mountain(stage, random, bare, x + aside, plan.tall * random.between(0.36, 0.52), width * 0.8);
  });
  return shoulders.join('') + mountain(stage, random, plan, x, plan.tall * 1.12, width);
}

function mountain(stage: Stage, random: Random, plan: Row, x: number, height: number, width: number): string {
  const base = stage.horizon + 30;
  const peak: Point = [x, base - height];
  const left = slope(random, peak, base, -width / 2);
  const right = slope(random, peak, base, width / 2);
  const { light, palette, drawing } = stage;
  const near = seen(stage, plan.rock, plan.depth + 0.2);
  const foot = mix(seen(stage, plan.rock, plan.depth), palette.haze, 0.72);
  const body = drawing.linear([0, near], [0.85, foot], [1, foot]);
  const outline = lines([...left.toReversed(), peak, ...right]);
  const away = light.side === 1 ? left : right;
  const ridge = ridgeLine(random, peak, base, width * 0.09 * -light.side);
  const dark = mix(near, mix(palette.skyTop, [20, 24, 50], 0.5), 0.55);
  const shadow = drawing.linear([0, dark, 0.75], [0.75, dark, 0.12], [1, dark, 0]);
  const snow = plan.isSnowy ? snowCap(stage, random, plan, peak, left, right) : '';
  return path(outline, body) + snow + path(lines([peak, ...away, ...ridge.toReversed()]), shadow);
}

/** From just below the peak down to the foot. */
function slope(random: Random, peak: Point, base: number, reach: number): Point[] {
  const steps = 11;
  return Array.from({ length: steps }, (_, index) => {
    const share = (index + 1) / steps;
    const jag = index + 1 === steps ? 0 : random.between(-0.024, 0.024) * Math.min(1, share * 3);
    const down = share ** 1.18;
    return [peak[0] + reach * (share + jag), peak[1] + (base - peak[1]) * (down + jag * 0.7)] as const;
  });
}

function ridgeLine(random: Random, peak: Point, base: number, lean: number): Point[] {
  const steps = 8;
  return Array.from({ length: steps }, (_, index) => {
    const share = (index + 1) / steps;
    const wander = (index % 2 === 0 ? 1 : -1) * random.between(0.3, 1) * Math.abs(lean) * 0.75;
    return [peak[0] + lean * share * 1.6 + wander, peak[1] + (base - peak[1]) * share] as const;
  });
}

function snowCap(
  stage: Stage,
  random: Random,
  plan: Row,
  peak: Point,
  left: Point[],
  right: Point[],
): string {
  const reach = stage.says('snow', 'snowcap') ? 5 : 3;
  const from = left[reach - 1] ?? peak;
  const to = right[reach - 1] ?? peak;
  const tall = (from[1] + to[1]) / 2 - peak[1];
  const teeth = Array.from({ length: 7 }, (_, index): Point => {
    const share = (index + 1) / 8;
    const bite = index % 2 === 0 ? random.between(-0.42, -0.18) : random.between(0.02, 0.3);
    return [to[0] + (from[0] - to[0]) * share, to[1] + (from[1] - to[1]) * share + bite * tall];
  });
  const white = seen(stage, '#fbfdff', plan.depth + 0.45);
  const fill = stage.drawing.linear([0, white], [1, mix(white, stage.palette.haze, 0.3)]);
  return path(lines([...left.slice(0, reach).toReversed(), peak, ...right.slice(0, reach), ...teeth]), fill);
}

export function hazeBand(stage: Stage, y: number, tall: number, opacity: number): string {
  const { palette, drawing, width } = stage;
  const fill = drawing.linear(
    [0, palette.skyLow, 0],
    [0.6, palette.skyLow, opacity],
    [1, palette.skyLow, opacity * 0.7],
  );
  return box([0, y - tall], width, tall, fill);
}

/** Land by the water: capes and islands in the sea, the near bank; and a single hill on dry land. */
import { hex, rgb, type Colour } from '../colour.ts';
import { ellipse, path, smooth, stroke, type Point } from './drawing.ts';
import { landUnder, soilOf, wave } from './land.ts';
import { seen, type Stage } from './stage.ts';
import { type Cape } from './terrain.ts';

/** Land that rises out of the sea, with a rocky foot. */
export function paintCape(stage: Stage, cape: Cape): string {
  const { drawing } = stage;
  const top = topOf(cape);
  const isDry = stage.setting.ground === 'beach' || stage.says('island', 'palm');
  const ground = rgb(isDry ? '#a8b35c' : '#7c9a52');
  const rock = rgb('#8a7a6c');
  const body = `${smooth(top)}L${cape.right} ${cape.foot}H${cape.left}Z`;
  const lower = top.map(([x, y], index): Point => [
    x,
    Math.min(cape.foot, y + 12 + (index % 3) * 4 + (cape.foot - y) * 0.16),
  ]);
  const cliff = `${smooth(lower)}L${cape.right} ${cape.foot}H${cape.left}Z`;
  const at = (colour: Colour, amount: number): Colour => seen(stage, colour, 0.6, amount);
  const grass = drawing.linear([0, at(ground, 0.16)], [1, at(ground, -0.2)]);
  const stone = drawing.linear([0, at(rock, 0.15)], [1, at(rock, -0.4)]);
  const cracks = lower
    .filter((_, index) => index % 2 === 1)
    .map(([x, y]) => `M${x.toFixed(1)} ${(y + 3).toFixed(1)}L${(x + 4).toFixed(1)} ${cape.foot}`);
  const white = hex(seen(stage, '#ffffff', 0.8));
  const middle: Point = [(cape.left + cape.right) / 2, cape.foot];
  const foam = ellipse(middle, (cape.right - cape.left) / 2 + 4, 2.6, white, 0.6);
  return (
    path(body, grass) + path(cliff, stone) + stroke(cracks.join(''), hex(at(rock, -0.55)), 1.2, 0.35) + foam
  );
}

function topOf({ left, right, topAt }: Cape): Point[] {
  return Array.from({ length: 27 }, (_, index) => {
    const x = left + ((right - left) * index) / 26;
    return [x, topAt(x)];
  });
}

/** A single hill on dry land. */
export function paintKnoll(stage: Stage, knoll: Cape): string {
  const soil = soilOf(stage);
  const [bright, dark] = [seen(stage, soil, 0.55, 0.16), seen(stage, soil, 0.7, -0.1)];
  const meadow = seen(stage, soil, 0.8);
  const outline = `${smooth(topOf(knoll))}Z`;
  const fade = stage.drawing.linear([0, meadow, 0], [0.45, meadow, 0.15], [1, meadow, 1]);
  return path(outline, stage.drawing.across(stage.light.side, [0, dark], [1, bright])) + path(outline, fade);
}

/** The near shore: sand at a beach, grass elsewhere. */
export function paintBank(stage: Stage, edge: number): string {
  const { drawing, height, width } = stage;
  const random = stage.random.fork('bank');
  const isSand = stage.setting.ground === 'beach';
  const isSnow = stage.says('snow', 'snowfall', 'snowman');
  const soil = isSand ? soilOf(stage) : isSnow ? rgb('#eef3fa') : rgb('#6f9a48');
  const shore = wave(random, width, edge, isSand ? 9 : 7);
  const line = smooth(shore);
  const fill = drawing.linear([0, seen(stage, soil, 0.95, 0.05)], [1, seen(stage, soil, 1, -0.22)]);
  const body = landUnder(shore, height, fill);
  if (!isSand) {
    const edgeAbove = shore.map(([x, y]): Point => [x, y - 3]);
    return landUnder(edgeAbove, height, hex(seen(stage, '#4d5a3c', 0.9))) + body;
  }
  const wet = stroke(line, hex(seen(stage, '#b98f60', 1)), 17, 0.45);
  const foam = hex(seen(stage, '#ffffff', 1));
  const surf = [-3, -15, -26].map((lift, index) =>
    stroke(
      line,
      foam,
      4.5 - index * 1.3,
      `opacity="${[0.9, 0.5, 0.3][index] ?? 0.3}" transform="translate(${index * 18 - 18} ${lift})"`,
    ),
  );
  return body + wet + surf.join('');
}

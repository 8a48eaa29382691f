/** Dunes: smooth backs of sand with a sharp crest between light and shade. */
import { mix, rgb, shade, type Colour } from '../colour.ts';
import { path, smooth, type Point } from './drawing.ts';
import { seen, type Stage } from './stage.ts';

export function paintDunes(stage: Stage, soil: Colour): string {
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
    [0, seen(stage, shade(soil, 0.26), near)],
    [0.6, seen(stage, shade(soil, -0.06), near + 0.1)],
  );
  const dark = seen(stage, mix(soil, rgb('#6a3f58'), 0.58), near);
  const shadow = stage.drawing.linear([0, dark, 0.95], [0.5, dark, 0.55], [1, dark, 0]);
  const [x, y] = peak;
  const swing = stage.light.side * (foot - y) * 0.42;
  const winding = `C${x - swing * 1.2} ${foot - (foot - y) * 0.35} ${x + swing * 1.5} ${y + (foot - y) * 0.4} ${x} ${y}Z`;
  const shaded = `${smooth(crest)}L${end[0]} ${foot}L${x + swing * 0.6} ${foot}${winding}`;
  return path(outline, lit) + path(shaded, shadow);
}

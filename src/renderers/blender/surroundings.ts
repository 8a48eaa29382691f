/** What is around the things for Blender: backdrops, ground, water, rain and snow, and shapes as rows of points; pure. */
import { mix, type Colour } from '../colour.ts';
import { createRandom } from '../random.ts';
import { backdropsOf, type AnyPart, type Piece } from '../scene/around/backdrops.ts';
import { behind, shoreAway, soilOf, waterColour } from '../scene/around/ground.ts';
import type { PicturePlan } from '../scene/plan-picture.ts';
import { post, straight, type Part, type Shape } from '../scene/things/parts.ts';

import { lathe, tube, turns } from '../scene/things/sheets.ts';
import { across, lengthOf, minus, plus, times, unit, type Vector } from '../scene/vector.ts';

export function surroundingsOf(plan: PicturePlan): Piece[] {
  const { ground, hasWater, weather } = plan.setting;
  const pieces = backdropsOf(plan);
  if (ground !== 'space') pieces.push({ name: 'ground', parts: [groundOf(plan)] });
  if (hasWater) pieces.push({ name: 'water', parts: [lakeBehind(plan)] });
  if (weather === 'rain' || weather === 'storm' || weather === 'snowfall')
    pieces.push({ name: weather, parts: falling(plan) });
  return pieces;
}

function disc(at: Vector, colour: Colour, material: string): AnyPart {
  return { ...post(at, 220, 0.002, '#000000', straight, 96), paint: { colour, material } };
}

function groundOf(plan: PicturePlan): AnyPart {
  const { ground, weather } = plan.setting;
  const colour = soilOf(plan);
  const isWet = (weather === 'rain' || weather === 'storm') && (ground === 'road' || ground === 'stone');
  if (isWet) return disc([0, 0, 0], mix(colour, [0, 0, 0], 0.4), 'plastic');
  return disc([0, ground === 'water' ? 0.1 : 0, 0], colour, ground === 'water' ? ground : `ground ${ground}`);
}

/** From a shore behind the things to the horizon. */
function lakeBehind(plan: PicturePlan): AnyPart {
  const [x, z] = behind(plan, shoreAway(plan) + 220);
  return disc([x, 0.03, z], waterColour, 'water');
}

/** Shapes that are rows of points, with faces between them. */
export function sheetOf(shape: Shape): AnyPart['shape'] {
  const around = turns(32);
  if (shape.kind === 'ring') {
    const profile = around.map(
      ([cos, sin]) => [shape.radius + shape.thickness * cos, shape.thickness * sin] as const,
    );
    return { kind: 'sheet', rows: lathe(profile, around) };
  }
  if (shape.kind === 'turned') return { kind: 'sheet', rows: lathe(shape.profile, around) };
  if (shape.kind === 'bend') return { kind: 'sheet', rows: tube(shape.points, shape.radius, 8, 32) };
  return shape;
}

/** Between the camera and what is behind the things. */
function falling({ view: { from, to, fieldOfView }, setting, seed }: PicturePlan): Part[] {
  const random = createRandom(`falling ${seed}`);
  const [back, away] = [unit(minus(from, to)), lengthOf(minus(from, to))];
  const [right, above] = across(back);
  const half = Math.tan((fieldOfView * Math.PI) / 360);
  return Array.from({ length: 320 }, () => {
    const deep = away * random.between(0.25, 1.5);
    const [x, y] = [random.between(-1.6, 1.6) * half * deep, random.between(-1, 1) * half * deep];
    const at = plus(plus(plus(from, times(back, -deep)), times(right, x)), times(above, y));
    const size = half * away * random.between(0.004, 0.011);
    return setting.weather === 'snowfall'
      ? post(at, size, size * 1.6, '#ffffff', [random.next(), 0, random.next()], 6)
      : post(at, size * 0.16, size * 9, '#c8d4e0 glass', [0, 0, 0.1], 4);
  });
}

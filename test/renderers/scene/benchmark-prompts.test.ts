/** Promise: things that benchmark prompts ask for are drawn in the requested number, colour and place. */
import { expect, it } from 'vitest';
import { namedColours } from '../../../src/renderers/colour.ts';
import type { Standing } from '../../../src/renderers/scene/layout/cluster.ts';
import { planPicture, type PicturePlan, type View } from '../../../src/renderers/scene/plan-picture.ts';
import { cornersOf, sizeOf, boundsOf, boxAround } from '../../../src/renderers/scene/things/parts.ts';
import { across, dot, minus, unit } from '../../../src/renderers/scene/vector.ts';
import { benchmarkPrompts, type Colour, type ObjectClass, type Side } from './benchmark-prompts.ts';

const prompts = benchmarkPrompts(1000, 'benchmark').map((prompt, index) => ({
  ...prompt,
  plan: planPicture(prompt.text, index, 1.5),
}));

it('the scene renderer shows every requested thing, in the requested number', () => {
  const wrong = prompts.filter(({ wanted, plan }) => {
    const isComplete = wanted.every(({ object, count }) => thingsOf(plan, object).length === count);
    return !isComplete || plan.things.length !== wanted.reduce((sum, { count }) => sum + count, 0);
  });
  expect(wrong.map(({ text }) => text)).toEqual([]);
});

it('the scene renderer shows each requested thing in its colour', () => {
  const coloured = prompts.filter(({ wanted }) => wanted.some(({ colour }) => colour !== null));
  const wrong = coloured.filter(({ wanted, plan }) =>
    wanted.some(({ object, colour }) => !thingsOf(plan, object).every((thing) => isOf(colour, thing))),
  );
  expect(wrong.map(({ text }) => text)).toEqual([]);
});

it.each<Side>(['left', 'right', 'above', 'below'])(
  'the scene renderer shows where one thing is relative to another: %s',
  (side) => {
    const related = prompts.filter((prompt) => prompt.side === side);
    const wrong = related.filter(({ wanted, plan }) => {
      const [one = [], other = []] = wanted.map(({ object }) => thingsOf(plan, object));
      return !isAt(side, one, other, plan.view);
    });
    const texts = wrong.map(({ text }) => text);
    expect(wrong.length / related.length, texts.join('; ')).toBeLessThanOrEqual(0.03);
  },
);

function thingsOf({ things, prompt }: PicturePlan, { noun }: ObjectClass): Standing[] {
  return things.filter(({ subject }) => prompt.subjects[subject]?.noun === noun);
}

/** True if a quarter of the surface of its parts, measured by their bounding boxes, has the colour. */
function isOf(colour: Colour | null, { parts }: Standing): boolean {
  if (colour === null) return true;
  const [all, own] = [
    parts,
    parts.filter(({ paint }) => paint.colour.join() === namedColours[colour].join()),
  ];
  const areaOf = (some: typeof parts): number =>
    some
      .map((part) => sizeOf(boundsOf([part])))
      .reduce((sum, [wide, high, deep]) => sum + wide * high + high * deep + deep * wide, 0);
  return areaOf(own) > areaOf(all) / 4;
}

/** Applies the rule of GenEval: the centres must be apart by more than a tenth of the sum of both sizes. */
function isAt(side: Side, one: Standing[], other: Standing[], view: View): boolean {
  const [a, b] = [seenFrom(view, one), seenFrom(view, other)];
  const axis = side === 'left' || side === 'right' ? 0 : 1;
  const apart = (b.low[axis] + b.high[axis] - a.low[axis] - a.high[axis]) / 2;
  const least = 0.1 * (sizeOf(a)[axis] + sizeOf(b)[axis]);
  return (side === 'left' || side === 'below' ? apart : -apart) > least;
}

function seenFrom({ from, to }: View, things: Standing[]): ReturnType<typeof boxAround> {
  const back = unit(minus(from, to));
  const [right, above] = across(back);
  const corners = things.flatMap(({ bounds }) => cornersOf(bounds)).map((corner) => minus(corner, from));
  return boxAround(
    corners.map((at) => [dot(at, right) / -dot(at, back), dot(at, above) / -dot(at, back), 0]),
  );
}

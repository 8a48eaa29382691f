/** Promise: that a share is refused at any pace is told once the same share was refused though less was sent than was taken before, and never sooner. */
import { beforeEach, expect, it } from 'vitest';
import { noStretches, withCounted } from '../../../src/runner/core/pacing.ts';

let now = 0;
let stretches = noStretches(0);
let chance: ReturnType<typeof withCounted>['chance'];

beforeEach(() => {
  now = 0;
  stretches = noStretches(0);
  chance = undefined;
});

/** So many seconds, of which each `nth` is refused, and so many of them after another one. */
function pass(seconds: number, perSecond: number, nth: number, inRow = 0): void {
  for (let index = 1; index <= seconds * perSecond; index++) {
    now += 1_000 / perSecond;
    const isRefused = index % nth === 0;
    const isInRow = isRefused && (index / nth) % 10 < 10 * inRow;
    const counted = withCounted(stretches, { isRefused, isInRow, perSecond }, now);
    stretches = counted.stretches;
    chance ??= counted.chance;
  }
}

it('is told by half the pace', () => {
  pass(2, 100, 5);
  expect(chance).toBeUndefined();
  pass(2, 50, 5);
  expect(chance).toEqual({ share: 0.2, perSecond: 100 });
});

it('is told by what was seen at the fastest of several paces', () => {
  for (const perSecond of [80, 100, 90]) pass(2, perSecond, 5);
  expect(chance).toBeUndefined();
  pass(2, 50, 5);
  expect(chance).toMatchObject({ perSecond: 100 });
});

it.each<[string, () => void]>([
  ['where hardly less was sent than was taken', () => pass(6, 75, 5)],
  ['where far less was refused of it', () => pass(9, 60, 50)],
  ['where it lasted less than two seconds', () => pass(1.9, 50, 5)],
  ['where all is refused by then', () => pass(3, 30, 1)],
  ['where fewer than five were refused in ten seconds', () => pass(30, 2, 6)],
  ['where they were refused in rows', () => pass(3, 50, 5, 0.8)],
])('is not told %s', (_, then) => {
  pass(2, 100, 5);
  then();
  expect(chance).toBeUndefined();
});

it('is not told by all that was refused before', () => {
  pass(3, 100, 1);
  pass(3, 50, 1);
  expect(chance).toBeUndefined();
});

it('is told anew where far more is refused than before', () => {
  pass(2, 100, 10);
  pass(2, 50, 2);
  expect(chance).toBeUndefined();
  pass(3, 20, 2);
  expect(chance).toMatchObject({ share: 0.5, perSecond: 50 });
});

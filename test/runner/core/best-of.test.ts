/**
 * Promise: the best scenes of each group are chosen by their values. Of equal ones the first seed wins, and
 * an unfinished group has none.
 */
import { expect, it } from 'vitest';
import { BestOf, type Candidate } from '../../../src/runner/list/stage-pictures.ts';

function chosen(count: number, candidates: [group: string, value?: number, seedNumber?: number][]): string {
  const best = new BestOf(count);
  for (const [index, [group, value, seedNumber]] of candidates.entries())
    best.add({ key: String.fromCodePoint(97 + index), group, value, seedNumber } satisfies Candidate);
  return [...best.chosen(new Set(['open']))].toSorted().join('');
}

it('`best` takes the highest values of each group, in whatever order the scenes come', () => {
  expect(
    chosen(1, [
      ['x', 1],
      ['x', 3],
      ['y', -5],
      ['x', 2],
      ['open', 9],
    ]),
  ).toBe('bc');
  expect(
    chosen(2, [
      ['x', 1],
      ['x', 3],
      ['x', 2],
      ['y', 0],
    ]),
  ).toBe('bcd');
  expect(
    chosen(2, [
      ['x', 3],
      ['x', 2],
      ['x', 1],
    ]),
  ).toBe('ab');
});

it('`best` never takes a scene without a value, even if there is no other', () => {
  expect(chosen(2, [['x'], ['x', -1], ['y']])).toBe('b');
});

it('`best` takes the first seed of equal values, the first scene of equal seeds, and a scene without a seed last', () => {
  expect(
    chosen(1, [
      ['x', 1, 3],
      ['x', 1, 2],
      ['x', 1, 4],
    ]),
  ).toBe('b');
  expect(
    chosen(1, [
      ['x', 1, 2],
      ['x', 1, 2],
    ]),
  ).toBe('a');
  expect(
    chosen(1, [
      ['x', 1],
      ['x', 1, 9],
      ['x', 1],
    ]),
  ).toBe('b');
  expect(
    chosen(1, [
      ['x', 1, 1],
      ['x', 2, 5],
    ]),
  ).toBe('b');
});

/**
 * Promise: a seed is sent if the one before it did not meet `until` or was given up, and no earlier one met
 * it.
 */
import { describe, expect, it } from 'vitest';
import type { SceneState } from '../../../src/runner/core/scene.ts';
import { judgeOf, nextSeed, seedAfter, type SeedRow } from '../../../src/runner/core/seeds-until.ts';

/** `good` and `short` are saved scenes. `good` meets `until`, and `short` does not. */
type Stand = Exclude<SceneState, 'saved'> | 'good' | 'short';

/** Returns the states that the seeds of these rows get, and the number of seeds deferred by earlier ones. */
function walk(...rows: Stand[][]) {
  let row: SeedRow | undefined;
  let deferred = 0;
  const states = rows.map((stands, at) =>
    stands.map((stand, index) => {
      const state = stand === 'good' || stand === 'short' ? 'saved' : stand;
      const next = nextSeed(row, { id: `r${at}-s${index + 1}`, state }, () => stand === 'good');
      ({ row } = next);
      if (next.isDeferred) deferred += 1;
      return next.state;
    }),
  );
  return { states, deferred };
}

describe('the seeds of a row', () => {
  it.each<[string, Stand[], SceneState[], number]>([
    ['at first', ['waiting', 'waiting', 'waiting'], ['waiting', 'unneeded', 'unneeded'], 2],
    ['in flight', ['active', 'unneeded', 'unneeded'], ['active', 'unneeded', 'unneeded'], 2],
    ['good', ['good', 'unneeded', 'waiting'], ['saved', 'unneeded', 'unneeded'], 0],
    ['short', ['short', 'unneeded', 'unneeded'], ['saved', 'waiting', 'unneeded'], 1],
    ['given up', ['failed', 'unneeded'], ['failed', 'waiting'], 0],
    ['short, then good', ['short', 'good', 'unneeded'], ['saved', 'saved', 'unneeded'], 0],
    ['rendered again', ['waiting', 'good', 'unneeded'], ['waiting', 'saved', 'unneeded'], 0],
    ['all put back', ['waiting', 'waiting', 'waiting'], ['waiting', 'unneeded', 'unneeded'], 2],
    ['good since', ['good', 'short', 'waiting'], ['saved', 'saved', 'unneeded'], 0],
    ['good no more', ['short', 'short', 'unneeded'], ['saved', 'saved', 'waiting'], 0],
    ['one put back behind a short one', ['waiting', 'short', 'unneeded'], ['waiting', 'saved', 'waiting'], 0],
  ])('%s', (_, stands, states, deferred) => {
    expect(walk(stands)).toEqual({ states: [states], deferred });
  });

  it('are decided without those of the next row', () => {
    expect(walk(['good', 'waiting'], ['waiting', 'waiting']).states).toEqual([
      ['saved', 'unneeded'],
      ['waiting', 'unneeded'],
    ]);
  });
});

it('the id of a seed gives the id of the next seed', () => {
  expect(seedAfter('cat-oil-s9')).toBe('cat-oil-s10');
  expect(seedAfter('s1-s1')).toBe('s1-s2');
  expect(seedAfter('cat')).toBeUndefined();
});

it('judges by values, columns, seed and prompt; a scene without a value is not good', () => {
  const values = [{ name: 'score', at: ['quality', 'score'] }];
  const isGood = (until: string, score?: number) =>
    judgeOf({ until, columns: ['style', 'score'], values })({
      id: 'a-s1',
      columns: { style: 'ink' },
      input: { prompt: 'a cat', seed: 7 },
      saved: [
        {
          file: 'a.png',
          width: 1,
          height: 1,
          bytes: 1,
          sha256: '',
          output: { rest: { quality: score === undefined ? {} : { score } } },
        },
      ],
    });
  expect(isGood('score >= 0.6', 0.6)).toBe(true);
  expect(isGood('score >= 0.6', 0.5)).toBe(false);
  expect(isGood('score >= 0.6')).toBeUndefined();
  expect(isGood("style = 'ink' and seed = 7 and prompt contains 'cat'")).toBe(true);
  expect(() => isGood('state = 1')).toThrow('"state" at character 1 is no column');
});

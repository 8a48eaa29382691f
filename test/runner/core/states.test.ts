/** The state tables are consistent: every state is reachable, and settled states have no transition. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assertAttemptMove,
  attemptMoves,
  type AttemptState,
  type SettledState,
} from '../../../src/runner/core/attempt.ts';
import { sceneMoves } from '../../../src/runner/core/scene.ts';

const settled: SettledState[] = ['unanswered', 'refused', 'saved', 'failed', 'expired'];

describe.each<[string, Record<string, readonly string[]>]>([
  ['an attempt', attemptMoves],
  ['a scene', sceneMoves],
])('the states of %s', (_what, moves) => {
  test('are all reached from the first one', () => {
    const [first = ''] = Object.keys(moves);
    const reached = new Set([first]);
    for (const state of reached) for (const next of moves[state] ?? []) reached.add(next);
    expect(reached).toEqual(new Set(Object.keys(moves)));
  });

  test('never lead to themselves or twice to one state', () => {
    for (const [state, next] of Object.entries(moves)) {
      expect(next).not.toContain(state);
      expect(new Set(next).size).toBe(next.length);
    }
  });
});

test('an attempt is settled exactly if it has no moves left, and every walk ends there', () => {
  const without = Object.entries(attemptMoves).flatMap(([state, next]) => (next.length === 0 ? [state] : []));
  expect(without.toSorted()).toEqual(settled.toSorted());
  fc.assert(
    fc.property(fc.infiniteStream(fc.nat()), (numbers) => {
      let state: AttemptState = 'intended';
      for (let steps = 0; attemptMoves[state].length > 0; steps += 1) {
        const next: readonly AttemptState[] = attemptMoves[state];
        const to = next[Number(numbers.next().value) % next.length] ?? expect.fail();
        assertAttemptMove(state, to);
        state = to;
        expect(steps).toBeLessThan(Object.keys(attemptMoves).length);
      }
      expect(settled).toContain(state);
    }),
  );
});

/** Promise: an address that tries many wrong keys must wait, and the memory for this does not grow. */
import { expect, it } from 'vitest';
import { Guesses } from '../../../src/lib/net/guesses.ts';

const minute = 60_000;

function guessTwenty(guesses: Guesses, address: string, now: number): number[] {
  return Array.from({ length: 20 }, (_, index) => guesses.add(address, `wrong ${index}`, now));
}

it('the count of guessed keys blocks no client after the clock was set back', () => {
  const guesses = new Guesses();
  guessTwenty(guesses, 'here', minute);
  expect(guesses.waitMs('here', 0)).toBe(0);
});

it('the count of guessed keys forgets the oldest of ten thousand addresses', () => {
  const guesses = new Guesses();
  for (const address of ['first', 'second']) guessTwenty(guesses, address, 0);
  for (let other = 0; other < 9_999; other++) guesses.add(`address ${other}`, 'wrong', 1);
  expect([guesses.waitMs('first', 1), guesses.waitMs('second', 1)]).toEqual([0, minute - 1]);
});

/** Who is told to stop trying keys, and for how long. */
import { expect, it } from 'vitest';
import { Guesses } from '../../../src/service/keys/admission.ts';

const minute = 60_000;

function guessTwenty(guesses: Guesses, address: string, now: number): number[] {
  return Array.from({ length: 20 }, (_, index) => guesses.add(address, `wrong ${index}`, now));
}

it('has an address wait for the end of the minute once twenty different keys were wrong', () => {
  const guesses = new Guesses();
  expect(guessTwenty(guesses, 'here', 1_000)).toEqual(Array(20).fill(0));
  expect(guesses.add('here', 'one more', 11_000)).toBe(50_000);
  expect(guesses.waitMs('here', 11_000)).toBe(50_000);
  expect(guesses.add('here', 'one more', 1_000 + minute)).toBe(0);
  expect(guesses.waitMs('here', 1_000 + minute)).toBe(0);
});

it('takes the same wrong key for one guess, however often it comes', () => {
  const guesses = new Guesses();
  for (let request = 0; request < 1_000; request++) expect(guesses.add('here', 'a typo', request)).toBe(0);
  guessTwenty(guesses, 'here', 1_000);
  expect(guesses.add('here', 'a typo', 2_000)).toBe(0);
});

it('has no other address wait', () => {
  const guesses = new Guesses();
  guessTwenty(guesses, 'here', 0);
  expect([guesses.waitMs('there', 0), guesses.add('there', 'wrong', 0)]).toEqual([0, 0]);
});

it('keeps nobody waiting after the clock was set back', () => {
  const guesses = new Guesses();
  guessTwenty(guesses, 'here', minute);
  expect(guesses.waitMs('here', 0)).toBe(0);
});

it('forgets the oldest of ten thousand addresses, so that it does not grow', () => {
  const guesses = new Guesses();
  for (const address of ['first', 'second']) guessTwenty(guesses, address, 0);
  for (let other = 0; other < 9_999; other++) guesses.add(`address ${other}`, 'wrong', 1);
  expect([guesses.waitMs('first', 1), guesses.waitMs('second', 1)]).toEqual([0, minute - 1]);
});

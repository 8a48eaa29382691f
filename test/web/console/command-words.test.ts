/** Promise: a command line is cut as a shell would cut it, and comes back as it was. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { joinWords, splitWords } from '../../../src/web/console/endpoint-draft.ts';

it.each([
  ['python3 worker.py', ['python3', 'worker.py']],
  ['  a   b  ', ['a', 'b']],
  [`sh -c 'echo "hi" $HOME'`, ['sh', '-c', 'echo "hi" $HOME']],
  [`"a b"c\\ d "e\\"f\\n"`, ['a bc d', 'e"f\\n']],
  [`'' ""`, ['', '']],
  ['', []],
])('%j', (line, words) => {
  expect(splitWords(line)).toEqual(words);
});

it.each([`'open`, `a "b`, 'end\\'])('is not one: %j', (line) => {
  expect(splitWords(line)).toBeUndefined();
});

it('has the words of a list, whatever they are', () => {
  const word = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('a', ' ', "'", '"', '\\', '\n') }));
  fc.assert(
    fc.property(fc.array(word), (words) => {
      expect(splitWords(joinWords(words))).toEqual(words);
    }),
  );
});

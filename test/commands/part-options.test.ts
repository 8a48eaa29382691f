/** Promise: `--sample` and `--limit` mean what they say, or are rejected by name. */
import { partOf } from '../../src/batch/start-choices.ts';
import { expect, it } from 'vitest';
import type { Problem } from '../../src/lib/yaml/problem.ts';

it.each([
  [{}, undefined],
  [{ sample: '1%' }, { share: 0.01 }],
  [{ sample: '12.5 %' }, { share: 0.125 }],
  [{ sample: '0.01' }, { share: 0.01 }],
  [{ sample: '.5' }, { share: 0.5 }],
  [{ sample: '100%' }, { share: 1 }],
  [{ limit: '20' }, { limit: 20 }],
  [
    { sample: '1%', limit: '20' },
    { share: 0.01, limit: 20 },
  ],
])('%o', (argv, part) => {
  const problems: Problem[] = [];
  expect(partOf(argv, problems)).toEqual(part);
  expect(problems).toEqual([]);
});

it.each([
  [{ sample: '0' }, '--sample: is "0"; expected a share such as 1% or 0.01, above 0 and at most 100%'],
  [{ sample: '20' }, '--sample: is "20"; expected a share'],
  [{ sample: '101%' }, '--sample: is "101%"'],
  [{ sample: 'some' }, '--sample: is "some"'],
  [{ limit: '0' }, '--limit: is "0"; expected a number of scenes, 1 or more'],
  [{ limit: '2.5' }, '--limit: is "2.5"'],
  [{ limit: ['1', '2'] }, '--limit: is "1" and "2"'],
])('refuses %o', (argv, words) => {
  expect(problemsOf(argv)).toContain(words);
});

it('both wrong options for a part of a batch are named at once', () => {
  expect(problemsOf({ sample: 'x', limit: 'y' })).toMatch(/--sample: .*\n--limit: /);
});

function problemsOf(argv: Record<string, unknown>): string {
  const problems: Problem[] = [];
  partOf(argv, problems);
  return problems.map(({ where, text }) => `${where}: ${text}`).join('\n');
}

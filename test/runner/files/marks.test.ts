/**
 * Promise: the latest change of a mark wins, even if files of several machines are joined. A damaged line
 * affects only itself.
 */
import { describe, expect, it } from 'vitest';
import { markLines, readMarks } from '../../../src/runner/files/marks-file.ts';

const noon = Date.parse('2026-11-29T12:00:00Z');

function linesOf(changes: [id: string, mark: 'star' | 'again' | null, seconds: number][]): string {
  return changes.map(([id, mark, s]) => markLines([{ id, mark }], new Map(), noon + s * 1_000)).join('');
}

const marksIn = (text: string): [string, string][] =>
  [...readMarks(text).marks].map(([id, { mark }]) => [id, mark]);

describe('marks', () => {
  it('are the latest change of each scene, in the order in which they were set', () => {
    const text = linesOf([
      ['a', 'star', 0],
      ['b', 'star', 1],
      ['a', 'again', 2],
      ['c', 'star', 3],
      ['c', null, 4],
    ]);
    expect(marksIn(text)).toEqual([
      ['b', 'star'],
      ['a', 'again'],
    ]);
  });

  it('have a first line after a byte order mark, too', () => {
    expect(marksIn(`\uFEFF${linesOf([['a', 'star', 0]])}`)).toEqual([['a', 'star']]);
  });

  it('are merged by joining files, in any order', () => {
    const mine = linesOf([
      ['a', 'star', 0],
      ['b', null, 9],
    ]);
    const theirs = linesOf([
      ['a', null, 5],
      ['b', 'star', 5],
      ['c', 'again', 5],
    ]);
    for (const text of [mine + theirs, theirs + mine]) expect(marksIn(text)).toEqual([['c', 'again']]);
  });

  it('replace each other even if the clock was set back meanwhile', () => {
    const first = markLines([{ id: 'a', mark: 'star' }], new Map(), noon);
    const second = markLines([{ id: 'a', mark: null }], readMarks(first).marks, noon - 3_600_000);
    expect(marksIn(first + second)).toEqual([]);
  });

  it.each([
    '{"id":"b","mark":"sta',
    'null',
    '{"id":1,"mark":"star","at":"2026-11-29T12:00:00Z"}',
    '{"id":"b","mark":"gold","at":"2026-11-29T12:00:00Z"}',
    '{"id":"b","mark":"star","at":"noon"}',
    // No later change could win over this date.
    '{"id":"b","mark":"again","at":"+275760-09-13T00:00:00.000Z"}',
  ])('are read beside a line that cannot be read: %s', (line) => {
    const text = `${linesOf([['a', 'star', 0]])}${line}\n\n${linesOf([['c', 'star', 1]])}`;
    expect(marksIn(text)).toEqual([
      ['a', 'star'],
      ['c', 'star'],
    ]);
    expect(readMarks(text).unreadable).toEqual([2]);
  });
});

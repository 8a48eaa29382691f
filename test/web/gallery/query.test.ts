/** Promise: a search of the gallery covers every column, whatever type its values have. */
import { expect, it } from 'vitest';
import type { GalleryRow } from '../../../src/runner/core/gallery-data.ts';
import { everything, isEverything, matcher, promptOf, type Query } from '../../../src/web/gallery/query.ts';

const row: GalleryRow = {
  id: 'Harbour-7',
  state: 'failed',
  prompt: 'built by a template: FOGGY Ärmelkanal',
  values: ['a red boat', 30, true, null, { tags: ['oil', 'dusk'] }, 0.5, '0.75'],
  pictures: [
    { file: 'a.png', width: 1, height: 1, bytes: 1 },
    { file: 'b.png', width: 1, height: 1, bytes: 1, output: { labelled_words: ['buoy'], ignored_words: [] } },
  ],
  failure: ['job-failed', 'out of memory'],
  source: 'a.csv:2',
};

const asks = (query: Partial<Query>): boolean =>
  matcher(
    { ...everything, ...query },
    {
      kindOf: (column) => (column === 1 || column === 2 ? 'choice' : column >= 5 ? 'range' : 'text'),
      markOf: (id) => (id === row.id ? 'star' : undefined),
    },
  )(row);

it.each(['', 'harbour', 'BOAT red', 'foggy ärmel', '30', 'true', 'dusk', 'harbour dusk'])(
  'the search %j finds a scene with these words',
  (text) => {
    expect(asks({ text })).toBe(true);
  },
);

it.each(['green', 'red green', 'null', 'memory'])(
  'the search %j does not find a scene without these words',
  (text) => {
    expect(asks({ text })).toBe(false);
  },
);

it.each<[Partial<Query>, boolean]>([
  [{ state: 'failed' }, true],
  [{ state: 'saved' }, false],
  [{ mark: 'star' }, true],
  [{ mark: 'again' }, false],
  [{ kind: 'job-failed' }, true],
  [{ kind: 'expired' }, false],
  [{ lost: 'labelled_words' }, true],
  [{ lost: 'ignored_words' }, false],
  [{ columns: { 1: '30', 2: 'true' } }, true],
  [{ columns: { 1: '3' } }, false],
  [{ columns: { 0: 'BOAT' } }, true],
  [{ columns: { 0: 'boat', 1: '31' } }, false],
  [{ columns: { 0: '=a red boat' } }, true],
  [{ columns: { 0: '=red boat' } }, false],
  [{ columns: { 3: 'x' } }, false],
  [{ columns: { 6: '0.7..0.8' } }, true],
  [{ columns: { 5: '0.5..' } }, true],
  [{ columns: { 5: '..0.49' } }, false],
  [{ columns: { 5: '0.4..0.6' } }, true],
  [{ columns: { 5: '0.6..' } }, false],
])('%j: %s', (query, isFound) => {
  expect(asks(query)).toBe(isFound);
});

it('a search finds a prompt that is a column', () => {
  expect(promptOf({ ...row, prompt: 0 })).toBe('a red boat');
  expect(promptOf({ state: 'invalid', source: 'x' })).toBe('');
});

it('a list counts as complete only if nothing is filtered or sorted', () => {
  expect(isEverything({ ...everything, text: '  ', columns: { 1: '' } })).toBe(true);
  expect(isEverything({ ...everything, order: 'id' })).toBe(false);
  expect(isEverything({ ...everything, columns: { 1: '3' } })).toBe(false);
});

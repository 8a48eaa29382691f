/** Values of `output.values` are read from the kept part of an output. */
import { expect, it } from 'vitest';
import { oddValues, valuesIn, withValues } from '../../../src/runner/core/seeds-until.ts';

const asked = ['quality.score', 'nsfw', 'model', 'list', 'gone.deep'].map((path) => ({
  name: path.split('.')[0] ?? '',
  at: path.split('.'),
}));
const output = { rest: { quality: [{ score: 0 }], nsfw: false, model: { name: 'x' }, list: ['a', 'b'] } };

it('accepts numbers, texts, true and false; a list of one counts as its item', () => {
  expect(valuesIn(output, asked)).toEqual({ quality: 0, nsfw: false });
  expect(oddValues(output, asked)).toEqual(['model', 'list']);
  expect(valuesIn({ rest: { 'quality.score': '0.5' } }, asked)).toEqual({ quality: '0.5' });
  expect([valuesIn(undefined, asked), oddValues({}, asked)]).toEqual([{}, []]);
});

it('a value goes before a column of its name, even if a scene has no value', () => {
  const columns = { id: 's1', nsfw: 'of the list', model: 'of the list' };
  expect(withValues(columns, output, asked)).toEqual({ id: 's1', quality: 0, nsfw: false });
  expect(withValues(columns, undefined, [])).toBe(columns);
});

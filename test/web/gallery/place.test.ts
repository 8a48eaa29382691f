/** Promise: a link to the gallery leads a reader to the same view, whatever columns are called. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { readPlace, writePlace, type Place, type Side } from '../../../src/web/gallery/page-location.ts';
import { everything, orders, type Order } from '../../../src/web/gallery/query.ts';

const text = fc.string({ unit: 'grapheme' });

it('the view of a link is the same after it was written into the address and read again', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(text, { minLength: 3, maxLength: 3 }),
      fc.record<Place>({
        view: fc.constantFrom('pictures', 'grid', 'failures', 'night'),
        query: fc.record({
          text,
          state: text,
          kind: text,
          mark: fc.constantFrom('', 'star', 'reject', 'again'),
          lost: fc.constantFrom('', 'labelled_words', 'ignored_words'),
          columns: fc.record({ 0: fc.string({ minLength: 1 }), 2: fc.string({ minLength: 1 }) }),
          order: fc.constantFrom<Order>(
            ...(Object.keys(orders) as (keyof typeof orders)[]),
            'up:0',
            'down:2',
          ),
        }),
        page: fc.integer({ min: 1, max: 1e8 }),
        open: fc.option(fc.record({ number: fc.integer({ min: 1, max: 1e8 }), id: text }), {
          nil: undefined,
        }),
        sides: fc.oneof(
          fc.constant<Side[]>([]),
          fc.array(
            fc.record<Side>({
              number: fc.integer({ min: 1, max: 1e8 }),
              id: text,
              picture: fc.integer({ min: 0, max: 9999 }),
            }),
            { minLength: 2, maxLength: 4 },
          ),
        ),
        across: text,
        down: text,
        steps: fc.array(text, { maxLength: 2 }),
        at: fc.array(fc.integer({ min: 1, max: 1e8 }), { maxLength: 4 }),
      }),
      (names, place) => {
        expect(readPlace(writePlace(place, names), names)).toEqual(place);
      },
    ),
  );
});

it('the view of a link is the first page without filters if the address is empty or unknown', () => {
  const nothing = { open: undefined, sides: [], across: '', down: '', steps: [], at: [] };
  const start = { view: 'pictures', query: everything, page: 1, ...nothing };
  expect(readPlace('', ['a'])).toEqual(start);
  expect(
    readPlace('#view=constructor&order=toString&page=-3&scene=x&column.b=1&side=0.1.a&side=2.1.b', ['a']),
  ).toEqual(start);
  expect(writePlace(readPlace('', []), [])).toBe('');
});

/**
 * Promise: a small part of each output is kept besides its pictures. Requested values come first, and
 * pictures and URLs are left out.
 */
import { describe, expect, it } from 'vitest';
import { restOfOutput } from '../../src/protocol/texts-in-output.ts';
import { findPictures } from '../../src/protocol/output-shapes.ts';

const sole = { index: 0, count: 1 };
const base64 = 'iVBORw0KGgo'.repeat(40);

describe('the rest of an output', () => {
  it('leaves out base64 and addresses, and keeps a hash and a caption', () => {
    const caption = 'A lighthouse above the sea. '.repeat(20);
    const output = {
      image: base64,
      page: 'https://cdn.example/1.png?sig=a',
      uri: 'data:image/png;base64,AAAA',
      hash: 'a'.repeat(128),
      caption,
      meta: { preview: base64, steps: 4, none: null },
    };
    expect(restOfOutput([output], sole, [])).toEqual({
      rest: { hash: 'a'.repeat(128), caption, meta: { steps: 4 } },
    });
    expect(restOfOutput([{ image: base64 }], sole, [])).toBeUndefined();
  });

  it.each([
    ['a key', { log: 'so it went '.repeat(170), score: 1 }, ['score'], { score: 1 }],
    [
      'a key of an object that is too long itself',
      { quality: { map: Array.from({ length: 199 }, () => 12_345_678_901), score: 0.7 } },
      ['quality', 'score'],
      { 'quality.score': 0.7 },
    ],
    ['an object that is kept whole', { a: { b: 1, c: 2 } }, ['a', 'b'], { a: { b: 1, c: 2 } }],
  ])('has the requested values first: %s', (_, output, path, kept) => {
    expect(restOfOutput([output], sole, [path])?.rest).toMatchObject(kept);
  });

  it('is 2 kB at most, and says that there was more', () => {
    const output = { first: 'é '.repeat(900), score: 1, last: 'e '.repeat(900) };
    const { rest, isCut } = restOfOutput([output], sole, [['score']]) ?? {};
    expect(Buffer.byteLength(JSON.stringify(rest))).toBeLessThanOrEqual(2_000);
    expect([rest?.['score'], isCut]).toEqual([1, true]);
  });
});

it('each picture gets its own part', () => {
  const scores = [0.1, 0.2];
  const found = findPictures(
    {
      images: [
        { data: base64, tag: 'a' },
        { data: `${base64}AAAA`, tag: 'b' },
      ],
      scores,
      model: 'sdxl',
    },
    undefined,
    { values: [['scores']] },
  );
  expect(found).toMatchObject({
    pictures: [
      { output: { rest: { tag: 'a', scores: 0.1, model: 'sdxl' } } },
      { output: { rest: { tag: 'b', scores: 0.2, model: 'sdxl' } } },
    ],
  });
});

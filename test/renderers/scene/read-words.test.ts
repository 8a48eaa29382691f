/** Promise: plain words become subjects, relations and a setting, and no word is lost without being listed. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mostOfASubject, mostSubjects, readWords } from '../../../src/renderers/language/read-words.ts';
import { tokensOf, wordsOf } from '../../../src/renderers/language/tokens.ts';

const known =
  'a two red blue wooden gold small huge ball balls table house cat dogs on beside behind in front of under with and the mountain sea rain sunset zyx qwerty , .'.split(
    ' ',
  );
const sentences = fc.array(fc.constantFrom(...known), { maxLength: 30 }).map((words) => words.join(' '));

describe('what is said', () => {
  it('gives each thing its count, colours, material and size', () => {
    const { subjects } = readWords('three small red wooden cubes and a huge gold ball');
    expect(subjects).toMatchObject([
      { noun: 'cube', count: 3, colours: ['red'], material: 'wood' },
      { noun: 'ball', count: 1, material: 'gold' },
    ]);
    expect(subjects[0]?.size).toBeLessThan(1);
    expect(subjects[1]?.size).toBeGreaterThan(1);
  });

  it.each([
    ['a ball on a table', 'on'],
    ['a ball on top of a table', 'on'],
    ['a ball next to a table', 'beside'],
    ['a ball to the left of a table', 'left'],
    ['a ball in front of a table', 'front'],
    ['a ball behind a table', 'behind'],
    ['a ball under a table', 'under'],
  ])('"%s" is %s', (text, relation) => {
    expect(readWords(text).subjects[0]?.place).toEqual({ relation, to: 1 });
  });

  it('reads places that are said afterwards, or first', () => {
    const { subjects } = readWords('a truck with a horse on its left and two dogs on its right');
    expect(subjects.map(({ noun, place }) => [noun, place?.relation, place?.to])).toEqual([
      ['truck', undefined, undefined],
      ['horse', 'left', 0],
      ['dog', 'right', 0],
    ]);
    expect(readWords('on a table a ball').subjects[1]?.place).toEqual({ relation: 'on', to: 0 });
  });

  it('gives a relation to all that stand before it', () => {
    const { subjects } = readWords('a teapot and two cups on a table');
    expect(subjects.map(({ place }) => place?.to)).toEqual([2, 2, undefined]);
  });

  it('keeps colours of parts apart from those of the thing', () => {
    expect(readWords('a white house with a red roof').subjects).toMatchObject([
      { noun: 'house', colours: ['white'], trim: ['red'] },
    ]);
  });

  it('reads place, hour, weather and camera', () => {
    expect(readWords('aerial view of a boat on the sea at sunset in the rain, mountains')).toMatchObject({
      ground: 'water',
      time: 'sunset',
      weather: 'rain',
      camera: 'high',
      backdrops: ['mountains'],
    });
  });

  it('takes words between commas for the thing that they describe', () => {
    const chair = readWords('an ornate, high-backed mahogany chair with a red cushion');
    expect(chair.subjects).toMatchObject([{ noun: 'chair', count: 1, material: 'wood', trim: ['red'] }]);
    const [form, tree] = readWords('a gryphlet, two trees').subjects;
    expect([form?.noun, tree?.noun]).toEqual(['form', 'tree']);
    const sign = readWords('a yellow diamond-shaped sign');
    expect(sign.subjects).toMatchObject([{ noun: 'sign', colours: ['yellow'] }]);
    expect(sign.ignoredWords).toEqual(['diamond', 'shaped']);
  });

  it('keeps places where something on a thing is not known', () => {
    const { subjects } = readWords('a cup to the right of a plate with gryphlets on it');
    expect(subjects.map(({ place }) => place)).toEqual([{ relation: 'right', to: 1 }, null]);
  });

  it('has hats worn, after something to wear that is not known as well', () => {
    const { subjects } = readWords('a dog wearing a red gryphlet and a purple hat');
    expect(subjects.map(({ noun, place }) => [noun, place?.relation])).toEqual([
      ['dog', undefined],
      ['hat', 'on'],
    ]);
  });

  it('gives all colours to several things', () => {
    expect(readWords('red and yellow balloons').subjects).toMatchObject([{ colours: ['red', 'yellow'] }]);
  });

  it('knows of water beside what stands on land', () => {
    expect(readWords('a landscape with a cottage next to a lake')).toMatchObject({
      ground: 'grass',
      hasWater: true,
    });
  });

  it('leaves out what is said not to be there', () => {
    expect(readWords('a bench without any cats').subjects.map(({ noun }) => noun)).toEqual(['bench']);
    expect(readWords('no dogs').subjects).toEqual([]);
  });

  it('sculpts an unknown thing, and lists its word', () => {
    const { subjects, ignoredWords } = readWords('a red gryphlet on a table');
    expect(subjects).toMatchObject([
      { noun: 'form', colours: ['red'], place: { relation: 'on', to: 1 } },
      { noun: 'table' },
    ]);
    expect(ignoredWords).toEqual(['gryphlet']);
  });
});

describe('any text', () => {
  it('is read without an error, within bounds, and the same every time', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), sentences), (text) => {
        const words = readWords(text);
        expect(readWords(text)).toEqual(words);
        expect(words.subjects.length).toBeLessThanOrEqual(mostSubjects);
        for (const { count } of words.subjects) {
          expect(count).toBeGreaterThanOrEqual(1);
          expect(count).toBeLessThanOrEqual(mostOfASubject);
        }
      }),
    );
  });

  it('never places things in a circle', () => {
    fc.assert(
      fc.property(sentences, (text) => {
        const { subjects } = readWords(text);
        for (const start of subjects.keys()) {
          let [at, steps]: [number | undefined, number] = [start, 0];
          while (at !== undefined && steps <= subjects.length)
            [at, steps] = [subjects[at]?.place?.to, steps + 1];
          expect(at).toBeUndefined();
        }
      }),
    );
  });

  it('has every word that nothing knows in the list, and no sign', () => {
    fc.assert(
      fc.property(sentences, fc.constantFrom('zyx', 'blorbish', 'xyzzy'), (text, strange) => {
        const { ignoredWords } = readWords(`${text} ${strange}`);
        expect(ignoredWords).toContain(strange);
        expect(ignoredWords.every((word) => wordsOf(`${text} ${strange}`).includes(word))).toBe(true);
      }),
    );
  });

  it('loses no word on the way to its tokens', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(tokensOf(text).flatMap(({ said }) => said)).toEqual(wordsOf(text));
      }),
    );
  });
});

/**
 * Promise: plain words become things, relations and a setting, and every word without an effect is listed.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxCount, maxSubjects } from '../../../src/renderers/language/placed-subjects.ts';
import { readPrompt, type Prompt } from '../../../src/renderers/language/read-prompt.ts';
import { tokensOf, wordsOf } from '../../../src/renderers/language/tokens.ts';
import { runs } from '../../fakes/tier.ts';

const known =
  'a two red blue wooden gold small huge ball balls table house cat dogs on beside behind in front of under with and the mountain sea rain sunset zyx qwerty , .'.split(
    ' ',
  );
const sentences = fc.array(fc.constantFrom(...known), { maxLength: 30 }).map((words) => words.join(' '));

describe('a description', () => {
  it('gives each thing its count, colours, material and size', () => {
    const { subjects } = readPrompt('three small red wooden cubes and a huge gold ball');
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
    expect(readPrompt(text).subjects[0]?.place).toEqual({ relation, to: 1 });
  });

  it('reads places that are said afterwards, or first', () => {
    const { subjects } = readPrompt('a truck with a horse on its left and two dogs on its right');
    expect(subjects.map(({ noun, place }) => [noun, place?.relation, place?.to])).toEqual([
      ['truck', undefined, undefined],
      ['horse', 'left', 0],
      ['dog', 'right', 0],
    ]);
    expect(readPrompt('on a table a ball').subjects[1]?.place).toEqual({ relation: 'on', to: 0 });
  });

  it('gives a relation to all that stand before it', () => {
    const { subjects } = readPrompt('a teapot and two cups on a table');
    expect(subjects.map(({ place }) => place?.to)).toEqual([2, 2, undefined]);
  });

  it.each([
    ['two cups of coffee', [['cup', 2, undefined]]],
    ['three glasses of orange juice', [['juice', 3, undefined]]],
    [
      'a bowl of oranges',
      [
        ['bowl', 1, undefined],
        ['fruit', 3, 'in'],
      ],
    ],
    [
      'a glass vase with flowers',
      [
        ['vase', 1, undefined],
        ['flower', 3, 'in'],
      ],
    ],
    [
      'a car and a dog. The car is on a bridge',
      [
        ['car', 1, 'on'],
        ['dog', 1, undefined],
        ['bridge', 1, undefined],
      ],
    ],
    ['a clock tower', [['tower', 1, undefined]]],
    [
      'a hot dog and two wine glasses',
      [
        ['hotdog', 1, undefined],
        ['glass', 2, undefined],
      ],
    ],
    ["a cat's shadow", [['cat', 1, undefined]]],
    [
      "a tiger wearing a train conductor's hat",
      [
        ['tiger', 1, undefined],
        ['hat', 1, 'on'],
      ],
    ],
    ['a horse corral', [['label', 1, undefined]]],
    ['a lake can be seen, a can', [['can', 1, undefined]]],
    ['a red 1997 Porsche 911', [['car', 1, undefined]]],
    ['a whale made of flowers', [['whale', 1, undefined]]],
    ['a triceratops', [['label', 1, undefined]]],
  ])('names nothing twice, and no part for the whole: %s', (text, things) => {
    const { subjects } = readPrompt(text);
    expect(subjects.map(({ noun, count, place }) => [noun, count, place?.relation])).toEqual(things);
  });

  it('keeps colours of parts apart from those of the thing', () => {
    expect(readPrompt('a white house with a red roof').subjects).toMatchObject([
      { noun: 'house', colours: ['white'], trim: ['red'] },
    ]);
  });

  it('reads hour, season, place, weather and camera', () => {
    const prompt = readPrompt('aerial view of a boat on the sea at sunset in the autumn rain, mountains');
    expect(prompt).toMatchObject({ time: 'sunset', season: 'autumn', camera: 'high' });
    expect(nounsOf(prompt)).toEqual(['boat', 'sea', 'rain', 'mountain']);
  });

  it('takes words between commas for the thing that they describe', () => {
    const chair = readPrompt('an ornate, high-backed mahogany chair with a red cushion');
    expect(chair.subjects).toMatchObject([{ noun: 'chair', count: 1, material: 'wood', trim: ['red'] }]);
    expect(readPrompt('a gryphlet, two trees').subjects).toMatchObject([
      { noun: 'label', count: 1 },
      { noun: 'tree', count: 2 },
    ]);
    const sign = readPrompt('a yellow diamond-shaped sign');
    expect(sign.subjects).toMatchObject([{ noun: 'sign', colours: ['yellow'] }]);
    expect(sign.ignoredWords).toEqual(['diamond', 'shaped']);
  });

  it('places things without a shape on a thing as well', () => {
    const { subjects } = readPrompt('a cup to the right of a plate with gryphlets on it');
    expect(subjects.map(({ place }) => place)).toEqual([
      { relation: 'right', to: 1 },
      null,
      { relation: 'on', to: 1 },
    ]);
  });

  it('has people wear their clothes', () => {
    expect(readPrompt('a man in a red jacket and a woman wearing a blue shirt').subjects).toMatchObject([
      { noun: 'person', colours: ['red'] },
      { noun: 'woman', colours: ['blue'] },
    ]);
  });

  it('writes the text between quotation marks on signs, and draws none of it', () => {
    expect(readPrompt('a sign that says "two cats", a dog')).toMatchObject({
      subjects: [{ noun: 'sign', text: 'two cats' }, { noun: 'dog' }],
      labelledWords: [],
    });
    expect(readPrompt("the word 'START' on a wall").subjects).toMatchObject([
      { noun: 'wall', text: 'start' },
    ]);
    expect(readPrompt("the word 'START'").subjects).toMatchObject([{ noun: 'sign', text: 'start' }]);
    expect(readPrompt("a dog, 'my cat'").ignoredWords).toEqual(['my', 'cat']);
  });

  it('has hats worn, after something to wear that is not known as well', () => {
    const { subjects } = readPrompt('a dog wearing a red gryphlet and a purple hat');
    expect(subjects.map(({ noun, place }) => [noun, place?.relation])).toEqual([
      ['dog', undefined],
      ['label', 'beside'],
      ['hat', 'on'],
    ]);
  });

  it.each(['a bench without any cats', 'a bench, no cats', 'a bench, zero cats'])(
    'leaves out things that the text excludes: %s',
    (text) => {
      const { subjects, denied } = readPrompt(text);
      expect([subjects.map(({ noun }) => noun), denied]).toEqual([['bench'], ['cat']]);
    },
  );

  it('has a thing without a shape stand in its colour, number and place, and lists its word', () => {
    const { subjects, labelledWords, ignoredWords } = readPrompt('two red gryphlets on a table by a house');
    expect(subjects).toMatchObject([
      { noun: 'label', word: 'gryphlets', count: 2, colours: ['red'], place: { relation: 'on', to: 1 } },
      { noun: 'table', colours: [], place: { relation: 'beside', to: 2 } },
      { noun: 'house', place: null },
    ]);
    expect([labelledWords, ignoredWords]).toEqual([['gryphlets'], []]);
  });

  it.each([
    ['a photo of a parking gryphlet', 'gryphlet'],
    ['a gryphlet chasing a cat', 'gryphlet'],
    ['a gryphlet sees a cat', 'gryphlet'],
    ['a cat eating a burrito', 'burrito'],
    ['a cat eating sushi', 'sushi'],
    ['a rabbit wearing a hat and monocle', 'monocle'],
    ['a professional high quality emoji of a dog', 'emoji'],
    ['a dog in a kilt, a razor', 'kilt razor'],
    ['a telescope at night', 'telescope'],
    ['a razor made of wood', 'razor'],
    ['asparagus', 'asparagus'],
    ['a man wearing a kilt', 'kilt'],
    ['a family of four posing', 'family'],
    ['友達', '友達'],
  ])('labels things that could stand: %s', (text, words) => {
    expect(readPrompt(text).labelledWords.join(' ')).toBe(words);
  });

  it.each([
    'masterpiece, best quality, highly detailed, 8k, a cat, trending on artstation',
    'a sense of wonder, the beauty of hope',
    'a cat in the style of van Gogh, by Greg Rutkowski and Alphonse Mucha',
    'a cat with its head in the dark',
    'an oil painting of a cat on the left side, no gryphlets',
    'a dramatic, cinematic atmosphere with bokeh and vivid colors, film grain',
  ])('labels no style, quality, artist or feeling: %s', (text) => {
    expect(readPrompt(text).labelledWords).toEqual([]);
  });

  it.each([
    ['a house built on a cliff', 'house rock', 'built'],
    ['a lighthouse seen from the sea', 'lighthouse', 'seen'],
    ['a castle ablaze at night', 'castle', 'ablaze'],
    ['a dog (frob)', 'dog', 'frob'],
    ['a city seen from above', '', 'seen'],
    ['a small cabin with lit windows', 'house', ''],
    ['a candle on a table ☕', 'candle table cup', ''],
  ])('keeps the thing of which something is said: %s', (text, nouns, ignored) => {
    const { subjects, labelledWords, ignoredWords } = readPrompt(text);
    expect(subjects.map(({ noun }) => noun).join(' ')).toBe(nouns);
    expect([labelledWords, ignoredWords.join(' ')]).toEqual([[], ignored]);
  });

  it('lists the things beyond sixteen, and says where it stops reading', () => {
    const sixteen = 'cat dog cow horse pig sheep bird fox car bus truck train boat chair table lamp'.split(
      ' ',
    );
    const list = [...sixteen, 'vase', 'zorp'].map((word) => `a ${word}`).join(', ');
    const { subjects, labelledWords, ignoredWords } = readPrompt(list);
    expect(subjects.map(({ noun }) => noun)).toEqual(sixteen);
    expect([labelledWords, ignoredWords]).toEqual([[], ['vase', 'zorp']]);
    const long = readPrompt(`${'a cat in a garden. '.repeat(120)} a zorp`);
    expect(long.notes).toEqual(['Only the first 400 words are read.']);
    expect(long.ignoredWords).not.toContain('zorp');
  });

  it('takes a thing that is named again for the same one', () => {
    const { subjects } = readPrompt(
      'a cat and a gryphlet. The cat is on a table beside the gryphlet, the red gryphlet',
    );
    expect(subjects.map(({ word, place }) => [word, place?.relation])).toEqual([
      ['cat', 'on'],
      ['gryphlet', undefined],
      ['table', 'beside'],
      ['gryphlet', undefined],
    ]);
    expect(readPrompt('the red ball and the blue ball').subjects).toHaveLength(2);
  });

  it('labels six kinds at most, and lists the rest as ignored', () => {
    const words = 'razor helmet telescope tractor drum globe anvil crown'.split(' ');
    const { labelledWords, ignoredWords } = readPrompt(words.map((word) => `a ${word}`).join(', '));
    expect([labelledWords, ignoredWords]).toEqual([words.slice(0, 6), words.slice(6)]);
  });

  it('says that no more than fifty are shown', () => {
    expect(readPrompt('1000 cats')).toMatchObject({
      subjects: [{ noun: 'cat', count: 50 }],
      notes: ['No more than 50 cats are shown.'],
    });
    expect(readPrompt('two hundred clocks').notes).toEqual(['No more than 50 clocks are shown.']);
    expect(readPrompt('fifty cats').notes).toEqual([]);
  });
});

describe('counts', () => {
  it.each([
    ['a sailboat on the sea', 1],
    ['12 birds above the hills', 12],
    ['two dozen balloons', 24],
    ['a flock of birds', 9],
    ['a few sheep', 4],
    ['900 birds', maxCount],
    ['１０ cats', 10],
    [`${'9'.repeat(500)} cats`, maxCount],
    ['three quarters view of a man', 1],
  ])('%s', (text, count) => {
    expect(readPrompt(text).subjects).toMatchObject([{ count, isCounted: true }]);
  });

  it.each(['pine trees by a lake', 'a small village', 'cats'])('a plural alone is a few: %s', (text) => {
    const [subject] = readPrompt(text).subjects;
    expect(subject?.isCounted).toBe(false);
    expect(subject?.count).toBeGreaterThan(1);
  });
});

describe('colours and sizes', () => {
  it('belong to the noun that follows', () => {
    expect(readPrompt('a red house and two blue boats by a tiny white church').subjects).toMatchObject([
      { noun: 'house', colours: ['red'], size: 1 },
      { noun: 'boat', colours: ['blue'], size: 1 },
      { noun: 'church', colours: ['white'], size: 0.55 },
    ]);
  });

  it.each(['three purple zeppelins over a house', 'a girl with curly black hair jumping over a house'])(
    'do not leak from an unknown word to the next thing: %s',
    (text) => {
      expect(readPrompt(text).subjects.at(-1)).toMatchObject({ noun: 'house', count: 1, colours: [] });
    },
  );

  it.each([
    ['an orange and a cup', 'fruit', []],
    ['an orange cat', 'cat', ['orange']],
    ['an orange and white cat', 'cat', ['orange', 'white']],
    ['red and yellow balloons', 'balloon', ['red', 'yellow']],
  ])('are all given, and an orange is a fruit if it stands alone: %s', (text, noun, colours) => {
    expect(readPrompt(text).subjects[0]).toMatchObject({ noun, colours });
  });
});

describe('words', () => {
  it.each([
    ['northern lights over the fjord', ['aurora', 'lake']],
    ['snow-capped peaks', ['snowcap', 'mountain']],
    ['a fall landscape', ['meadow']],
    ['a hot-air balloon', ['hotairballoon']],
    ['cherry trees', ['tree']],
    ['a palm tree in a pine forest', ['palm', 'pine', 'forest']],
    ['🌊 ⛵ 🌇', ['sea', 'sailboat', 'city']],
    ['a stone bridge, a glass bottle', ['bridge', 'bottle']],
    ['two glasses, a man with glasses', ['glass', 'person']],
    ['boxes, puppies, benches, bookshelves and geese', ['cube', 'dog', 'bench', 'bookshelf', 'swan']],
    ['NEW YORK at NIGHT', ['city']],
    ['友達', []],
  ])('%s', (text, nouns) => {
    expect(nounsOf(readPrompt(text))).toEqual(nouns);
  });

  it.each([
    ['a lake at dusk', 'dusk'],
    ['a stormy evening', 'dusk'],
    ['sunrise in the mountains', 'dawn'],
    ['🌇', 'sunset'],
    ['a lake', null],
  ])('time of day: %s', (text, time) => {
    expect(readPrompt(text).time).toBe(time);
  });
});

describe('any text', () => {
  it('is read without an error, within bounds, and the same every time', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), sentences), (text) => {
        const words = readPrompt(text);
        expect(readPrompt(text)).toEqual(words);
        expect(words.subjects.length).toBeLessThanOrEqual(maxSubjects);
        for (const { count } of words.subjects) {
          expect(count).toBeGreaterThanOrEqual(1);
          expect(count).toBeLessThanOrEqual(maxCount);
        }
      }),
      { numRuns: runs(100, { ms: 13 }) },
    );
  });

  it('never places things in a circle', () => {
    fc.assert(
      fc.property(sentences, (text) => {
        const { subjects } = readPrompt(text);
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
        const { labelledWords, ignoredWords } = readPrompt(`${text} ${strange}`);
        const listed = [...labelledWords, ...ignoredWords];
        expect(listed).toContain(strange);
        expect(listed.every((word) => wordsOf(`${text} ${strange}`).includes(word))).toBe(true);
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

function nounsOf({ mentions }: Prompt): string[] {
  return mentions.map(({ noun }) => noun);
}

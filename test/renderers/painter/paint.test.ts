/** The painter's pictures as a user sees them: as asked, the same each time, and showing what the words say. */
import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { paint, PaintingRequestError, readPaintingRequest } from '../../../src/renderers/painter/paint.ts';
import { runs } from '../../fakes/whole.ts';

interface Pixels {
  data: Buffer;
  width: number;
  height: number;
}

/** Decodes every pixel; three bytes each. */
async function decode(png: Buffer): Promise<Pixels> {
  const { data, info } = await sharp(png, { failOn: 'warning' }).raw().toBuffer({ resolveWithObject: true });
  expect(info.channels).toBe(3);
  expect(data.length).toBe(info.width * info.height * 3);
  return { data, width: info.width, height: info.height };
}

async function painted(text: string, seed = 1, width = 192, height = 128): Promise<Pixels> {
  return decode(await paint({ text, seed, width, height }));
}

function countPixels(
  { data }: Pixels,
  matches: (red: number, green: number, blue: number) => boolean,
): number {
  let count = 0;
  for (let index = 0; index < data.length; index += 3) {
    if (matches(data[index] ?? 0, data[index + 1] ?? 0, data[index + 2] ?? 0)) count += 1;
  }
  return count;
}

function brightness({ data }: Pixels): number {
  return data.reduce((sum, value) => sum + value, 0) / data.length;
}

function contrast({ data }: Pixels): number {
  return (
    data.reduce((most, value) => Math.max(most, value), 0) -
    data.reduce((least, value) => Math.min(least, value), 255)
  );
}

const isRed = (red: number, green: number, blue: number): boolean =>
  red > 110 && red > 1.7 * green && red > 1.5 * blue;
const seeds = [1, 2, 3, 4, 5];

describe('determinism', () => {
  const request = { text: 'a lighthouse at dusk, three sailboats', seed: 7, width: 320, height: 200 };

  test('the same request gives the same bytes', async () => {
    expect((await paint(request)).equals(await paint({ ...request }))).toBe(true);
  });

  test('another seed gives another arrangement', async () => {
    const [one, other] = [
      await decode(await paint(request)),
      await decode(await paint({ ...request, seed: 8 })),
    ];
    const moved = one.data.reduce(
      (count, value, index) => count + (Math.abs(value - (other.data[index] ?? 0)) > 24 ? 1 : 0),
      0,
    );
    expect(moved / one.data.length).toBeGreaterThan(0.05);
  });

  test('another text gives another picture', async () => {
    expect((await paint(request)).equals(await paint({ ...request, text: 'entropy' }))).toBe(false);
  });
});

describe('the words show', () => {
  test.each(['rolling hills', 'the sea', 'a red house', 'a city'])(
    'night is darker than noon: %s',
    async (place) => {
      for (const seed of seeds) {
        const [night, noon] = [
          await painted(`${place} at night`, seed),
          await painted(`${place} at noon`, seed),
        ];
        expect(brightness(night) * 1.5, `seed ${seed}`).toBeLessThan(brightness(noon));
      }
    },
  );

  test('a red house is red, a blue house is blue', async () => {
    for (const seed of seeds) {
      const [red, blue] = [
        await painted('a red house in a desert at noon', seed),
        await painted('a blue house in a desert at noon', seed),
      ];
      expect(countPixels(red, isRed), `seed ${seed}`).toBeGreaterThan(2 * countPixels(blue, isRed) + 50);
    }
  });

  test('more balloons cover more of the sky', async () => {
    const cover = async (text: string): Promise<number> => {
      const counts = await Promise.all(
        seeds.map(async (seed) => countPixels(await painted(text, seed), isRed)),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    };
    const one = await cover('a red balloon over the sea at noon');
    expect(one).toBeGreaterThan(100);
    expect(await cover('nine red balloons over the sea at noon')).toBeGreaterThan(2 * one);
  });

  test('markup in a text is text: it draws nothing', async () => {
    const pixels = await painted(
      '</svg></g><rect width="9999" height="9999" fill="#ff00ff"/> a lake & <image href="file:///etc/hostname"/>',
    );
    expect(countPixels(pixels, (red, green, blue) => red > 240 && green < 16 && blue > 240)).toBe(0);
  });
});

describe('every text gives a picture', () => {
  const scenes = parse<Record<'id' | 'scene', string>>(
    readFileSync(new URL('../../../jobs/scenes.csv', import.meta.url)),
    { columns: true },
  );

  test.each(scenes.map(({ id, scene }) => [id, scene] as const))(
    'jobs/scenes.csv: %s',
    async (_id, scene) => {
      const png = await paint(readPaintingRequest({ scene }));
      const pixels = await decode(png);
      expect([pixels.width, pixels.height]).toEqual([768, 512]);
      expect(contrast(pixels)).toBeGreaterThan(60);
      expect(png.length).toBeLessThan(1_000_000);
    },
  );

  test('jobs/scenes.csv has unlike scenes with ids of their own', () => {
    expect(scenes.length).toBeGreaterThanOrEqual(20);
    expect(new Set(scenes.map(({ id }) => id)).size).toBe(scenes.length);
  });

  const seed = Math.floor(Math.random() * 2 ** 31);
  test(`300 random texts (fast-check seed ${seed})`, async () => {
    const words = fc.constantFrom(
      ...'three 12 red golden tiny giant house castle moon sea forest cat boats balloons rain snow fog storm city table apples circle planet bridge river island night dusk no without orange a the 🌈 🐑'.split(
        ' ',
      ),
    );
    const text = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 30 }),
      fc.array(words, { minLength: 1, maxLength: 14 }).map((list) => list.join(' ')),
    );
    const request = fc.record({
      text: text.filter((value) => value.trim() !== ''),
      seed: fc.maxSafeInteger(),
      width: fc.integer({ min: 16, max: 130 }),
      height: fc.integer({ min: 16, max: 130 }),
    });
    await fc.assert(
      fc.asyncProperty(request, async (asked) => {
        const pixels = await decode(await paint(asked));
        expect([pixels.width, pixels.height]).toEqual([asked.width, asked.height]);
        expect(contrast(pixels)).toBeGreaterThan(10);
      }),
      { numRuns: runs(300), seed },
    );
  });

  test.each([
    [2048, 16],
    [16, 2048],
    [16, 16],
    [512, 768],
  ])('%i × %i', async (width, height) => {
    const pixels = await painted('a castle on a hill, ten birds', 3, width, height);
    expect([pixels.width, pixels.height]).toEqual([width, height]);
    expect(contrast(pixels)).toBeGreaterThan(60);
  });

  test('100,000 characters', async () => {
    const text = 'sixty red houses, 99 blue sailboats; ﷺ and unknown words. '.repeat(1_725);
    expect(text.length).toBeGreaterThan(100_000);
    expect(contrast(await painted(text))).toBeGreaterThan(60);
  });

  const prompts = new URL('../../../../shared/data/parti-prompts.tsv', import.meta.url);
  test.skipIf(!existsSync(prompts))(
    'each sixteenth of real prompts (skipped where ../shared/data is absent)',
    async () => {
      const rows = readFileSync(prompts, 'utf8')
        .split('\n')
        .slice(1)
        .filter((row, index) => row !== '' && index % 16 === 0);
      expect(rows.length).toBeGreaterThan(90);
      for (const row of rows) {
        const [prompt = ''] = row.split('\t');
        const pixels = await decode(await paint(readPaintingRequest({ prompt, width: 64, height: 64 })));
        expect(contrast(pixels), prompt).toBeGreaterThan(40);
      }
    },
  );
});

describe('reading a request', () => {
  test('a scene alone gets the usual size and a seed from its text', () => {
    const request = readPaintingRequest({ scene: 'a lake' });
    expect(request).toMatchObject({ text: 'a lake', width: 768, height: 512 });
    expect(readPaintingRequest({ prompt: 'a lake', steps: 30 })).toEqual(request);
    expect(readPaintingRequest({ scene: 'a river' }).seed).not.toBe(request.seed);
  });

  test('what is given is taken', () => {
    const given = { seed: -3, width: 16, height: 2048 };
    const request = readPaintingRequest({ scene: 'a lake', prompt: 'no', ...given });
    expect(request).toEqual({ text: 'a lake', ...given });
  });

  test.each([
    [{}, "needs a text under 'scene' or 'prompt'"],
    [{ scene: null }, "needs a text under 'scene' or 'prompt'"],
    [{ scene: '' }, "'scene' is empty"],
    [{ prompt: ' \n' }, "'prompt' is empty"],
    [{ scene: 5 }, "'scene' must be a text, not 5"],
    [{ prompt: ['a'] }, "'prompt' must be a text, not a list"],
    [{ scene: { text: 'a' } }, "'scene' must be a text, not an object"],
    [{ scene: 'a', seed: 1.5 }, "'seed' must be a whole number, not 1.5"],
    [{ scene: 'a', seed: 2 ** 53 }, "'seed' is too large; whole numbers of up to 15 digits can be taken."],
    [{ scene: 'a', seed: '1' }, "'seed' must be a whole number, not a text"],
    [{ scene: 'a', seed: Number.NaN }, "'seed' must be a whole number, not NaN"],
    [{ scene: 'a', width: 15 }, "'width' must be a whole number of pixels from 16 to 2048, not 15"],
    [{ scene: 'a', height: 2049 }, "'height' must be a whole number of pixels from 16 to 2048, not 2049"],
    [{ scene: 'a', height: 100.5 }, "'height' must be a whole number of pixels"],
    [{ scene: 'a', width: '512' }, "'width' must be a whole number of pixels from 16 to 2048, not a text"],
    [{ scene: 'a'.repeat(1_000_001) }, 'at most 1000000 are read'],
  ])('refuses %j with a sentence', (input, sentence) => {
    expect(() => readPaintingRequest(input)).toThrow(PaintingRequestError);
    expect(() => readPaintingRequest(input)).toThrow(sentence);
  });
});

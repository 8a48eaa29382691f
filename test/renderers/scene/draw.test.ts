/** Promise: every text and size gives a picture, and the picture shows what the words say. */
import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { handler } from '../../../src/renderers/scene/handler.ts';
import { rest, runs, sampled } from '../../fakes/tier.ts';

interface Pixels {
  data: Buffer;
  width: number;
  height: number;
}

/** Decodes every pixel into three bytes. */
async function decode(png: Buffer): Promise<Pixels> {
  const { data, info } = await sharp(png, { failOn: 'warning' }).raw().toBuffer({ resolveWithObject: true });
  expect(info.channels).toBe(3);
  expect(data.length).toBe(info.width * info.height * 3);
  return { data, width: info.width, height: info.height };
}

async function drawn(input: Record<string, unknown>): Promise<Buffer> {
  const [picture] = await handler({ id: 'test', input }, { progress: () => undefined });
  return Buffer.from(picture?.rendered_image ?? '', 'base64');
}

async function pixelsOf(scene: string, seed = 1, width = 192, height = 128): Promise<Pixels> {
  return decode(await drawn({ scene, seed, width, height }));
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

const isBlack = (red: number, green: number, blue: number): boolean => red + green + blue === 0;
const isRed = (red: number, green: number, blue: number): boolean =>
  red > 110 && red > 1.7 * green && red > 1.5 * blue;
const seeds = [1, 2, 3, 4, 5];

test.each([
  ['five castles', 29],
  ['20 houses', 3],
  ['50 trees', 4],
])('by day no sky is black, wherever it is seen from: %s', async (scene, seed) => {
  expect(countPixels(await pixelsOf(scene, seed, 128, 128), isBlack)).toBe(0);
});

describe('the words show', () => {
  test.each(['rolling hills', 'the sea', 'a red house', 'a city'])(
    'night is darker than noon: %s',
    async (place) => {
      for (const seed of sampled(seeds, { ms: 100 })) {
        const [night, noon] = [
          await pixelsOf(`${place} at night`, seed),
          await pixelsOf(`${place} at noon`, seed),
        ];
        expect(brightness(night) * 1.5, `seed ${seed}`).toBeLessThan(brightness(noon));
      }
    },
  );

  test('a red house is red, a blue house is blue', async () => {
    for (const seed of sampled(seeds, { ms: 70 })) {
      const [red, blue] = [
        await pixelsOf('a red house in a desert at noon', seed),
        await pixelsOf('a blue house in a desert at noon', seed),
      ];
      expect(countPixels(red, isRed), `seed ${seed}`).toBeGreaterThan(2 * countPixels(blue, isRed) + 50);
    }
  });

  test('more balloons cover more of the sky', async () => {
    const cover = async (text: string): Promise<number> => {
      const counts = await Promise.all(
        seeds.map(async (seed) => countPixels(await pixelsOf(text, seed), isRed)),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    };
    const one = await cover('a red balloon over the sea at noon');
    expect(one).toBeGreaterThan(100);
    expect(await cover('nine red balloons over the sea at noon')).toBeGreaterThan(2 * one);
  });
});

describe('every text gives a picture', () => {
  const scenes = parse<Record<'id' | 'scene', string>>(
    readFileSync(new URL('../../../jobs/scenes.csv', import.meta.url)),
    { columns: true },
  );

  const someScenes = sampled(scenes, { ms: 400 });

  test.each(someScenes.map(({ id, scene }) => [id, scene] as const))(
    'jobs/scenes.csv: %s',
    async (_id, scene) => {
      const png = await drawn({ scene });
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
      scene: text.filter((value) => value.trim() !== ''),
      seed: fc.integer(),
      width: fc.integer({ min: 16, max: 130 }),
      height: fc.integer({ min: 16, max: 130 }),
    });
    await fc.assert(
      fc.asyncProperty(request, async (asked) => {
        const pixels = await decode(await drawn({ ...asked }));
        expect([pixels.width, pixels.height]).toEqual([asked.width, asked.height]);
        expect(contrast(pixels)).toBeGreaterThan(10);
      }),
      { numRuns: runs(300, { ms: 60 }), seed },
    );
  });

  test.each([
    [2048, 16],
    [16, 2048],
    [16, 16],
    [512, 768],
  ])('%i × %i', async (width, height) => {
    const pixels = await pixelsOf('a castle on a hill, ten birds', 3, width, height);
    expect([pixels.width, pixels.height]).toEqual([width, height]);
    expect(contrast(pixels)).toBeGreaterThan(60);
  });

  rest.it('100,000 characters', async () => {
    const text = 'sixty red houses, 99 blue sailboats; ﷺ and unknown words. '.repeat(1_725);
    expect(text.length).toBeGreaterThan(100_000);
    expect(contrast(await pixelsOf(text))).toBeGreaterThan(60);
  });

  const prompts = new URL('../../../../shared/data/parti-prompts.tsv', import.meta.url);
  test.skipIf(!existsSync(prompts))(
    'each sixteenth prompt of a real list (skipped if ../shared/data is absent)',
    async () => {
      const rows = readFileSync(prompts, 'utf8')
        .split('\n')
        .slice(1)
        .filter((row, index) => row !== '' && index % 16 === 0);
      expect(rows.length).toBeGreaterThan(90);
      for (const row of sampled(rows, { ms: 30 })) {
        const [prompt = ''] = row.split('\t');
        const pixels = await decode(await drawn({ prompt, width: 64, height: 64 }));
        expect(contrast(pixels), prompt).toBeGreaterThan(40);
      }
    },
  );
});

/**
 * Promise: scenes are drawn as the words say, identically every time. An unreadable request is rejected with
 * a message.
 */
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { handler, type RenderedPicture } from '../../../src/renderers/scene/handler.ts';

const size = { width: 96, height: 96 };
const quiet = { progress: () => undefined };

async function render(input: Record<string, unknown>): Promise<RenderedPicture[]> {
  return await handler({ id: 'test', input }, quiet);
}

async function one(input: Record<string, unknown>): Promise<RenderedPicture> {
  const [picture] = await render({ ...size, ...input });
  if (picture === undefined) throw new Error('no picture');
  return picture;
}

it('draws the same bytes every time, and others for another seed', async () => {
  const scene = 'a red ball on a blue table';
  const first = await one({ scene, seed: 3 });
  const nothing = { labelled_words: [], ignored_words: [], notes: [] };
  expect(first).toEqual({ rendered_image: expect.any(String) as string, seed: 3, ...nothing });
  expect((await one({ scene, seed: 3 })).rendered_image === first.rendered_image).toBe(true);
  expect((await one({ scene, seed: 4 })).rendered_image === first.rendered_image).toBe(false);
});

it('draws the same although Math is less exact', async () => {
  const { sin, cos, atan2, hypot } = Math;
  const input = { scene: 'two cats by a lake at dusk', seed: 5 };
  const exact = await one(input);
  const rough = (value: number): number => value * (1 + (Math.random() - 0.5) * 1e-15);
  Object.assign(Math, {
    sin: (angle: number) => rough(sin(angle)),
    cos: (angle: number) => rough(cos(angle)),
    atan2: (y: number, x: number) => rough(atan2(y, x)),
    hypot: (...sides: number[]) => rough(hypot(...sides)),
  });
  try {
    expect((await one(input)).rendered_image === exact.rendered_image).toBe(true);
  } finally {
    Object.assign(Math, { sin, cos, atan2, hypot });
  }
});

it('draws 768 × 512 with a seed from its text if nothing is given', async () => {
  const [[lake], [prompt], [river]] = await Promise.all([
    render({ scene: 'a lake', prompt: 'no' }),
    render({ prompt: 'a lake', steps: 30 }),
    render({ scene: 'a river' }),
  ]);
  const { width, height } = await sharp(bytesOf(lake)).metadata();
  expect([width, height]).toEqual([768, 512]);
  expect(prompt).toEqual(lake);
  expect(river?.seed).not.toBe(lake?.seed);
});

it('shows red things in red, and blue ones in blue', async () => {
  const red = await middleOf(await one({ scene: 'a red ball', seed: 1 }));
  const blue = await middleOf(await one({ scene: 'a blue ball', seed: 1 }));
  expect(red[0]).toBeGreaterThan(1.7 * Math.max(red[1], red[2]));
  expect(blue[2]).toBeGreaterThan(1.5 * Math.max(blue[0], blue[1]));
});

it('lets things throw shadows on the ground', async () => {
  const shaded = await darkestOf(await one({ scene: 'a white cube at noon', seed: 1 }));
  expect(shaded).toBeLessThan(0.8 * (await darkestOf(await one({ scene: 'a meadow at noon', seed: 1 }))));
});

it('makes several pictures of any form, each with a seed of its own', async () => {
  const pictures = await render({ prompt: 'two cats', seed: 11, width: 50, height: 90, images: 3 });
  expect(pictures.map(({ seed }) => seed)).toEqual([11, 12, 13]);
  expect(new Set(pictures.map(({ rendered_image }) => rendered_image)).size).toBe(3);
  const { format, width, height } = await sharp(bytesOf(pictures[0])).metadata();
  expect([format, width, height]).toEqual(['png', 50, 90]);
});

it('lists words drawn as boxes, words without an effect, and things drawn otherwise than described', async () => {
  expect(await one({ scene: '90 balls zyx and two razors', seed: 7 })).toMatchObject({
    labelled_words: ['razors'],
    ignored_words: ['zyx'],
    notes: ['No more than 50 balls are shown.'],
  });
});

it.each([
  [{}, "The input needs a text under 'scene' or 'prompt'."],
  [{ scene: null }, "needs a text under 'scene' or 'prompt'"],
  [{ scene: '  ' }, "'scene' is empty"],
  [{ prompt: ' \n' }, "'prompt' is empty"],
  [{ scene: 5 }, "'scene' must be a text, not 5"],
  [{ prompt: ['a'] }, "'prompt' must be a text, not a list"],
  [{ scene: { text: 'a' } }, "'scene' must be a text, not an object"],
  [{ scene: 'a'.repeat(1_000_001) }, 'at most 1000000 are read'],
  [{ scene: 'a cat', images: 9 }, "'images' must be a whole number from 1 to 8, not 9."],
  [{ scene: 'a cat', width: 15 }, "'width' must be a whole number of pixels from 16 to 2048, not 15."],
  [{ scene: 'a cat', height: 2049 }, "'height' must be a whole number of pixels from 16 to 2048, not 2049."],
  [{ scene: 'a cat', height: 100.5 }, "'height' must be a whole number of pixels"],
  [{ scene: 'a cat', width: '512' }, "'width' must be a whole number of pixels from 16 to 2048, not a text"],
  [{ scene: 'a cat', seed: 1.5 }, "'seed' must be a whole number, not 1.5"],
  [{ scene: 'a cat', seed: '1' }, "'seed' must be a whole number, not a text"],
  [{ scene: 'a cat', seed: 2 ** 53 }, "'seed' is too large; whole numbers of up to 15 digits can be taken."],
])('refuses %j with a message', async (input, text) => {
  await expect(render(input)).rejects.toThrow(text);
});

function bytesOf(picture: RenderedPicture | undefined): Buffer {
  return Buffer.from(picture?.rendered_image ?? '', 'base64');
}

async function middleOf(picture: RenderedPicture): Promise<[number, number, number]> {
  const middle = { left: 43, top: 50, width: 10, height: 10 };
  const { channels } = await sharp(await sharp(bytesOf(picture)).extract(middle).png().toBuffer()).stats();
  const [red, green, blue] = channels.map(({ mean }) => mean);
  return [red ?? 0, green ?? 0, blue ?? 0];
}

/** Returns the lowest brightness in the lower half of the smoothed picture. */
async function darkestOf(picture: RenderedPicture): Promise<number> {
  const lower = { left: 0, top: 52, width: 96, height: 36 };
  const ground = await sharp(bytesOf(picture)).extract(lower).greyscale().blur(1.5).png().toBuffer();
  return (await sharp(ground).stats()).channels[0]?.min ?? 0;
}

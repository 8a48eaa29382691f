/** Promise: scenes are rendered on a GPU, the same every time; without one the painter paints, and it is said. */
import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RenderedPicture } from '../../src/renderers/scene/handler.ts';
import { folderWith, root } from './cli.ts';
import {
  describeGpu,
  emptyDir,
  noGpuReason,
  packagesDir,
  render,
  rendererEnvironment,
  type Rendered,
} from './render-process.ts';
import { Served } from './served.ts';

const hasOwnPackages = existsSync(join(root, 'node_modules/webgpu'));

describe.skipIf(hasOwnPackages)('without the packages', () => {
  it('paints, and says so in the output and the log', async () => {
    const { answers, lines } = await render(
      [{ scene: 'a red ball zyx', seed: 7, width: 64, height: 48 }],
      emptyDir(),
    );
    expect(answers).toEqual([
      [
        {
          rendered_image: expect.any(String) as string,
          seed: 7,
          renderer: 'painter',
          adapter: null,
          ignored_words: ['zyx'],
          fallback_reason: 'the packages three and webgpu are not installed',
        },
      ],
    ]);
    expect(await sizeOf(firstOf(answers, 0))).toEqual([64, 48]);
    expect(lines).toEqual([expect.stringContaining('not installed')]);
  });

  it('gives each of several pictures a seed of its own', async () => {
    const { answers } = await render(
      [{ prompt: 'a tree', seed: 5, images: 3, width: 32, height: 32 }],
      emptyDir(),
    );
    expect(answers[0]).toMatchObject([{ seed: 5 }, { seed: 6 }, { seed: 7 }]);
  });

  it('names the command that brings them', async () => {
    const dir = emptyDir();
    expect(await describeGpu(dir)).toEqual({
      kind: 'painter',
      reason: 'the packages three and webgpu are not installed',
      install: `npm install --prefix ${dir} three@0.187.0 webgpu@0.6.2`,
    });
  });
});

/** Making shaders takes a software adapter long on a busy machine. */
const softwareLimitMs = 600_000;
const size = { width: 96, height: 96, samples: 4 };
const reason = await noGpuReason();
describe.skipIf(reason !== undefined)(
  `on a GPU${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    const table = { scene: 'a red ball on a blue table', seed: 3, ...size };
    let rendered: Rendered['answers'];
    beforeAll(async () => {
      const scenes = ['a red ball', 'a blue ball', 'a white cube at noon', 'a meadow at noon'];
      const inputs = [{ ...table, seed: 4 }, table, ...scenes.map((scene) => ({ scene, seed: 1, ...size }))];
      ({ answers: rendered } = await render([
        ...inputs,
        { scene: 'two cats', seed: 11, width: 50, height: 90, samples: 1, images: 3 },
        { scene: 'a red ball', seed: 1, ...size, samples: 1 },
        { scene: 'a red ball', seed: 1, ...size, samples: 12 },
      ]));
    }, softwareLimitMs);

    it(
      'renders the same bytes in another process after nothing else, and others for another seed',
      async () => {
        const { answers } = await render([table]);
        const alone = firstOf(answers, 0);
        expect(alone).toMatchObject({ renderer: 'gpu', seed: 3, ignored_words: [] });
        expect(alone.adapter).toMatch(/\w/);
        // Compared as truths: a failure would print the pictures.
        expect(firstOf(rendered, 1).rendered_image === alone.rendered_image).toBe(true);
        expect(firstOf(rendered, 0).rendered_image === alone.rendered_image).toBe(false);
      },
      softwareLimitMs,
    );

    it('shows red things in red, and blue ones in blue', async () => {
      const [red, blue] = [await middleOf(firstOf(rendered, 2)), await middleOf(firstOf(rendered, 3))];
      expect(red[0]).toBeGreaterThan(1.7 * Math.max(red[1], red[2]));
      expect(blue[2]).toBeGreaterThan(1.5 * Math.max(blue[0], blue[1]));
    });

    it('lets things throw shadows on the ground', async () => {
      expect(await darkestOf(firstOf(rendered, 4))).toBeLessThan(
        0.8 * (await darkestOf(firstOf(rendered, 5))),
      );
    });

    it('makes several pictures of any form, each another one', async () => {
      const pictures = rendered[6];
      if (!Array.isArray(pictures)) return expect.fail(JSON.stringify(pictures));
      expect(pictures.map(({ seed }) => seed)).toEqual([11, 12, 13]);
      expect(new Set(pictures.map((picture) => picture.rendered_image)).size).toBe(3);
      expect(await sizeOf(firstOf(rendered, 6))).toEqual([50, 90]);
    });

    it('looks otherwise with more samples', () => {
      const [one, few, many] = [firstOf(rendered, 7), firstOf(rendered, 2), firstOf(rendered, 8)];
      const bytes = [one, few, many].map((picture) => picture.rendered_image);
      expect(new Set(bytes).size).toBe(3);
    });

    it(
      'renders once the packages are installed, without a new start of the service',
      async () => {
        const dir = emptyDir();
        const cwd = folderWith({ 'service.yaml': 'endpoints: [{name: R, quickDeploy: scene-renderer}]' });
        const service = await Served.start(cwd, ['service.yaml'], rendererEnvironment(dir));
        const job = { ...table, width: 32, height: 32 };
        expect((await service.done('r', job)).output).toMatchObject([{ renderer: 'painter' }]);
        symlinkSync(join(packagesDir, 'node_modules'), join(dir, 'node_modules'));
        expect((await service.done('r', job)).output).toMatchObject([{ renderer: 'gpu' }]);
        await service.stop();
      },
      softwareLimitMs,
    );

    it(
      'opens a GPU anew that was lost in the middle of a picture, and renders the same',
      async () => {
        const { answers, lines } = await render([table], undefined, ['lost']);
        expect(firstOf(answers, 0).rendered_image === firstOf(rendered, 1).rendered_image).toBe(true);
        expect(lines).toEqual([expect.stringContaining('The GPU failed, and is opened anew: it was lost')]);
      },
      softwareLimitMs,
    );

    it(
      'says what GPUs refused, and renders the next job on another one',
      async () => {
        const { answers } = await render([table, table], undefined, ['lost', 'refuses']);
        expect(answers[0]).toEqual({
          error: expect.stringMatching(/^The GPU failed 2 times at this picture, .+Texture size/) as string,
        });
        expect(firstOf(answers, 1).rendered_image === firstOf(rendered, 1).rendered_image).toBe(true);
      },
      softwareLimitMs,
    );
  },
);

it.each([
  [{}, "The input needs a text under 'scene' or 'prompt'."],
  [{ scene: '  ' }, "'scene' is empty"],
  [{ scene: 'a cat', samples: 0 }, "'samples' must be a whole number from 1 to 256, not 0."],
  [{ scene: 'a cat', samples: '4' }, "'samples' must be a whole number from 1 to 256, not a text."],
  [{ scene: 'a cat', images: 9 }, "'images' must be a whole number from 1 to 8, not 9."],
  [{ scene: 'a cat', width: 15 }, "'width' must be a whole number of pixels from 16 to 2048, not 15."],
  [{ scene: 'a cat', height: 2049 }, "'height' must be a whole number of pixels from 16 to 2048, not 2049."],
  [{ scene: 'a cat', seed: 1.5 }, "'seed' must be a whole number"],
])('refuses %j in words', async (input, text) => {
  const { answers } = await render([input], emptyDir());
  expect(answers).toEqual([{ error: expect.stringContaining(text) as string }]);
});

function firstOf(answers: Rendered['answers'], job: number): RenderedPicture {
  const answer = answers[job];
  if (!Array.isArray(answer) || answer[0] === undefined)
    throw new Error(`no picture: ${JSON.stringify(answer)}`);
  return answer[0];
}

function bytesOf(picture: RenderedPicture): Buffer {
  return Buffer.from(picture.rendered_image, 'base64');
}

async function sizeOf(picture: RenderedPicture): Promise<(number | undefined)[]> {
  const { format, width, height } = await sharp(bytesOf(picture)).metadata();
  expect(format).toBe('png');
  return [width, height];
}

async function middleOf(picture: RenderedPicture): Promise<[number, number, number]> {
  const middle = { left: 43, top: 50, width: 10, height: 10 };
  const { channels } = await sharp(await sharp(bytesOf(picture)).extract(middle).png().toBuffer()).stats();
  const [red, green, blue] = channels.map(({ mean }) => mean);
  return [red ?? 0, green ?? 0, blue ?? 0];
}

/** The least brightness of the picture's lower half, smoothed. */
async function darkestOf(picture: RenderedPicture): Promise<number> {
  const lower = { left: 0, top: 52, width: 96, height: 36 };
  const ground = await sharp(bytesOf(picture)).extract(lower).greyscale().blur(1.5).png().toBuffer();
  return (await sharp(ground).stats()).channels[0]?.min ?? 0;
}

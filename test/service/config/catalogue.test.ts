/** Promise: every quick-deploy card is complete: program, requirements, input, and a working example. */
import { expect, it } from 'vitest';
import { catalogueSchema, readCatalogue } from '../../../src/service/config/check-endpoint.ts';

const catalogue = readCatalogue();

it('offers the workloads of ours, images for pictures and for texts', () => {
  expect(catalogue.map(({ id }) => id)).toEqual([
    'scene-renderer',
    'blender',
    'stable-diffusion-3',
    'stable-diffusion-xl',
    'small-language-model',
    'language-model',
  ]);
});

it.each(catalogue)('$id is complete', ({ runs, needs, input, example }) => {
  const isImage = 'image' in runs;
  expect(Object.values(needs).every((gigabytes) => gigabytes > 0)).toBe(isImage);
  expect(Object.keys(input).length).toBeGreaterThan(0);
  expect(Object.keys(example).length).toBeGreaterThan(0);
  expect(Object.keys(input)).toEqual(expect.arrayContaining(Object.keys(example)));
  expect(needs.pull).toBeLessThanOrEqual(needs.disk);
});

it.each(catalogue)('the example of $id can be pasted into a shell and into Python', ({ example }) => {
  expect(JSON.stringify(example)).not.toMatch(/'|[:,[](true|false|null)\b/);
});

it('a card has workflows whose parts are all there', () => {
  for (const { example } of catalogue) {
    const workflow = (example['workflow'] ?? {}) as Record<string, { inputs: Record<string, unknown> }>;
    const links = Object.values(workflow).flatMap(({ inputs }) =>
      Object.values(inputs).filter(Array.isArray),
    );
    for (const [node] of links) expect(workflow).toHaveProperty([String(node)]);
  }
});

it.each(['needs', 'input', 'example', 'runs', 'title', 'text', 'id'])('refuses a card without %s', (key) => {
  const cards = catalogue.map((entry) =>
    Object.fromEntries(Object.entries(entry).filter(([name]) => name !== key)),
  );
  expect(catalogueSchema.safeParse(cards).success).toBe(false);
});

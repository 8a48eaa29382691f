/** Promise: every quick-deploy card is complete: program, requirements, input, and a working example. */
import { expect, it } from 'vitest';
import { catalogueSchema, readCatalogue } from '../../../src/service/config/check-endpoint.ts';

const catalogue = readCatalogue();

it('the catalogue offers our own workloads, and images for pictures and texts', () => {
  expect(catalogue.map(({ id }) => id)).toEqual([
    'scene-renderer',
    'blender',
    'stable-diffusion-3',
    'stable-diffusion-xl',
    'small-language-model',
    'language-model',
  ]);
});

it.each(catalogue)('the card $id is complete', ({ runs, needs, input, example }) => {
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

it('the workflows of a card are complete', () => {
  for (const { example } of catalogue) {
    const workflow = (example['workflow'] ?? {}) as Record<string, { inputs: Record<string, unknown> }>;
    const links = Object.values(workflow).flatMap(({ inputs }) =>
      Object.values(inputs).filter(Array.isArray),
    );
    for (const [node] of links) expect(workflow).toHaveProperty([String(node)]);
  }
});

it.each(['needs', 'input', 'example', 'runs', 'title', 'text', 'id'])(
  'a card without %s is refused',
  (key) => {
    const cards = catalogue.map((entry) =>
      Object.fromEntries(Object.entries(entry).filter(([name]) => name !== key)),
    );
    expect(catalogueSchema.safeParse(cards).success).toBe(false);
  },
);

/** Whatever picture and seed a worker of a known kind hands in, in the digits of the body: it is found, the seed exact. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseObject } from '../../src/runner/client/parse-body.ts';
import { findPictures } from '../../src/protocol/output-shapes.ts';
import { hostileJson } from './hostile-json.ts';
import { runs } from '../fakes/whole.ts';

interface Found {
  text: string;
  seed: bigint | undefined;
}

const base64 = fc
  .uint8Array({ minLength: 60, maxLength: 120 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));
const address = fc.webUrl({ withQueryParameters: true }).filter((url) => !url.includes('"'));
const picture = fc.oneof(
  base64,
  base64.map((text) => `data:image/png;base64,${text}`),
  address,
);
const seed = fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), { nil: undefined });
const pictures = fc.array(fc.record<Found>({ text: picture, seed }), { minLength: 1, maxLength: 4 });

/** A worker's output as the JSON text that it sends, since a number would lose digits. */
const workers: Record<string, (found: Found[]) => string> = {
  "this interface's": (found) => list(found, (text, own) => `{"rendered_image": ${text}, "seed": ${own}}`),
  'Stable Diffusion v1': (found) => list(found, (text, own) => `{"image": ${text}, "seed": ${own}}`),
  'SDXL turbo': (found) =>
    `{"images": ${list(found, (text, own) => `{"image": ${text}, "seed": ${own}}`)}, "generation_time": 1.5, "parameters": {"seed": 1}}`,
  Fooocus: (found) =>
    list(found, (text, own) =>
      text.startsWith('"http')
        ? `{"base64": null, "finish_reason": "SUCCESS", "seed": "${own}", "url": ${text}}`
        : `{"base64": ${text}, "finish_reason": "SUCCESS", "seed": "${own}", "url": null}`,
    ),
  A1111: (found) => {
    const seeds = found.map(({ seed: own }) => own ?? 'null').join(', ');
    const info = JSON.stringify(`{"prompt": "a \\"seed\\": 5", "all_seeds": [${seeds}]}`);
    return `{"images": ${list(found, (text) => text)}, "info": ${info}, "parameters": {}}`;
  },
};

/** These name one seed for all pictures, or none. */
const seedless: Record<string, (found: Found[]) => string> = {
  SDXL: (found) =>
    `{"images": ${list(found, (text) => text)}, "image_url": ${JSON.stringify(found[0]?.text)}, "seed": null}`,
  'ComfyUI, 5 and later': (found) =>
    `{"images": ${list(found, (text) => `{"filename": "a.png", "type": "base64", "data": ${text}}`)}}`,
  'a list of bare texts': (found) => list(found, (text) => text),
};

const single: Record<string, (found: Found) => string> = {
  'ComfyUI, before 5': ({ text }) => `{"message": ${JSON.stringify(text)}, "status": "success"}`,
  'any, without the list': ({ text }) => `{"image": ${JSON.stringify(text)}}`,
  'one bare text': ({ text }) => JSON.stringify(text),
};

describe('any pictures are found, each with its seed, in the output of', () => {
  test.each(Object.keys(workers))('%s', (name) => {
    fc.assert(
      fc.property(pictures, (found) => {
        const expected = found.map(({ text, seed: own }) => expectedOf(text, own));
        expect(findPictures(received(workers[name]?.(found)))).toEqual({
          kind: 'pictures',
          pictures: expected,
        });
      }),
    );
  });

  test.each(Object.keys(seedless))('%s', (name) => {
    fc.assert(
      fc.property(pictures, (found) => {
        const expected = found.map(({ text }) => expectedOf(text));
        expect(findPictures(received(seedless[name]?.(found)))).toEqual({
          kind: 'pictures',
          pictures: expected,
        });
      }),
    );
  });

  test.each(Object.keys(single))('%s', (name) => {
    fc.assert(
      fc.property(fc.record<Found>({ text: picture, seed }), (found) => {
        const expected = [expectedOf(found.text)];
        expect(findPictures(received(single[name]?.(found)))).toEqual({
          kind: 'pictures',
          pictures: expected,
        });
      }),
    );
  });

  test('public Flux endpoints', () => {
    fc.assert(
      fc.property(address, (url) => {
        for (const output of [{ image_url: url, cost: 0.0025 }, { result: url }])
          expect(findPictures(output)).toEqual({ kind: 'pictures', pictures: [{ url }] });
      }),
    );
  });
});

test('a failure that a worker declares is never taken for a picture, whatever is beside it', () => {
  fc.assert(
    fc.property(hostileJson, base64, (beside, text) => {
      const output = { ...asObject(beside), status: 'error', image: text };
      expect(findPictures(output).kind).toBe('failure');
      expect(findPictures([output]).kind).toBe('failure');
    }),
  );
});

test('of any JSON, what is found is a text that stands in it, and a seed in digits', () => {
  fc.assert(
    fc.property(fc.oneof(hostileJson, fc.jsonValue({ maxDepth: 6 })), (output) => {
      const found = findPictures(output);
      if (found.kind === 'failure') expect(found.message).toMatch(/\S/);
      if (found.kind !== 'pictures') return;
      expect(found.pictures.length).toBeGreaterThan(0);
      for (const each of found.pictures) {
        const text = 'url' in each ? each.url : each.base64;
        expect(text.trim()).not.toBe('');
        expect(JSON.stringify(output)).toContain(JSON.stringify(text).slice(1, -1));
        if (each.seed !== undefined) expect(each.seed).toMatch(/^-?\d+$/);
      }
    }),
    { numRuns: runs(1000) },
  );
});

function list(found: Found[], element: (text: string, own: string) => string): string {
  return `[${found.map(({ text, seed: own }) => element(JSON.stringify(text), String(own ?? 'null'))).join(', ')}]`;
}

/** The output as the client reads it from a body. */
function received(json = ''): unknown {
  return parseObject(`{"delayTime": 1, "output": ${json}, "status": "COMPLETED"}`)?.['output'];
}

function expectedOf(text: string, own?: bigint): object {
  return {
    ...(text.startsWith('http') ? { url: text } : { base64: text }),
    ...(own !== undefined && { seed: String(own) }),
  };
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/** Promise: pictures, seeds and failures are found in the outputs of common workers. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseObject } from '../../src/runner/client/parse-body.ts';
import { findPictures } from '../../src/protocol/output-shapes.ts';
import { hostileJson } from './hostile-json.ts';
import { runs } from '../fakes/tier.ts';

const base64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const second = `${base64.slice(0, 60)}AAAA${base64.slice(60)}`;
const uri = `data:image/png;base64,${base64}`;
const url = 'https://cdn.example/out/1.png?sig=a%2Fb';

describe('pictures are found in the output of', () => {
  test.each<[string, unknown, object[]]>([
    ["this interface's worker", [{ rendered_image: base64, seed: 42 }], [{ base64, seed: '42' }]],
    [
      "this interface's worker, several",
      [
        { rendered_image: base64, seed: 1 },
        { rendered_image: second, seed: 2 },
      ],
      [
        { base64, seed: '1' },
        { base64: second, seed: '2' },
      ],
    ],
    [
      "this interface's worker, as a data URI",
      [{ rendered_image: uri, seed: 0 }],
      [{ base64: uri, seed: '0' }],
    ],
    [
      "this interface's worker, without the list",
      { rendered_image: base64, seed: -1 },
      [{ base64, seed: '-1' }],
    ],
    ['Stable Diffusion v1', [{ image: base64, seed: 7 }], [{ base64, seed: '7' }]],
    ['Stable Diffusion v1 with storage', [{ image: url, seed: 7 }], [{ url, seed: '7' }]],
    ['SDXL', { images: [uri], image_url: uri, seed: 1234 }, [{ base64: uri, seed: '1234' }]],
    [
      'SDXL, several',
      { images: [uri, second], image_url: uri, seed: 5 },
      [
        { base64: uri, seed: '5' },
        { base64: second, seed: '5' },
      ],
    ],
    ['SDXL with storage', { images: [url], image_url: url, seed: 5 }, [{ url, seed: '5' }]],
    [
      'SDXL turbo',
      {
        images: [
          { image: base64, seed: null },
          { image: second, seed: 3 },
        ],
        generation_time: 1.2,
        parameters: { seed: 99, prompt: 'a sea' },
      },
      [{ base64 }, { base64: second, seed: '3' }],
    ],
    [
      'ComfyUI, 5 and later',
      {
        images: [
          { filename: 'ComfyUI_00001_.png', type: 'base64', data: base64 },
          { filename: 'ComfyUI_00002_.png', type: 'base64', data: second },
        ],
      },
      [{ base64 }, { base64: second }],
    ],
    [
      'ComfyUI, 5 and later, with storage and warnings',
      { images: [{ filename: 'a.png', type: 's3_url', data: url }], errors: ['node 9 was skipped'] },
      [{ url }],
    ],
    ['ComfyUI, before 5', { message: base64, status: 'success', refresh_worker: true }, [{ base64 }]],
    ['ComfyUI, before 5, with storage', { message: url, status: 'success' }, [{ url }]],
    [
      'A1111',
      {
        images: [base64, second],
        info: '{"prompt": "say \\"seed\\": 5", "seed": 10, "all_seeds": [10, 11], "index_of_first_image": 0}',
        parameters: { seed: -1 },
      },
      [
        { base64, seed: '10' },
        { base64: second, seed: '11' },
      ],
    ],
    [
      'A1111 with a contact sheet',
      { images: [uri, base64], info: '{"seed": 10, "all_seeds": [10], "index_of_first_image": 1}' },
      [{ base64: uri }, { base64, seed: '10' }],
    ],
    [
      'A1111 with a seed alone',
      { images: [base64], info: '{"seed": 10}', parameters: {} },
      [{ base64, seed: '10' }],
    ],
    ['A1111 with unreadable info', { images: [base64], info: '{"seed": 10', parameters: {} }, [{ base64 }]],
    [
      'Fooocus',
      [
        { base64, finish_reason: 'SUCCESS', seed: '1234567890123456789', url: null },
        { base64: null, finish_reason: 'SUCCESS', seed: '8', url },
        { base64: second, finish_reason: 'SUCCESS', seed: '9', url },
      ],
      [
        { base64, seed: '1234567890123456789' },
        { url, seed: '8' },
        { base64: second, seed: '9' },
      ],
    ],
    [
      'a worker with a bucket',
      { image_url: url, images_urls: [url, `${url}&n=2`], seed: 5 },
      [
        { url, seed: '5' },
        { url: `${url}&n=2`, seed: '5' },
      ],
    ],
    ['another with a bucket', { image_urls: [url], seeds: [6] }, [{ url, seed: '6' }]],
    ['a third with a bucket', { urls: [url] }, [{ url }]],
    ['a public Flux endpoint', { image_url: url, cost: 0.0025 }, [{ url }]],
    ['a public Flux endpoint, the other way', { result: url, cost: 0.0025 }, [{ url }]],
    [
      'a worker that yields parts',
      [{ images: [base64] }, { images: [second] }],
      [{ base64 }, { base64: second }],
    ],
    ['a worker that hands in bare base64', base64, [{ base64 }]],
    ['a worker that hands in a bare data URI', uri, [{ base64: uri }]],
    ['a worker that hands in a bare address', ` ${url}\n`, [{ url }]],
    ['a worker that hands in a list of these', [base64, url], [{ base64 }, { url }]],
    ['a worker that says something beside', [{ rendered_image: base64 }, { warning: 'slow' }], [{ base64 }]],
    ['a worker with an empty error beside', { image: base64, error: null, errors: [] }, [{ base64 }]],
  ])('%s', (_worker, output, pictures) => {
    expect(findPictures(output)).toEqual({ kind: 'pictures', pictures });
  });
});

describe('a seed is kept', () => {
  const big = '18446744073709551615';
  test.each<[string, unknown, string | undefined]>([
    ['as an integer', 0, '0'],
    ['as a negative integer', -1, '-1'],
    ['as a numeric text', '00123', '00123'],
    ['as a long numeric text', big, big],
    ['as a numeric text with a fraction of zero', '42.0', '42'],
    ['not if it is null', null, undefined],
    ['not if it is a word', 'random', undefined],
    ['not if it is empty', '', undefined],
    ['not if it has a fraction', 1.5, undefined],
    ['not if its digits are lost', 2 ** 63, undefined],
    ['not if it is an object', { value: 3 }, undefined],
    ['not if an object poses as a number', { isLosslessNumber: true, toString: 1 }, undefined],
    ['not if it is endless', '9'.repeat(1000), undefined],
  ])('%s', (_how, seed, expected) => {
    expect(seedOf([{ rendered_image: base64, seed }])).toBe(expected);
  });

  test('in the digits of the body, for any 64-bit integer and in every place', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }), (seed) => {
        const bodies = [
          `[{"rendered_image": "${base64}", "seed": ${seed}}]`,
          `{"images": ["${base64}"], "seed": ${seed}}`,
          `{"images": ["${base64}"], "info": "{\\"prompt\\": \\"1.5e3 \\\\\\" 12345678901234567890\\", \\"all_seeds\\": [${seed}]}"}`,
          `{"images": ["${base64}"], "info": "{\\"seed\\":${seed},\\"cfg\\":7.5}"}`,
        ];
        for (const body of bodies) expect(seedOf(asReceived(body))).toBe(String(seed));
      }),
    );
  });
});

describe('words that a picture does not show', () => {
  test.each<[string, unknown, object]>([
    [
      'beside each picture',
      [{ rendered_image: base64, labelled_words: ['harmonica'], ignored_words: ['8k'], notes: [] }],
      { labelled_words: ['harmonica'], ignored_words: ['8k'], notes: [] },
    ],
    ['around all pictures', { images: [base64], ignored_words: ['8k'] }, { ignored_words: ['8k'] }],
    [
      'on one line, without what is no text',
      [{ image: base64, notes: [' a\n\u001Bb', 7, null, ''] }],
      { notes: ['a b'] },
    ],
  ])('are kept: %s', (_, output, kept) => {
    expect(findPictures(output)).toEqual({ kind: 'pictures', pictures: [{ base64, output: kept }] });
  });

  test.each(['a, b', { a: 'b' }, 7, null])('are none if %j stands in place of a list', (words) => {
    const output = [{ image: base64, labelled_words: words, notes: words }];
    expect(findPictures(output)).toEqual({ kind: 'pictures', pictures: [{ base64 }] });
  });

  test('are kept to 2,000 bytes, the labelled ones first', () => {
    const words = Array.from({ length: 100_000 }, (_, i) => `nº${i}`);
    const found = findPictures([{ image: base64, ignored_words: words, labelled_words: ['harmonica'] }]);
    const [{ output = {} } = {}] = found.kind === 'pictures' ? found.pictures : [];
    expect(output.labelled_words).toEqual(['harmonica']);
    expect(output.ignored_words).toEqual(words.slice(0, output.ignored_words?.length));
    const bytes = Buffer.byteLength(JSON.stringify(output));
    expect([bytes > 1_900, bytes <= 2_000]).toEqual([true, true]);
  });
});

describe('a failure inside a completed job is reported with its own text', () => {
  const traceback = 'Traceback (most recent call last):\n  File "/worker.py", line 9\nValueError: bad size';
  test.each<[string, unknown, string]>([
    ['a status', { status: 'error', message: 'no GPU left' }, 'no GPU left'],
    ['a status in a list', [{ status: 'failed', error: 'no GPU left' }], 'no GPU left'],
    ['a status alone', { status: 'error' }, 'the worker says only "error"'],
    ['a status beside a picture', { status: 'error', image: base64, message: 'blocked' }, 'blocked'],
    ['no images', { status: 'success_no_images', images: [] }, 'the worker says only "success_no_images"'],
    [
      'an empty list of images',
      { images: [], parameters: {} },
      'the worker made no picture: its list of images is empty',
    ],
    ['a code', [{ code: 400, message: 'prompt is required' }], 'prompt is required (code 400)'],
    ['a code in a body', asReceived('[{"code": 500, "detail": "x"}]'), 'x (code 500)'],
    ['an error', { error: 'CUDA out of memory' }, 'CUDA out of memory'],
    [
      'an error as JSON in a text',
      JSON.stringify({ error_type: 'RuntimeError', error_message: 'bad size', error_traceback: traceback }),
      'RuntimeError: bad size',
    ],
    ['a traceback alone', { traceback }, 'ValueError: bad size'],
    ['an error beside empty images', { images: [], errors: ['VAE is missing'] }, 'VAE is missing'],
    ['an error in a list', [{ error: 'CUDA out of memory' }], 'CUDA out of memory'],
    ['errors of several parts', [{ error: 'no VAE' }, { depth: 3 }, { error: 'no GPU' }], 'no VAE; no GPU'],
    [
      'an error without words',
      { errors: true, depth: 3 },
      'an object with "errors" (boolean), "depth" (number)',
    ],
    ['a text', 'Error: CUDA out of memory', 'Error: CUDA out of memory'],
    ['a text in a list', ['Failed to load the model'], 'Failed to load the model'],
    [
      'a message that is no picture',
      { message: 'Image generation failed', status: 'success' },
      'Image generation failed',
    ],
  ])('%s', (_how, output, message) => {
    expect(findPictures(output)).toEqual({ kind: 'failure', message });
  });

  test.each<[string, unknown]>([
    ['ComfyUI, before 5', { message: 'simulated_uploaded/x.png', status: 'success' }],
    ['Stable Diffusion v1', [{ image: 'simulated_uploaded/x.png', seed: 3 }]],
    ['SDXL', { images: ['/tmp/out/a.webp'], seed: 3 }],
    ['ComfyUI, 5 and later', { images: [{ filename: 'a.png', type: 's3_url', data: 'C:\\out\\a.jpg' }] }],
    ['one picture of two', [{ image: base64 }, { image: 'simulated_uploaded/x.png' }]],
    ['a bare text', 'simulated_uploaded/x.png'],
    ['an address in a bucket', { message: 'done', output: 's3://renders/a.png' }],
  ])('what lies where only the worker can read it is no failure of its job: %s', (_worker, output) => {
    const found = findPictures(output);
    expect(found).toEqual({
      kind: 'unknown',
      found: expect.stringMatching(/^".*[ax]\.\w+", which only the worker can read$/),
      advice: expect.stringContaining('https address'),
    });
  });
});

describe('an output that is no picture is named', () => {
  test.each([undefined, null, [], {}, '', ' \n'])('%j is none', (output) => {
    expect(findPictures(output)).toEqual({ kind: 'none' });
  });

  test.each<[unknown, string]>([
    [{ answer: 'yes', tokens: 3 }, 'an object with "answer" (text of 3 characters), "tokens" (number)'],
    [
      [{ rendered_image: '', seed: 3 }],
      'a list of 1, the first of them an object with "rendered_image" (empty text), "seed" (number)',
    ],
    [[null], 'a list of 1, the first of them null'],
    [[{}], 'a list of 1, the first of them an object with no keys'],
    [42, 'number'],
    [true, 'boolean'],
    [
      { title: 'A failed castle', depth: 3 },
      'an object with "title" (text of 15 characters), "depth" (number)',
    ],
    [[[[[[7]]]]], `${'a list of 1, the first of them '.repeat(3)}list of 1`],
    [{ status: 'success' }, 'an object with "status" (text of 7 characters)'],
    [{ status: 'moderated', seed: 3 }, 'an object with "status" (text of 9 characters), "seed" (number)'],
    [
      { message: 'done', result_url: 'https://cdn.example/7' },
      'an object with "message" (text of 4 characters), "result_url" (text of 21 characters)',
    ],
    [{ message: 'x '.repeat(501) }, 'an object with "message" (text of 1002 characters)'],
    [{ message: 'two', a: base64, b: { c: second } }, '2 pictures, at a, b.c'],
    [{ message: 'two', a: url, b: [url] }, '2 pictures, at a, b[0]'],
  ])('%j', (output, found) => {
    expect(findPictures(output)).toMatchObject({ kind: 'unknown', found });
  });

  test('shortly, however large it is', () => {
    const keys = Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [`${'key'.repeat(50)}${i}`, 'x'.repeat(999)]),
    );
    for (const output of [
      keys,
      [keys, keys],
      'words and words '.repeat(500_000),
      { error: 'words '.repeat(500_000) },
    ])
      expect(JSON.stringify(findPictures(output)).length).toBeLessThan(800);
  });

  test('however deep it is, in itself and in a text', () => {
    const json = '['.repeat(10_000) + ']'.repeat(10_000);
    for (const output of [JSON.parse(json) as unknown, json, [{ image: base64, info: json }]])
      expect(['pictures', 'unknown']).toContain(findPictures(output).kind);
  });
});

describe('imagePath', () => {
  const output = {
    preview: base64,
    result: { frames: [{ png: second, seed: 4 }, { png: url }] },
    images: [{ data: base64 }, { data: second }],
    seed: 9,
  };
  test.each<[string, object[]]>([
    ['images[0].data', [{ base64, seed: '9' }]],
    ['images[1].data', [{ base64: second, seed: '9' }]],
    [
      'images[*].data',
      [
        { base64, seed: '9' },
        { base64: second, seed: '9' },
      ],
    ],
    [
      'result.frames[*].png',
      [
        { base64: second, seed: '4' },
        { url, seed: '9' },
      ],
    ],
    ['preview', [{ base64, seed: '9' }]],
  ])('%s overrides what would be found', (path, pictures) => {
    expect(findPictures(output, path)).toEqual({ kind: 'pictures', pictures });
  });

  test('may begin with the list itself, and end at one', () => {
    const list = [{ rendered_image: base64, thumb: second, seed: 1 }];
    expect(findPictures(list, '[0].thumb')).toEqual({
      kind: 'pictures',
      pictures: [{ base64: second, seed: '1' }],
    });
    expect(findPictures({ all: [base64, second] }, 'all')).toEqual({
      kind: 'pictures',
      pictures: [{ base64 }, { base64: second }],
    });
  });

  test('that leads nowhere is reported, with the value found there', () => {
    for (const path of [
      'images[7].data',
      'images[0].picture',
      'images.data',
      'nothing',
      '[0]',
      'toString',
      '..',
      '[x]',
    ])
      expect(findPictures(output, path)).toEqual({
        kind: 'unknown',
        found: expect.stringMatching(
          /^nothing at ".+" in an object with "preview" \(text of \d+ characters\)/,
        ),
      });
  });

  test('does not hide a failure', () => {
    const failed = { status: 'error', message: 'no GPU left' };
    expect(findPictures(failed, 'images[0].data')).toEqual({ kind: 'failure', message: 'no GPU left' });
    expect(findPictures({ error: 'no GPU left' }, 'images[0].data')).toEqual({
      kind: 'failure',
      message: 'no GPU left',
    });
    expect(findPictures(null, 'images[0].data')).toEqual({ kind: 'none' });
  });
});

describe('the only picture of an output is found by its first bytes', () => {
  const jpeg = Buffer.concat([Buffer.from('ffd8ffe000104a464946', 'hex'), Buffer.alloc(90, 7)]);
  const octets = `data:application/octet-stream;base64,${base64}`;
  test.each<[string, unknown, object]>([
    [
      'under a key of its own',
      { image_base64: base64, seed: 7 },
      { at: 'image_base64', pictures: [{ base64, seed: '7' }] },
    ],
    ['beside words and an empty place', { message: 'ready', image: null, art: base64 }, { at: 'art' }],
    [
      'nested',
      { output: { frames: [{ png: base64, seed: 3 }] } },
      { at: 'output.frames[0].png', pictures: [{ base64, seed: '3' }] },
    ],
    ['as JPEG', { file: jpeg.toString('base64') }, { at: 'file' }],
    ['in lines', { file: base64.replaceAll(/.{30}/g, '$&\n') }, { at: 'file' }],
    ['as a data URI of any type', { file: octets }, { at: 'file', pictures: [{ base64: octets }] }],
    ['as an SVG', { drawing: '<?xml version="1.0"?><svg width="3"/>' }, { at: 'drawing' }],
    ['rather than a name in a known place', { image: 'a windmill', png: base64 }, { at: 'png' }],
    ['beside its address', { a: base64, b: url }, { at: 'a' }],
    [
      'as an address',
      { picture: url, help: 'https://docs.example/' },
      { at: 'picture', pictures: [{ url }] },
    ],
    [
      'in JSON within a text',
      { result: JSON.stringify({ art: base64, seed: 7 }) },
      { at: 'result.art', pictures: [{ base64, seed: '7' }] },
    ],
    ['beside what was sent', { input: { picture: url }, init_image: url, art: url }, { at: 'art' }],
  ])('%s', (_where, output, found) => {
    expect(findPictures(output)).toMatchObject({ kind: 'pictures', ...found });
    const { at = '' } = found as { at?: string };
    expect(findPictures(output, at)).toMatchObject({ kind: 'pictures' });
  });

  test('and a known shape within JSON within a text is that shape', () => {
    const output = JSON.stringify([
      { image: base64, seed: 1 },
      { image: second, seed: 2 },
    ]);
    expect(findPictures(output)).toMatchObject({ pictures: [{ seed: '1' }, { base64: second, seed: '2' }] });
    expect(findPictures(output, '[1].image')).toMatchObject({ pictures: [{ base64: second }] });
    expect(findPictures(JSON.stringify({ art: base64 }))).toMatchObject({ at: 'art' });
  });

  test.each<[string, unknown]>([
    ['JSON in JSON', { result: JSON.stringify({ art: JSON.stringify({ b: base64 }) }) }],
    ['a hash', { sha256: 'ab'.repeat(32) }],
    ['latents', { latents: Buffer.alloc(600, 3).toString('base64') }],
  ])('but in nothing else: %s', (_what, output) => {
    expect(findPictures(output).kind).toBe('unknown');
  });

  test('unless the user says where it is', () => {
    expect(findPictures({ image_base64: base64 }, 'image_base46')).toMatchObject({ kind: 'unknown' });
  });
});

describe('words are a failure in the words of the worker, whatever they are', () => {
  test.each<[unknown, string]>([
    [{ message: 'NSFW content detected' }, 'NSFW content detected'],
    [{ status: 'Request Moderated', result: null }, 'Request Moderated'],
    [{ status: 'blocked', reason: 'content policy' }, 'content policy'],
    [{ status: 'blocked', images: [] }, 'blocked'],
    [{ success: false, message: 'LoRA address has lapsed' }, 'LoRA address has lapsed'],
    [{ status: 'success', message: 'done', seed: 3 }, 'done'],
    [{ detail: [{ msg: 'prompt is required' }] }, 'prompt is required'],
    ['Worker is busy, try again later', 'Worker is busy, try again later'],
    [['no', 'thanks'], 'no; thanks'],
    [JSON.stringify({ message: 'blocked' }), 'blocked'],
    [{ has_nsfw_concepts: [true], images: [] }, 'has_nsfw_concepts: true'],
    [
      { error: `CUDA out of memory ${'x '.repeat(600)}`, help: 'https://docs.example/' },
      'CUDA out of memory',
    ],
  ])('%j', (output, message) => {
    expect(findPictures(output)).toEqual({ kind: 'failure', message: expect.stringContaining(message) });
    expect(findPictures(output, 'images[0]')).toMatchObject({ kind: 'failure' });
  });
});

test('an output of very many parts is searched from its end, where the picture is', () => {
  let looks = 0;
  const first = {
    get images() {
      looks += 1;
      return [];
    },
  };
  const parts = [first, ...Array.from({ length: 20_000 }, (_, step) => ({ step })), { images: [base64] }];
  expect(findPictures(parts)).toEqual({ kind: 'pictures', pictures: [{ base64 }] });
  expect(looks).toBe(0);
});

test('a failure that a worker declares is never taken for a picture, whatever is beside it', () => {
  fc.assert(
    fc.property(hostileJson, (beside) => {
      const output = { ...asObject(beside), status: 'error', image: base64 };
      expect(findPictures(output).kind).toBe('failure');
      expect(findPictures([output]).kind).toBe('failure');
    }),
  );
});

test('any picture that is found in random JSON is a text in it, and a seed has its digits', () => {
  const path = fc.option(fc.string(), { nil: undefined });
  fc.assert(
    fc.property(fc.oneof(hostileJson, fc.jsonValue({ maxDepth: 6 })), path, (output, imagePath) => {
      findPictures(JSON.stringify(output));
      findPictures([{ image: base64, seed: output, info: output }]);
      const found = findPictures(output, imagePath);
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
    { numRuns: runs(1000, { ms: 0.6 }) },
  );
});

/** Returns an output as the client reads it from a response body. */
function asReceived(json: string): unknown {
  return parseObject(`{"output": ${json}}`)?.['output'];
}

function seedOf(output: unknown): string | undefined {
  const found = findPictures(output);
  return found.kind === 'pictures' ? found.pictures[0]?.seed : expect.fail(found.kind);
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

/**
 * Promise: the provenance of a picture is read exactly as written, and no other metadata is mistaken for it.
 */
import { describe, expect, it } from 'vitest';
import type { Submitted } from '../../../src/runner/core/attempt.ts';
import {
  isOriginOf,
  parametersText,
  provenanceJson,
  provenanceOf,
  readOrigin,
} from '../../../src/runner/core/provenance.ts';

const input = { prompt: 'a pier', steps: 30, photo: ['A'.repeat(20_000), null, 7] };
const attempt = {
  sceneId: 'pier',
  input,
  job: {
    jobId: 'job-1',
    endpoint: { baseUrl: 'https://api.example.com', id: 'ep', version: 'v2' },
  },
} as unknown as Submitted;
const output = { labelled_words: ['gull'], rest: { nsfw: 0.1 } };
const writer = { program: 'nightrender 1.2.3', rules: 3 } as const;
const written = provenanceJson(provenanceOf(attempt, 1, { seed: '7', output }), writer);

describe('of a picture', () => {
  it('is read as it was written, with the longest texts of its job truncated', () => {
    const { endpoint, jobId } = attempt.job;
    const origin = readOrigin(written);
    expect(origin).toEqual({
      scene: 'pier',
      input: { ...input, photo: [`${'A'.repeat(100)}… (19,900 characters left out)`, null, 7] },
      seed: '7',
      number: 2,
      jobId,
      endpoint,
      rules: 3,
      output,
    });
    expect(origin && isOriginOf(origin, { id: 'pier', input })).toBe(true);
    expect(origin && isOriginOf(origin, { id: 'pier-2', input })).toBe(false);
    expect(origin && isOriginOf(origin, { id: 'pier', input: { ...input, steps: 31 } })).toBe(false);
  });

  it('need not name a seed, an output or rules, and may have been written by a later version', () => {
    expect(provenanceJson(provenanceOf(attempt, 0, {}), writer)).not.toHaveProperty('output');
    const bare = { ...written, seed: null, output: undefined, rules: undefined };
    expect(readOrigin(bare)).toMatchObject({ seed: null, output: undefined, rules: 2 });
    expect(readOrigin({ ...written, rules: 99 })).not.toHaveProperty('rules');
    expect(readOrigin({ ...written, rules: '3' })).not.toHaveProperty('rules');
    const odd = { ...output, notes: ['x', 7], ignored_words: 'gull', rest: [] };
    expect(readOrigin({ ...written, output: odd })?.output).toEqual({ labelled_words: ['gull'] });
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a text', 'pier'],
    ['of another form', { ...written, formatVersion: 2 }],
    ['without an endpoint', { ...written, endpoint: 'https://api.example.com' }],
    ['of an endpoint without an address', { ...written, endpoint: { id: 'ep', version: 'v2' } }],
    ['of an endpoint without an id', { ...written, endpoint: { baseUrl: 'local', version: 'v2' } }],
    ['of an unknown interface', { ...written, endpoint: { baseUrl: 'local', id: 'ep', version: 'v3' } }],
    ['without a scene', { ...written, scene: 7 }],
    ['without a number', { ...written, number: '2' }],
    ['without a job', { ...written, jobId: null }],
    ['without an input', { ...written, input: 'a pier' }],
  ])('is none if it is %s', (_, json) => {
    expect(readOrigin(json)).toBeUndefined();
  });
});

describe('for programs around image models', () => {
  const text = (sent: object, seed?: string): string[] =>
    parametersText(
      provenanceOf({ ...attempt, input: sent } as Submitted, 0, seed === undefined ? {} : { seed }),
      { width: 640, height: 480 },
      'nightrender',
    ).split('\n');
  const end = 'Size: 640x480, Job: job-1, Endpoint: https://api.example.com ep, Version: nightrender';

  it('names known facts by their names, and quotes texts that would break the line', () => {
    const sent = { prompt: 'a pier', Steps: 30, guidance_scale: 7.5, hires: true, lora: 'a, b', width: 640 };
    expect(text({ ...sent, negative_prompt: 'people', list: [1] }, '7')).toEqual([
      'a pier',
      'Negative prompt: people',
      `Steps: 30, CFG scale: 7.5, hires: true, lora: "a, b", Seed: 7, ${end}`,
    ]);
  });

  it('has no line for a missing fact', () => {
    expect(text({ steps: 30, negative_prompt: 7 })).toEqual([`Steps: 30, ${end}`]);
    expect(text({ prompt: 'a pier', negative_prompt: '' })).toEqual(['a pier', end]);
  });
});

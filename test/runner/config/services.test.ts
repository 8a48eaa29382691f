/** Promise: the description of a service sets the base URL, hosts, limits and retention of a run. */
import { describe, expect, it } from 'vitest';
import { configOf, problemsOf } from './pipeline-file.ts';

const at = (endpoint: string, more = ''): string => `manifest: scenes.csv
endpoint: ${endpoint}
output: { dir: renders, hosts: [cdn.example] }
${more}`;

const fal = "{ speaks: fal, id: fal-ai/flux/dev, apiKey: '${FAL_KEY}' }";
const replicate = "{ speaks: replicate, id: owner/name, apiKey: '${TOKEN}' }";
const comfyui =
  "{ speaks: comfyui, baseUrl: 'http://box:8188', workflow: flow.json, set: { '6.text': '{{ prompt }}' } }";
const env = { FAL_KEY: 'a-key', TOKEN: 'a-token' };
const node = { class_type: 'CLIPTextEncode', inputs: { text: '', clip: ['4', 1] } };
const flow = (value: unknown, indent?: number): Record<string, string> => ({
  'flow.json': `\uFEFF${JSON.stringify(value, undefined, indent)}\n`,
});

describe('a service that is known', () => {
  it('has the place of its jobs, pictures and results from its description', () => {
    const config = configOf(at(fal), { env });
    expect(config.endpoint).toEqual({
      baseUrl: 'https://queue.fal.run',
      id: 'fal-ai/flux/dev',
      version: 'fal',
    });
    expect(config.output.hosts).toEqual(expect.arrayContaining(['cdn.example', 'fal.media', '*.fal.media']));
    expect(config.keepsMs).toBe(30 * 86_400_000);
    // Only the archive of the service keeps results for 30 days. A custom `baseUrl` has no archive, so the
    // default of 30 minutes applies.
    const proxied = fal.replace('fal,', 'fal, baseUrl: https://proxy.example/fal,');
    expect(configOf(at(proxied), { env }).keepsMs).toBe(30 * 60_000);
    expect(configOf(at(replicate), { env }).output.hosts).toEqual(
      expect.arrayContaining(['replicate.delivery', '*.replicate.delivery']),
    );
  });

  it('is sent no more at once and a second than it allows, and less if the pipeline says so', () => {
    const { rate } = configOf(at(replicate), { env });
    expect([rate.submit.perTenSeconds, rate.status.perTenSeconds]).toEqual([100, 500]);
    const slower = configOf(at(replicate, 'rate: { submit: { perTenSeconds: 7 } }'), { env });
    expect(slower.rate.submit.perTenSeconds).toBe(7);
    expect(configOf(at(comfyui), { files: flow({ 6: node }) }).concurrency).toBe(8);
    expect(configOf(at(comfyui, 'concurrency: 2'), { files: flow({ 6: node }) }).concurrency).toBe(2);
  });

  it('suggests more concurrency only if it may bring more workers', () => {
    const most = (text: string, files = {}) => configOf(text, { env, files }).maxConcurrency;
    const jobsAt = (baseUrl: string): string => at(`{ baseUrl: '${baseUrl}', id: x, apiKey: '\${TOKEN}' }`);
    expect(most(jobsAt('https://api.runpod.ai'))).toBe(10_000);
    for (const own of [
      'http://127.0.0.1:8000',
      'http://localhost:8000',
      'https://10.1.2.3',
      'https://gpu',
      'https://[fd00::1]',
    ])
      expect([own, most(jobsAt(own))]).toEqual([own, 0]);
    expect(most(at('{ baseUrl: local, id: scene-renderer }'))).toBe(0);
    expect(most(at(comfyui), flow({ 6: node }))).toBe(0);
  });

  it('has no path of a price if it states none', () => {
    const [problem] = problemsOf(at(comfyui, 'pricing: { at: cost }'), { files: flow({ 6: node }) });
    expect(problem).toContain('perSecond or perPicture in its place: ComfyUI states no price');
  });

  it('does not get the key of another service', () => {
    const problems = problemsOf(at(fal.replace(", apiKey: '${FAL_KEY}'", '')), {
      env: { NIGHTRENDER_API_KEY: 'of another' },
    });
    expect(problems.join()).toContain('write apiKey: ${FAL_KEY}');
  });
});

it('a workflow that was changed makes other scenes, and only then', () => {
  const textOf = (files: Record<string, string>): string | undefined =>
    configOf(at(comfyui), { files }).input?.text;
  const first = textOf(flow({ 6: node }));
  expect(textOf(flow({ 6: node }, 2))).toBe(first);
  expect(textOf(flow({ 6: { ...node, inputs: { text: 'a', clip: ['4', 1] } } }))).not.toBe(first);
});

describe('a description with', () => {
  const description = `submit: { post: '{{ baseUrl }}/jobs', job: id }
status: { get: '{{ baseUrl }}/jobs/{{ job.id }}', at: state, map: { done: done } }
`;
  const own = "{ speaks: own.yaml, baseUrl: 'https://jobs.example', apiKey: '${TOKEN}' }";

  it.each([
    ['a body without the input', 'body: { a: 1 }, job: id', 'submit.body needs {{ input }}'],
    ['the input within a text', "body: 'x {{ input }}', job: id", 'submit.body needs {{ input }}'],
    ['the input in a header', "headers: { X-A: '{{ input }}' }, job: id", 'has the placeholder {{ input }}'],
    [
      'a header about the connection',
      'headers: { Transfer-Encoding: chunked }, job: id',
      'Transfer-Encoding',
    ],
    ['a header of two lines', 'headers: { X-A: "a\\nb" }, job: id', 'a text on one line'],
    [
      'a variable that plan would show',
      "headers: { X-A: '${SECRET}' }, job: id",
      'takes no environment variable',
    ],
    ['a path that leads nowhere', "job: 'a[*'", 'a path such as'],
    ['a long path that ends in a dot', `job: ${'a'.repeat(32)}.`, 'a path such as'],
    ['a time for a key that is not sent', 'remembers: 1h, job: id', 'needs {{ idempotencyKey }}'],
  ])('%s is refused', (_, keys, words) => {
    const files = { 'own.yaml': description.replace('job: id', keys) };
    expect(problemsOf(at(own), { env: { ...env, SECRET: 'x' }, files }).join('\n')).toContain(words);
  });
});

it.each([
  ['https://api.runpod.ai', ['image.runpod.ai', 'video.runpod.ai', 'audio.runpod.ai']],
  ['https://api.runpod.ai.example', []],
  ['http://api.runpod.ai', []],
  ['local', []],
])('knows the hosts of the pictures of public endpoints at %s', (baseUrl, hosts) => {
  const config = configOf(at(`{ baseUrl: '${baseUrl}', id: scene-renderer, apiKey: '\${TOKEN}' }`), { env });
  expect(config.output.hosts).toEqual(['cdn.example', ...hosts]);
});

it('warns if the run gives a job up before the time that its `policy` allows', () => {
  const jobs = (more: string): string =>
    at(
      `{ baseUrl: 'https://api.example', id: a, apiKey: '\${FAL_KEY}', policy: { executionTimeout: 40m } }`,
      more,
    );
  expect(configOf(jobs(''), { env }).warnings).toEqual([expect.stringContaining('`timeouts.execution`')]);
  expect(configOf(jobs('timeouts: { execution: 45m }'), { env }).warnings).toEqual([]);
});

it('`policy` is for job services only, with durations', () => {
  const jobs = (policy: string): string =>
    at(`{ baseUrl: 'https://api.example', id: a, apiKey: '\${FAL_KEY}', policy: ${policy} }`);
  expect(problemsOf(jobs('{ executionTimeout: 600000 }'), { env })).toEqual([
    expect.stringContaining('a duration from 1s to 7d'),
  ]);
  expect(problemsOf(jobs('{ executionTimout: 30m }'), { env })).toEqual([
    expect.stringContaining('executionTimout'),
  ]);
  expect(problemsOf(at(fal.replace('id:', 'policy: { ttl: 1h }, id:')), { env })).toEqual([
    expect.stringContaining('policy'),
  ]);
});

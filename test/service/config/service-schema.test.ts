/** Promise: the JSON Schema of service.yaml matches the code and its messages, and the example is valid. */
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { workloadKeys } from '../../../src/service/config/endpoint-schema.ts';
import { serviceExample, serviceJsonSchema } from '../../../src/service/config/service-schema.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/lib/text/json.ts';
import { serviceOf, serviceProblems } from '../../runner/config/service-file.ts';
import { firstTier, runs } from '../../fakes/tier.ts';

const isValid = new Ajv({ strict: true, strictTypes: false, strictRequired: false }).compile(
  serviceJsonSchema(),
);

firstTier.it('describes every key', () => {
  const properties = (schema: JsonValue | undefined): [string, JsonValue][] =>
    isJsonObject(schema ?? null) ? Object.entries((schema as JsonObject)['properties'] ?? {}) : [];
  const top = properties(serviceJsonSchema());
  const { limits, endpoints } = Object.fromEntries(top) as Record<string, JsonObject>;
  const all = [...top, ...properties(limits), ...properties(endpoints?.['items'])];
  expect(all.length).toBeGreaterThan(25);
  expect(all.filter(([, each]) => typeof (each as JsonObject)['description'] !== 'string')).toEqual([]);
});

firstTier.it('accepts the example, whose endpoints are as its comments say', () => {
  const text = serviceExample('service.schema.json');
  expect(text).toMatch(/^# yaml-language-server: \$schema=service\.schema\.json\n/);
  expect(isValid(parse(text))).toBe(true);
  expect(serviceOf(text).settings.endpoints).toMatchObject([
    { id: 'night-renderer', quickDeploy: 'scene-renderer' },
  ]);
});

firstTier.it('accepts the alternatives in the comments of the example as well', () => {
  const text = serviceExample('x').replaceAll(/^ {2}# ( *(?:- )?\w+:.*| {4}.*)$/gm, '  $1');
  const uncommented = text.replace(/^# (webhooks:)\n# ( +private: true)$/m, '$1\n$2');
  const all = uncommented
    .replace(/^# (publicUrl:)/m, '$1')
    .replace('[python3, worker.py]', '[worker, worker.py]');
  expect(isValid(parse(all))).toBe(true);
  const { endpoints, hasPrivateWebhooks } = serviceOf(all, { env: { HF_TOKEN: 'x' } }).settings;
  expect(hasPrivateWebhooks).toBe(true);
  expect(endpoints.map((each) => workloadKeys.find((key) => each[key] !== undefined))).toEqual([
    'quickDeploy',
    'quickDeploy',
    'image',
    'command',
    'module',
    'comfyui',
    'command',
    'remote',
  ]);
});

const painter = 'name: A, quickDeploy: painter';

firstTier.it.each([
  '',
  'port: 0',
  'port: ${PORT}',
  'limits: {maxBody: 1MB, requestTimeout: 5s}',
  'limits: {silence: 15s}',
  'hosts: [render.example, "*.farm.example", attic]',
  'webhooks: {}',
  'webhooks: {private: false}',
  'webhooks: {allowPrivate: false}',
  'endpoints: []',
  `endpoints: [{${painter}}]`,
  `endpoints: [{${painter}, id: x_1, gpu: 24 GB, workers: 0, ttl: 24h, quickStart: true}]`,
  'endpoints: [{name: A, image: "u/x:1", arguments: [--init, -v=/a:/b], memory: 8GB, cpus: 0.5, gpu: {devices: [0, GPU-1]}}]',
  'endpoints: [{name: A, image: "localhost/x@sha256:' + 'a'.repeat(64) + '"}]',
  'endpoints: [{name: A, command: [worker, ""], cwd: bin, environment: {A: x, B: 1, C: true}}]',
  'endpoints: [{name: A, image: "u/x:1", environment: {RUNPOD_SKIP_GPU_CHECK: true, RUNPOD_LOG_LEVEL: INFO}}]',
  'endpoints: [{name: A, module: handler.mjs, retries: 0, maxQueued: 1}]',
  'endpoints: [{name: A, comfyui: {url: "http://box:8188", workflow: flow.json}}]',
  'endpoints: [{name: A, comfyui: {url: ["http://a", "http://b"], workflow: flow.json, set: {3.seed: 5}}}]',
  'endpoints: [{name: A, remote: true}]',
])('accepts %s, as the service does', (text) => {
  expect(serviceProblems(text, { env: { PORT: '80' } })).toEqual([]);
  expect(isValid(parse(text) ?? {})).toBe(true);
});

firstTier.it.each([
  'prot: 0',
  'port: x',
  'host: 5',
  'limits: {maxBody: 10}',
  'webhooks: true',
  'webhooks: {private: "yes"}',
  'webhooks: {public: true}',
  'endpoints: {}',
  'endpoints: [{name: A, image: "u/x:1", arguments: [--shm-size, 1g]}]',
  'endpoints: [{name: A, image: "u/x:1", arguments: [--]}]',
  'endpoints: [{name: A, image: "u/x:1", arguments: [""]}]',
  'endpoints: [{}]',
  'endpoints: [{name: A}]',
  'endpoints: [{quickDeploy: painter}]',
  `endpoints: [{${painter}, remote: true}]`,
  `endpoints: [{${painter}, memory: 8GB}]`,
  `endpoints: [{${painter}, cpus: 1}]`,
  `endpoints: [{${painter}, arguments: [x]}]`,
  `endpoints: [{${painter}, cwd: x}]`,
  `endpoints: [{${painter}, id: a b}]`,
  `endpoints: [{${painter}, gpu: {}}]`,
  `endpoints: [{${painter}, gpu: 24}]`,
  `endpoints: [{${painter}, workers: -1}]`,
  `endpoints: [{${painter}, ttl: 5}]`,
  'endpoints: [{name: A, quickDeploy: other}]',
  'endpoints: [{name: A, image: user/name}]',
  'endpoints: [{name: A, image: "name:1"}]',
  'endpoints: [{name: A, command: worker}]',
  'endpoints: [{name: A, command: []}]',
  'endpoints: [{name: A, module: x.py}]',
  'endpoints: [{name: A, comfyui: {url: "http://box:8188"}}]',
  'endpoints: [{name: A, comfyui: {url: [], workflow: flow.json}}]',
  'endpoints: [{name: A, comfyui: {url: "http://a", workflow: flow.json, set: {3.seed: [1, 2]}}}]',
  'endpoints: [{name: A, remote: false}]',
  'endpoints: [{name: A, command: [worker], environment: {RUNPOD_AI_API_KEY: y}}]',
  'endpoints: [{name: A, command: [worker], environment: {NIGHTRENDER_API_KEY: y}}]',
  'endpoints: [{name: A, command: [worker], environment: {A-B: y}}]',
  'endpoints: [{name: A, command: [worker], environment: {A: [y]}}]',
])('refuses %s, as the service does', (text) => {
  expect(serviceProblems(text)).not.toEqual([]);
  expect(isValid(parse(text))).toBe(false);
});

it('refuses nothing that the service accepts, whatever stands in any of its keys', () => {
  let accepted = 0;
  const numRuns = runs(400, { ms: 4, weight: 2 });
  fc.assert(
    fc.property(endpoint, (given) => {
      const value = { endpoints: [given] };
      const isAccepted = serviceProblems(JSON.stringify(value), { env: { NAME: '16' } }).length === 0;
      if (isAccepted) accepted += 1;
      if (isAccepted) expect(isValid(value), JSON.stringify(value)).toBe(true);
    }),
    { numRuns },
  );
  expect(accepted).toBeGreaterThan(numRuns / 10);
});

const sensible: Record<string, JsonValue[]> = {
  image: ['u/x:1', '${NAME}'],
  command: [['worker'], ['worker', '${NAME}']],
  module: ['handler.mjs'],
  quickDeploy: ['painter', 'scene-renderer', 'blender'],
  blender: [{}, { assets: null }],
  remote: [true],
  id: ['x', '${NAME}'],
  gpu: ['24 GB', { devices: [0] }, { devices: ['0', '1'] }],
  workers: [0, 3, '${NAME}'],
  quickStart: [false, true],
  memory: ['8GB', '${NAME}MiB'],
  cpus: [1, '${NAME}'],
  environment: [{}, { A: 'x' }, { A: 1, B: true }, { RUNPOD_SKIP_GPU_CHECK: true, RUNPOD_WEBHOOKS: 'x' }],
  retries: [0, '${NAME}'],
  executionTimeout: ['30s', '${NAME}m'],
  ttl: ['24h', ' 1.5 h '],
  maxQueued: [1, '${NAME}'],
};

const kinds = ['image', 'command', 'module', 'quickDeploy', 'remote'];

const fields = Object.fromEntries(
  Object.entries(sensible)
    .filter(([key]) => !kinds.includes(key))
    .map(([key, values]) => [
      key,
      fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom<JsonValue>(...values) },
        fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue),
      ),
    ]),
);

/** Random endpoints: one of five kinds, with any of the other keys, mostly with fitting values. */
const endpoint = fc
  .tuple(
    fc.constantFrom(...kinds),
    fc.record(fields, { requiredKeys: [] }),
    fc.subarray(Object.keys(fields), { maxLength: 4 }),
  )
  .chain(([kind, given, kept]) =>
    fc.constantFrom<JsonValue>(...(sensible[kind] ?? [])).map((value) => ({
      name: 'A',
      [kind]: value,
      ...Object.fromEntries(Object.entries(given).filter(([key]) => kept.includes(key))),
    })),
  );

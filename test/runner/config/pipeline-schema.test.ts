/** Promise: the JSON Schema of pipeline.yaml matches the code, and rejects nothing that a run accepts. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { pipelineSchema } from '../../../src/runner/config/pipeline-schema.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/lib/text/json.ts';
import { isWhole, runs } from '../../fakes/tier.ts';
import { problemsOf, withRequired } from './pipeline-file.ts';

const root = resolve(import.meta.dirname, '../../..');
const isValid = new Ajv({ strict: true, strictTypes: false, strictRequired: false }).compile(
  pipelineSchema(),
);

it('describes every key', () => {
  const silent = keysOf(pipelineSchema()).filter((keys) => typeof at(keys)['description'] !== 'string');
  expect(silent).toEqual([]);
});

it('accepts the example, which names it for editors', () => {
  const text = readFileSync(resolve(root, 'pipeline.example.yaml'), 'utf8');
  expect(text).toMatch(/^# yaml-language-server: \$schema=dist\/config\/pipeline\.schema\.json\n/);
  expect(isValid(parse(text))).toBe(true);
});

it.each([
  'concurrency: ${LANES}',
  'endpoint: {baseUrl: "https://${HOST}/x", id: "${ID}", version: "${VERSION}", apiKey: "${KEY}"}',
  'limits: {for: "${HOURS}h", cost: 5, until: "07:00"}\npricing: {perSecond: 0.0004}',
  'input: {scene: "{{ scene }}", width: 1024, nested: {list: [1, null]}}',
  'manifest: [a.csv, "-"]',
  'timeouts: {queue: " 1.5 h "}\nlimits: {body: 64MiB}',
  'scenes: {matrix: {style: [oil, 3, true], steps: "1 .. 9 step ${N}", by: {file: a.csv, column: name}}}',
  'scenes: {zip: {w: 10..1, h: 1..10}, seeds: "${N}", exclude: [{w: 1, h: 2}]}\ncolumns: {w: number}',
  'notify: [{ping: "${URL}"}, {command: x, on: [start, {stall: 30m}, {failures: 50}]}]',
  'output: {dir: x, formats: [{format: webp, size: 512}, {format: "${KIND}"}], metadata: sidecar}',
])('accepts %s', (line) => {
  expect(isValid({ ...required, ...(parse(line) as object) })).toBe(true);
});

it.each([
  'concurency: 4',
  'concurrency: many',
  'concurrency: 0',
  'endpoint: {baseUrl: local, id: x, verion: v2}',
  'endpoint: {baseUrl: api.example.com, id: x}',
  'retry: {unanswered: held}',
  'timeouts: {queue: 30}',
  'limits: {body: 64Mb}',
  'limits: {until: 7am}',
  'input: {}',
  'terminal: {json: "yes"}',
  'output: {name: x.png}',
  'scenes: {matrix: {style: []}}',
  'scenes: {matrix: {style: oil}}',
  'scenes: {matrix: {style: {fil: a.txt}}}',
  'scenes: {matrix: {style: [[oil]]}}',
  'scenes: {zip: {id: [a]}}',
  'scenes: {seeds: 2, exclude: [{a: [1]}]}',
  'columns: {steps: numbr}',
  'notify: [{on: [start]}]',
  'notify: [{slack: "https://a.example", command: x}]',
  'notify: [{command: x, on: [{}]}]',
  'output: {dir: x, formats: [webp]}',
])('refuses %s, as a run does', (line) => {
  const value = { ...required, ...(parse(line) as object) };
  expect(isValid(value)).toBe(false);
  expect(problemsOf(JSON.stringify(value))).not.toEqual([]);
});

it('refuses nothing that a run accepts, whatever stands in any of its keys', () => {
  let accepted = 0;
  const numRuns = runs(1_000, { ms: 2 });
  fc.assert(
    fc.property(changes, (list) => {
      const value = list.reduce<JsonObject>(changed, required);
      if (isValid(value)) accepted += 1;
      else expect(problemsOf(JSON.stringify(value), { env: { NAME: '16' } })).not.toEqual([]);
    }),
    { numRuns },
  );
  if (isWhole) expect(accepted).toBeGreaterThan(30);
});

const required = parse(withRequired('')) as JsonObject;

interface Change {
  keys: string[];
  value: JsonValue;
}

const sensible = ['30s', '64MB', '${NAME}', 'local', 'v1', '07:00', 'hold', 1, 3, 0.5, true, 'x', ['a.csv']];

const changes = fc.array(
  fc.record<Change>({
    keys: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...keysOf(pipelineSchema())) }, anyKeys()),
    value: fc.oneof({ weight: 4, arbitrary: fc.constantFrom<JsonValue>(...sensible) }, anyValue()),
  }),
  { minLength: 1, maxLength: 3 },
);

function anyKeys(): fc.Arbitrary<string[]> {
  return fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 2 });
}

function anyValue(): fc.Arbitrary<JsonValue> {
  return fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as JsonValue);
}

/** Returns the path of every key of the schema. */
function keysOf(schema: JsonValue, above: string[] = []): string[][] {
  if (!isJsonObject(schema) || !isJsonObject(schema['properties'] ?? null)) return [];
  return Object.entries(schema['properties'] as JsonObject).flatMap(([key, each]) => [
    [...above, key],
    ...keysOf(each, [...above, key]),
  ]);
}

function at(keys: string[]): JsonObject {
  const step = (schema: JsonObject, key: string): JsonObject =>
    (schema['properties'] as JsonObject)[key] as JsonObject;
  return keys.reduce(step, pipelineSchema());
}

function changed(all: JsonObject, { keys: [key = '', ...rest], value }: Change): JsonObject {
  if (rest.length === 0) return { ...all, [key]: value };
  const inner = all[key];
  const section = isJsonObject(inner) ? inner : {};
  return { ...all, [key]: changed(section, { keys: rest, value }) };
}

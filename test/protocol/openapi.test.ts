/** Promise: the OpenAPI description is complete: every reference exists, and every schema is valid. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { openApi } from '../../src/protocol/openapi.ts';

const document = openApi;
const text = JSON.stringify(document);
const paths = document.paths as Record<string, Record<string, Record<string, unknown>>>;
const operations = Object.entries(paths).flatMap(([path, item]) =>
  ['get', 'post']
    .filter((method) => method in item)
    .map((method) => ({ path, operation: item[method] ?? {} })),
);

it('refers to nothing that is not there', () => {
  const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path);
  const lost = references.filter((path) => at(path) === undefined);
  expect(references.length).toBeGreaterThan(50);
  expect(lost).toEqual([]);
});

it('declares every part of a path', () => {
  for (const [path, { parameters }] of Object.entries(paths)) {
    const declared = JSON.stringify(parameters).matchAll(/parameters\/(\w+)/g);
    const named = path.matchAll(/\{(\w+)\}/g);
    expect([...declared].map(([, name]) => name)).toEqual([...named].map(([, name]) => name));
  }
});

it('workers need only their own key', () => {
  const ofWorkers = operations.filter(({ path }) => /\/(job-|ping)/.test(path));
  expect(ofWorkers).toHaveLength(6);
  for (const { operation } of ofWorkers) expect(operation['security']).toEqual([{ workerKey: [] }]);
});

it('the schemas fit the messages of the interface', () => {
  const ajv = new Ajv2020({ strict: true, formats: { uri: true } });
  ajv.addVocabulary(['components']);
  ajv.addSchema({ $id: 'doc', components: document.components }, 'doc', undefined, false);
  const fits = (name: string, value: unknown): boolean =>
    ajv.validate({ $ref: `doc#/components/schemas/${name}` }, value);
  expect(fits('Submission', { input: { scene: 'x' }, policy: { ttl: 1 } })).toBe(true);
  expect(fits('Submission', { input: {} })).toBe(false);
  expect(fits('Job', { id: 'a-u1', status: 'COMPLETED', delayTime: 1, output: [{ seed: 1 }] })).toBe(true);
  expect(fits('Job', { id: 'a', status: 'DONE' })).toBe(false);
  expect(fits('WorkerResult', { error: 'x', stopPod: true })).toBe(true);
});

function at(path: string): unknown {
  return path
    .split('/')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], document);
}

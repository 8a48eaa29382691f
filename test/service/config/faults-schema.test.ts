/** Promise: the JSON Schema of faults.yaml is that of the code, and tells of every fault what it is. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { faultsJsonSchema, faultsSchemaText } from '../../../src/service/config/faults-json-schema.ts';
import { readFaults } from '../../../src/service/config/read-faults.ts';
import { faultPlaces } from '../../../src/service/faults/fault-settings.ts';
import { faultTable } from '../../../src/service/faults/fault-table.ts';
import { linesOf, tempFolder } from '../../runner/config/pipeline-file.ts';

const isValid = new Ajv({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  allowUnionTypes: true,
}).compile(faultsJsonSchema());

it.each(faultPlaces)('tells of every fault of %s', (place) => {
  const text = faultsSchemaText();
  for (const { name, says } of faultTable[place]) {
    expect(text).toContain(JSON.stringify(name));
    expect(text).toContain(JSON.stringify(says));
  }
});

it.each([
  '{}',
  'seed: 7',
  'seed: ${SEED}',
  'rates: {submit: 5%, status: {reset: "${SHARE}%"}, job: {failed: 2 %}, everything: 0.5%}',
  'script: [{at: submit, nth: 3, fault: reset}, {at: job, match: x, nth: 2..4, fault: "${FAULT}"}]',
  'script: [{at: status, job: 1, after: 10s, for: 1m, fault: endpoint-gone}]\ntimes: {late: 1s}',
])('accepts %s', (text) => {
  expect(isValid(parse(text))).toBe(true);
});

it.each([
  'sed: 7',
  'rates: 5%',
  'rates: {submit: 5}',
  'rates: {submit: {resett: 5%}}',
  'rates: {jobs: 5%}',
  'script: {at: submit, fault: reset}',
  'script: [{fault: reset}]',
  'script: [{at: submit, fault: resett}]',
  'script: [{at: submit, fault: reset, nth: third}]',
  'script: [{at: submit, fault: reset, after: 10}]',
])('refuses %s, as serve does', (text) => {
  expect(isValid(parse(text))).toBe(false);
  const file = join(tempFolder(), 'faults.yaml');
  writeFileSync(file, text);
  expect(linesOf(file, () => readFaults(file, {}))).not.toEqual([]);
});

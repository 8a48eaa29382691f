/** Promise: `nightrender schema` prints a JSON Schema that a validator accepts. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchema } from 'ajv';
import { expect, it } from 'vitest';
import { inProcess, root } from './cli.ts';

it.each([
  ['pipeline', 'config'],
  ['service', 'config'],
  ['events', 'terminal'],
])('prints the schema of %s, which is also a file of the package', async (name, folder) => {
  const { stdout } = await inProcess(['schema', name]).exits(0).warnsOnly('');
  const schema = JSON.parse(stdout) as AnySchema;
  expect(() => new Ajv().compile(schema)).not.toThrow();
  expect(JSON.parse(readFileSync(join(root, 'dist', folder, `${name}.schema.json`), 'utf8'))).toEqual(schema);
});

it.each([
  ['evnts', 'did you mean events?'],
  ['faults', 'faults.yaml was only for tests and has no replacement'],
])('knows no schema %s', async (name, hint) => {
  await inProcess(['schema', name]).fails(2, `there is no schema of "${name}"; ${hint}`);
});

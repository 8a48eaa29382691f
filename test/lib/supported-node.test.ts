/** Promise: the program refuses exactly the versions of Node that package.json excludes. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { supportedNode, whyUnsupported } from '../../src/lib/supported-node.ts';

it.each(['18.20.8', '19.9.0', '20.0.0', '20.18.3', '21.7.3', '22.0.0', '22.11.0', '23.0.0', '23.11.1'])(
  'the program refuses %s',
  (version) => expect(whyUnsupported(version)).toContain(`this is ${version}`),
);

it.each(['20.19.0', '20.20.2', '22.12.0', '22.21.1', '24.0.0', '25.1.0', '26.0.0'])(
  'the program accepts %s',
  (version) => expect(whyUnsupported(version)).toBeUndefined(),
);

it('the supported range is the one that package.json and its lock name', () => {
  const enginesIn = (file: string): unknown =>
    JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
  const engines = { node: supportedNode };
  expect(enginesIn('../../package.json')).toMatchObject({ engines });
  expect(enginesIn('../../package-lock.json')).toMatchObject({ packages: { '': { engines } } });
});

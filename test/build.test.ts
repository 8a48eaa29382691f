/**
 * Promise: the built program needs only the packages that package.json names. It lists all other packages that it
 * contains, each with its licence.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { expect, it } from 'vitest';

const built = readdirSync('dist', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('js') && !/^(test|web)/.test(file))
  .map((file) => readFileSync(`dist/${file}`, 'utf8'))
  .join('\n');
const readJson = (file: string): Record<string, unknown> =>
  JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;

it('imports only dependencies and optional peers', () => {
  const { dependencies, peerDependencies } = readJson('package.json');
  const imported = [...built.matchAll(/(?:^import (?:[^"]* from )?|\bimport\()"([^."][^"]*)"/gm)]
    .flatMap(([, name]) => name ?? [])
    .filter((name) => !isBuiltin(name));
  // This file chooses between two releases of better-sqlite3 when the program starts.
  const chosen = [...built.matchAll(/\["better-sqlite3", "(.*)"\]/g)].map(([, name]) => name);
  expect(chosen).toEqual(['better-sqlite3-12']);
  const named = { ...(dependencies as object), ...(peerDependencies as object) };
  expect(new Set([...imported, 'better-sqlite3'])).toEqual(new Set(Object.keys(named)));
});

it('the build has the licence of every package that it contains', () => {
  // The bundler writes a comment with the path of each part.
  const parts = [...built.matchAll(/^ *\/\/ .*node_modules\/((?:@[^/]+\/)?[^/\n]+)/gm)].map(
    ([, name]) => name,
  );
  const held = new Set([...parts, 'preact']);
  const { bundled } = readJson('dist/build.json');
  const names = (bundled as string[]).map((name) => name.replace(/@[^@]+$/, ''));
  expect(new Set(names)).toEqual(held);
  const licences = readFileSync('dist/LICENSES.txt', 'utf8').split(`\n${'-'.repeat(80)}\n\n`);
  expect(licences.map((text) => /^(\S+ \S+) \(.+\)\n/.exec(text)?.[1]?.replace(' ', '@'))).toEqual(bundled);
  for (const text of licences) expect(text).toMatch(/copyright[^]{300}/i);
});

/** Promise: what the README says of states, failures, exit codes, commands and keys is what the code does, and what it promises is tested. */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { configSchema } from '../src/config/schema.ts';
import { checkpointSchema } from '../src/checkpoint/schema.ts';
import { promises } from './promises.ts';
import { readmeSections } from './readme-sections.ts';

const path = resolve(import.meta.dirname, '../README.md');
const readme = readFileSync(path, 'utf8');

it('has its generated sections as the code makes them (UPDATE_README=1 writes them)', async () => {
  let text = readme;
  for (const [name, make] of Object.entries(readmeSections)) {
    const section = new RegExp(`(<!-- generated: ${name} -->\n)[^]*?(<!-- end -->)`);
    expect(readme, `the marks of ${name}`).toMatch(section);
    text = text.replace(section, (_, before: string, after: string) => `${before}\n${make()}\n\n${after}`);
  }
  const expected = await format(text, { ...(await resolveConfig(path)), parser: 'markdown' });
  if (process.env['UPDATE_README'] === '1') writeFileSync(path, expected);
  else expect(readme).toBe(expected);
});

it('shows a pipeline.yaml that is one', () => {
  const [, block = ''] = /## pipeline\.yaml\n\n```yaml\n([^]*?)```/.exec(readme) ?? [];
  expect(configSchema.safeParse(parse(block)).error).toBeUndefined();
});

it('names every table of the checkpoint', () => {
  const tables = checkpointSchema.migrations.join('\n').matchAll(/CREATE TABLE (\w+)/g);
  for (const [, name] of tables) expect(readme).toMatch(new RegExp(`^\\| \`${name}\``, 'm'));
});

it.each(Object.values(promises).flat())('names a test that shows it: $says', ({ file, title }) => {
  expect(titlesIn(file).filter((each) => each === title)).toEqual([title]);
});

it('promises nothing twice', () => {
  const sentences = Object.values(promises)
    .flat()
    .map(({ says }) => says);
  expect(new Set(sentences).size).toBe(sentences.length);
});

/** What tests and groups of a file are called; what is filled in as `…`. */
function titlesIn(file: string): string[] {
  const source = readFileSync(resolve(import.meta.dirname, file), 'utf8');
  const calls = source.matchAll(
    /(?:\b(?:it|test|describe)(?:\.\w+)*|\))\s*\(\s*('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`),/g,
  );
  return [...calls].map(([, literal = '']) =>
    literal
      .slice(1, -1)
      .replaceAll(/\$\{[^}]*\}|%[a-z]/g, '…')
      .replaceAll(/\\(.)/g, '$1'),
  );
}

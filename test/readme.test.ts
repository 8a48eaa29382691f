/**
 * Promise: README and manual agree with the code about states, failures, exit codes, commands and keys, and every
 * promise is tested.
 */
import { commandNamed } from '../src/commands/command-line.ts';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { checkpointSchema } from '../src/runner/checkpoint/checkpoint-schema.ts';
import { definitionOf, type CommandDefinition } from '../src/commands/command.ts';
import { helpTopics } from '../src/commands/help.ts';
import { attemptMoves } from '../src/runner/core/attempt.ts';
import { sceneMoves } from '../src/runner/core/scene.ts';
import { problemsOf } from './runner/config/pipeline-file.ts';
import { serviceProblems } from './runner/config/service-file.ts';
import { inRestOnly, promises } from './promises.ts';
import { leftToFirst, rest } from './tiers.ts';
import { readmeSections } from './readme-sections.ts';

const root = resolve(import.meta.dirname, '..');
const pages = readdirSync(join(root, 'src/help'), { encoding: 'utf8' }).map((file) => `src/help/${file}`);
/** Contents by path from the root. */
const documents = new Map(
  ['README.md', ...pages, 'src/README.md', 'test/PROMISES.md', 'test/bench/README.md'].map((file) => [
    file,
    readFileSync(join(root, file), 'utf8'),
  ]),
);
const manual = [...documents.values()].join('\n');

it.each([...documents])(
  '%s has its generated sections as the code makes them (UPDATE_README=1 writes them)',
  async (file, written) => {
    const text = written.replaceAll(
      /(<!-- generated: (.+) -->\n)[^]*?(<!-- end -->)/g,
      (_, before: string, name: string, after: string) =>
        `${before}\n${readmeSections[name]?.() ?? `no section is called ${name}`}\n\n${after}`,
    );
    const path = join(root, file);
    const expected = await format(text, { ...(await resolveConfig(path)), parser: 'markdown' });
    if (process.env['UPDATE_README'] === '1') writeFileSync(path, expected);
    else expect(written).toBe(expected);
  },
);

it.each(Object.keys(readmeSections))('the page has the section %s that the code generates, once', (name) => {
  expect(manual.split(`<!-- generated: ${name} -->`)).toHaveLength(2);
});

it('each topic has exactly one page', () => {
  const named = helpTopics.map((topic) => `src/help/${topic}.md`);
  expect(pages.filter((file) => file !== 'src/help/README.md').toSorted()).toEqual(named.toSorted());
});

it('README and each page are short, without the tables that are generated from the code', () => {
  expect(sizeOf(textOf('README.md'))).toBeLessThanOrEqual(10_000);
  expect(sizeOf(textOf('src/help/pipeline-file.md'))).toBeLessThanOrEqual(16_384);
  const written = pages.map((file) => [
    file,
    sizeOf(textOf(file).replaceAll(/<!-- generated: [^]*?<!-- end -->/g, '')),
  ]);
  expect(written.filter(([, size]) => Number(size) > 12 * 1024)).toEqual([]);
});

it('the manual as a whole can be read in an evening', () => {
  expect(sizeOf(pages.map(textOf).join(''))).toBeLessThanOrEqual(240 * 1024);
});

/** True for the configuration of Kubernetes or Prometheus. */
const isOfOthers = (block: string): boolean => /^(apiVersion|scrape_configs):/m.test(block);
const isOfService = (block: string): boolean => /^(endpoints|tls|proxies):/m.test(block);

it('the manual shows a valid service.yaml', () => {
  const shown = blocksIn('yaml').filter(isOfService);
  // The files of the examples do not exist here, and some programs are not installed.
  const isOfFiles = (line: string): boolean =>
    /expected (a file that can be read$|an existing (folder|program|file):)/.test(line);
  const problems = shown.flatMap((block) =>
    serviceProblems(block, { env: { DATABASE_URL: 'postgres://host/database' } }),
  );
  expect(problems.filter((line) => !isOfFiles(line))).toEqual([]);
  expect(shown.length).toBeGreaterThan(0);
});

/** True for the description of another kind of service. */
const isDescription = (block: string): boolean => block.startsWith('id: ') && /^submit:/m.test(block);
const descriptions = blocksIn('yaml').filter(isDescription);

/** Files that the examples name. */
const files = {
  'flow.json': JSON.stringify({
    3: { class_type: 'KSampler', inputs: { seed: 1 } },
    6: { class_type: 'CLIPTextEncode', inputs: { text: '' } },
    9: { class_type: 'SaveImage', inputs: {} },
  }),
  'upscale.json': JSON.stringify({ 10: { class_type: 'LoadImage', inputs: { image: '' } } }),
  'atelier.yaml': descriptions[0] ?? '',
};

it('the manual shows the description of one service', () => {
  expect(descriptions).toHaveLength(1);
});

it.each(
  blocksIn('yaml')
    .filter((block) => !isOfService(block) && !isOfOthers(block) && !isDescription(block))
    .map((block) => [block.split('\n')[0], block]),
)('the manual shows a valid pipeline.yaml, or a valid part of one: %s', (_, block) => {
  const shown = parse(block ?? '') as { scenes?: { from?: string } };
  const whole = {
    // A stage has another batch instead of a manifest.
    ...(shown.scenes?.from === undefined && { manifest: 'scenes.csv' }),
    endpoint: { baseUrl: 'local', id: 'painter' },
    output: { dir: 'x' },
  };
  const text = stringify({ ...whole, ...shown });
  const env = {
    NIGHTRENDER_API_KEY: 'key-of-a-test',
    FAL_KEY: 'key-of-a-test',
    REPLICATE_API_TOKEN: 'key-of-a-test',
    ATELIER_TOKEN: 'key-of-a-test',
    DATABASE_URL: 'postgres://user:password@host/database',
    HC_UUID: 'id',
    SLACK_URL: 'https://hooks.example.com/x',
  };
  expect(problemsOf(text, { env, files })).toEqual([]);
});

it.each(commandLines())('the manual shows a valid command line: nightrender %s', async (line) => {
  const [name = '', ...words] = line.split(' ').filter((word) => word !== '');
  const command = commandNamed(name);
  if (command === undefined) throw new Error(`there is no command ${name}`);
  const definition = definitionOf(await command.load());
  const given = words.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=')[0]);
  expect([...Object.keys(definition.options), 'help']).toEqual(expect.arrayContaining(given));
  const values = words.filter(
    (word, i) => !word.startsWith('-') && !takesValue(words[i - 1], definition.options),
  );
  const isForMany = command.takes.includes('..');
  expect(values.length).toBeLessThanOrEqual(
    isForMany ? Infinity : Object.keys(definition.positionals).length,
  );
});

it.each([...Object.keys(attemptMoves), ...Object.keys(sceneMoves)])(
  'the manual says what the state %s means',
  (state) => {
    expect(manual).toMatch(new RegExp(`^\\| \`${state}\` +\\| [a-z]`, 'm'));
  },
);

it('the manual names every table of the checkpoint', () => {
  const tables = checkpointSchema.migrations.join('\n').matchAll(/CREATE TABLE (\w+)/g);
  for (const [, name] of tables) expect(manual).toMatch(new RegExp(`^\\| \`${name}\``, 'm'));
});

it('each promise is tested by `npm test`, or states what its test needs', () => {
  const shown = Object.values(promises).flatMap((list) => Object.values(list));
  const left = [...new Set(shown)].filter((file) => rest.includes(`test/${file}`));
  expect(left.toSorted()).toEqual(Object.keys(inRestOnly).toSorted());
});

it('every test that the longer tier leaves to `npm test` is run there', () => {
  expect(leftToFirst.filter((file) => rest.includes(file))).toEqual([]);
});

it('no promise is listed twice', () => {
  const sentences = Object.values(promises).flatMap((list) => Object.keys(list));
  expect(new Set(sentences).size).toBe(sentences.length);
});

it('src/README.md maps every folder and file of src', () => {
  const [, map = ''] = /```\nsrc\/\n([^]*?)jobs\//.exec(textOf('src/README.md')) ?? [];
  const named = [...map.matchAll(/^ {2}(\S+?)\/? /gm)].map(([, name = '']) => name);
  expect(named.toSorted()).toEqual(readdirSync(join(root, 'src')).toSorted());
});

it.each([...documents])('%s links to existing files and headings', (file, text) => {
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const dead = links.filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [path = '', anchor] = link.split('#');
    const target = path === '' ? join(root, file) : resolve(root, file, '..', path);
    return !existsSync(target) || (anchor !== undefined && !headingsOf(target).includes(anchor));
  });
  expect(dead).toEqual([]);
});

function textOf(file: string): string {
  return documents.get(file) ?? '';
}

function sizeOf(text: string): number {
  return Buffer.byteLength(text);
}

function headingsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, title = '']) => anchorOf(title));
}

function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
}

function blocksIn(...languages: string[]): string[] {
  const blocks = manual.matchAll(/^```(\w*)\n([^]*?)^```$/gm);
  return [...blocks].flatMap(([, language = '', block = '']) =>
    languages.includes(language) ? [block] : [],
  );
}

/**
 * Returns the command lines in shell blocks, crontabs, systemd units and sentences, without those that have
 * placeholders.
 */
function commandLines(): string[] {
  const inBlocks = blocksIn('sh', 'ini', '').flatMap((block) =>
    block
      .replaceAll(/\\\n */g, '')
      .split('\n')
      // Arguments after two dashes belong to another program.
      .map((line) => line.replace(/(^| +)#.*| -- .*/, ''))
      .flatMap((line) => line.split(/&&|\||>/))
      .flatMap((part) => /(?:^|[ /(=])nightrender ([a-z][^()"']*)/.exec(part)?.[1] ?? []),
  );
  const inText = [...manual.matchAll(/`(?:npx )?nightrender ([a-z][^`\n<[]*)`/g)].map(
    ([, line = '']) => line,
  );
  return [...new Set([...inBlocks, ...inText].map((line) => line.trim()))].filter((line) => !/…/.test(line));
}

function takesValue(before: string | undefined, options: CommandDefinition['options']): boolean {
  return Object.entries(options).some(([name, { type }]) => before === `--${name}` && type !== 'boolean');
}

/**
 * Promise: the API key comes from the environment. A key in pipeline.yaml is warned about, and no message
 * contains it.
 */
import { expect, it } from 'vitest';
import { ConfigError } from '../../../src/lib/yaml/problem.ts';
import { configOf, problemsOf, withRequired } from './pipeline-file.ts';

const canary = 'sk_CANARY-3f9a1c77e2d94b50a6';

function remote(endpoint: string, more = ''): string {
  return `manifest: a.csv\nendpoint:\n  baseUrl: https://api.example.com\n  id: x\n  ${endpoint}\noutput: {dir: o}\n${more}`;
}

it('a key in the file works and warns, with the place and without the key', () => {
  const { apiKey, warnings } = configOf(remote(`apiKey: ${canary}`));
  expect(apiKey).toBe(canary);
  expect(warnings).toEqual([
    expect.stringMatching(/pipeline\.yaml:5:11: the API key is written in the file/),
  ]);
  expect(warnings.join()).not.toContain(canary);
});

it('a key that only escapes a variable counts as a key in the file', () => {
  expect(configOf(remote('apiKey: "abc$${x}def"')).warnings).toHaveLength(1);
});

it('a key from the environment does not warn; the file counts before NIGHTRENDER_API_KEY', () => {
  const env = { NIGHTRENDER_API_KEY: 'another', MINE: canary };
  expect(configOf(remote('apiKey: ${MINE}'), { env })).toMatchObject({ apiKey: canary, warnings: [] });
  expect(configOf(remote('version: v1'), { env })).toMatchObject({ apiKey: 'another', warnings: [] });
});

it('without a key nothing is sent to a real service', () => {
  expect(problemsOf(remote('version: v2'))).toEqual([
    '2:1: endpoint.apiKey is missing; write apiKey: ${NIGHTRENDER_API_KEY} and set the variable',
  ]);
  expect(configOf(withRequired('')).apiKey).toBeUndefined();
});

it('a development server needs no key, and is sent none that the file does not name', () => {
  const env = { NIGHTRENDER_API_KEY: canary };
  expect(configOf(remote('version: dev'), { env }).apiKey).toBe('');
  expect(configOf(remote('version: dev\n  apiKey: ${NIGHTRENDER_API_KEY}'), { env }).apiKey).toBe(canary);
  expect(problemsOf(withRequired('').replace('local', 'local\n  version: dev'))).toEqual([
    expect.stringContaining('expected v1 or v2 where baseUrl is `local`'),
  ]);
});

it.each([
  `${canary}\n`,
  `${canary} `,
  `Bearer ${canary}`,
  `“${canary}”`,
  `"${canary}"`,
  `'${canary}'`,
  `${canary}\r`,
])('an impossible key is reported without showing it: %j', (key) => {
  const problems = problemsOf(remote('apiKey: ${KEY}'), { env: { KEY: key } });
  expect(problems).toEqual([
    expect.stringMatching(/^5:11: the key contains a space, a line break, quotes around it or another/),
  ]);
  expect(problems.join()).not.toContain(canary);
});

const places = {
  'as a list': remote(`apiKey: [${canary}]`),
  'as a map': remote(`apiKey: {key: ${canary}}`),
  'with spaces': remote(`apiKey: " ${canary} "`),
  'cut by a colon': remote(`apiKey: ab: ${canary}`),
  'without a space behind the colon': remote(`apiKey:${canary}`),
  'without a space in a flow map': `endpoint: {baseUrl: local, id: x, apiKey:${canary}}\nmanifest: a\noutput: {dir: o}`,
  'under a misspelt key': remote(`apikey: ${canary}`),
  'under an unknown section': remote('version: v2', `auth: {headers: {Authorization: Bearer ${canary}}}`),
  'at the root': remote('version: v2', `apiKey: ${canary}`),
  'as the section': `manifest: a\nendpoint: ${canary}\noutput: {dir: o}`,
  'as the file': canary,
  'as the file, a list': `- ${canary}`,
  'in the address, as a password': remote('version: v2').replace('//api', `//user:${canary}@api`),
  'in the address, as a user': remote('version: v2').replace('//api', `//${canary}@api`),
  'in the address, as a query': remote('version: v2').replace('.com', `.com/?key=${canary}`),
  'as the address': remote('version: v2').replace('https://api.example.com', canary),
  'as the id': remote('version: v2').replace('id: x', `id: "${canary} "`),
  'as the version': remote(`version: ${canary}`),
  'as a duration': remote(`freshness: ${canary}`),
  'behind an alias sign': remote(`apiKey: *${canary}`),
  'behind a tag sign': remote(`apiKey: !${canary} x`),
  'behind a reserved sign': remote(`apiKey: @${canary}`),
  'behind a percent sign': remote(`apiKey: %${canary}`),
  'as a directive': `%${canary}\n---\n${remote('version: v9')}`,
  'behind quotes': remote(`apiKey: "x" ${canary}`),
  'as an escape': remote(`apiKey: "\\${canary}"`),
  twice: remote(`apiKey: ${canary}\n  apiKey: ${canary}`),
  'in quotes that are not closed': remote(`apiKey: "${canary}`),
  'in a flow map': remote(`apiKey: {${canary}, {${canary}}`),
  'in the file and elsewhere': remote(`apiKey: ${canary}`, `concurrency: ${canary}`),
  'in the file and elsewhere, at the end of what is shown': remote(
    `apiKey: ${canary}`,
    `concurrency: ${'x'.repeat(64)}${canary}`,
  ),
  'behind a bracket too many': remote('version: v2', `}\n${canary}\n`),
  'in the file and in a template that is not closed': remote(
    `apiKey: ${canary}`,
    `input: {scene: "{{ abc ${canary}"}`,
  ),
  'in the file and in a tag that is not closed': remote(
    `apiKey: ${canary}`,
    `input: {scene: "{% if ${canary}"}`,
  ),
  'in the file and in an expression': remote(`apiKey: ${canary}`, `input: {scene: "{{ $abc ${canary} }}"}`),
  'in the file and in a template': remote(`apiKey: ${canary}`, `input: {scene: "{{ a | ${canary} }}"}`),
};

const fromEnvironment = {
  elsewhere: remote('apiKey: ${K}', 'concurrency: ${K}\nretry: ${K}\nterminal: {json: "${K}"}'),
  'in the address': remote('version: v2').replace('//api', '//u:${K}@api'),
  'as the id': remote('version: v2').replace('id: x', 'id: "${K} "'),
  'as a key': remote('apiKey: ${K}', 'halt: {"${K}": 1}'),
  'in a template': remote('apiKey: ${K}', 'input: {scene: "{{ a | ${K} }}", b: "{{ ${K}"}'),
  'in a template, beside other text': remote(
    'apiKey: ${K}',
    'input: {scene: "{{ a | x${K}y }}", c: "{% x${K} %}"}',
  ),
  'another, in a template': remote('apiKey: ${K}', 'input: {scene: "{{ a | ${OTHER} }}"}'),
  'in a name': remote('apiKey: ${K}').replace('dir: o', 'dir: o, name: "{% ${K} %}"'),
};

it.each([
  ...Object.entries(places).map(([name, text]) => ({ name, text, env: {} })),
  ...Object.entries(fromEnvironment).map(([name, text]) => ({
    name: `from the environment, ${name}`,
    text,
    env: { K: canary, NIGHTRENDER_API_KEY: canary, OTHER: canary.toUpperCase() },
  })),
])('a key $name appears in no problem', ({ text, env }) => {
  const error = thrownBy(() => configOf(text, { env }));
  expect(error).toBeInstanceOf(ConfigError);
  const { message, stack = '', problems } = error as ConfigError;
  const all = [message, stack, JSON.stringify(error), JSON.stringify(problems)].join('\n');
  expect(problems.length).toBeGreaterThan(0);
  // A message must not contain even a part of the key.
  for (const part of [canary.slice(0, 12), canary.slice(-12)])
    expect(all.toUpperCase()).not.toContain(part.toUpperCase());
});

it('a key in a place of the file at which any text is accepted is in no warning', () => {
  const { warnings } = configOf(remote(`apiKey: ${canary}`, `input: {token: ${canary}}`));
  expect(warnings).toHaveLength(1);
  expect(warnings.join()).not.toContain('CANARY');
});

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

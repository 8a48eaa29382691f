/** Promise: commands find the output folder even if other parts of pipeline.yaml are wrong. */
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { PipelineParts } from '../../../src/runner/config/config.ts';
import { linesOf, withRequired, writePipeline } from './pipeline-file.ts';

it.each([
  ['a good file', withRequired('')],
  ['unknown keys and wrong types', withRequired('foo: 1\nconcurrency: [x]\nretry: 7')],
  ['a variable that is not set', withRequired('input: {scene: "${UNSET}"}').replace('local', '${UNSET}')],
  ['a template that cannot be read', withRequired('input: {scene: "{{ x | y }}"}')],
  ['no manifest', 'output:\n  dir: renders'],
  ['a syntax error', withRequired('input: {scene: {{ scene }} }\nretry: [')],
  ['the same key twice', withRequired('manifest: b')],
])('%s', (_, text) => {
  const file = writePipeline(text);
  expect(new PipelineParts(file, [], {}).outputDir()).toBe(join(dirname(file), 'renders'));
});

it('the output folder of a flag is found, even if the file names none', () => {
  const overrides = [{ path: ['output', 'dir'], value: '/here', from: '--output' }];
  for (const text of ['', 'output: [', 'output: {dir: "${UNSET}"}', withRequired('')]) {
    expect(new PipelineParts(writePipeline(text), overrides, {}).outputDir()).toBe('/here');
  }
});

it('the output folder is found in a variable of the environment', () => {
  expect(new PipelineParts(writePipeline('output: {dir: "${D}"}'), [], { D: '/there' }).outputDir()).toBe(
    '/there',
  );
});

it.each([
  ['output: {dir: "${UNSET}"}', '1:15: the environment variable UNSET is not set'],
  ['output:\n  name: x', '1:1: output.dir is missing; expected a path'],
  ['manifest: x', '1:1: output.dir is missing; expected a path'],
  ['output: {dir: 5}', '1:15: output.dir is missing; expected a path'],
  ['output:\n\tdir: [', /^2:1: a tab/],
])('%j', (text, expected) => {
  const file = writePipeline(text);
  const [first] = linesOf(file, () => new PipelineParts(file, [], {}).outputDir());
  expect(first).toEqual(typeof expected === 'string' ? expected : expect.stringMatching(expected));
});

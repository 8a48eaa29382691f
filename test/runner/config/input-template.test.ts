/**
 * Promise: the input of a job is its template with placeholders filled in at any depth, and a row without a
 * description is never sent.
 */
import { expect, it } from 'vitest';
import { defaultInput } from '../../../src/runner/config/input-template.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { configOf, withRequired } from './pipeline-file.ts';

function inputOf(yaml: string) {
  const { input } = configOf(withRequired(`input: ${yaml}`));
  if (input === undefined) throw new Error('no input');
  return input;
}

it('templates at any depth; other keys as they are', () => {
  const input = inputOf(`
  scene: "{{ scene }}"
  steps: 30
  flags: {hd: true, none: null, ratio: 0.5}
  nodes:
    - {inputs: {text: "{{ style }} of {{ scene }}", seed: "{{ seed }}"}}
    - ["{{ seed | plus: 1 }}", plain, 7]
  __proto__: kept
`);
  const rendered = input.render({ scene: 'hills', style: 'oil', seed: 5 });
  expect(JSON.stringify(rendered)).toBe(
    '{"scene":"hills","steps":30,"flags":{"hd":true,"none":null,"ratio":0.5},"nodes":[{"inputs":{"text":"oil of hills","seed":5}},[6,"plain",7]],"__proto__":"kept"}',
  );
  expect(input.columns).toEqual([
    { name: 'scene', path: ['input', 'scene'] },
    { name: 'style', path: ['input', 'nodes', 0, 'inputs', 'text'] },
    { name: 'scene', path: ['input', 'nodes', 0, 'inputs', 'text'] },
    { name: 'seed', path: ['input', 'nodes', 0, 'inputs', 'seed'] },
    { name: 'seed', path: ['input', 'nodes', 1, 0] },
  ]);
});

it('returns a new object for each row', () => {
  const input = inputOf('{scene: "{{ scene }}", list: [1]}');
  const [a, b] = [input.render({ scene: 'a' }), input.render({ scene: 'b' })];
  (a['list'] as number[]).push(2);
  expect(b['list']).toEqual([1]);
});

it.each<[string, JsonObject, string]>([
  ['{scene: "{{ scene }}"}', { scene: '' }, 'the scene is empty'],
  ['{scene: "{{ scene }}"}', { scene: ' \t\u{3000}\n' }, 'the scene is empty'],
  ['{scene: "{{ scene }}"}', { scene: null }, 'the scene is empty'],
  ['{Prompt: "{{ text }}", seed: 5}', { text: '' }, 'the Prompt is empty'],
  ['{text: "{{ Caption }}"}', { Caption: ' ' }, 'the text is empty'],
  ['{a: {b: [{prompt: "{{ t }}"}]}}', { t: '' }, 'the prompt is empty'],
  ['{scene: "a picture of {{ Caption }}"}', { Caption: ' ' }, 'the column Caption is empty'],
  [
    '{scene: "a {{ style }} picture of {{ scene }}"}',
    { scene: '', style: 'oil' },
    'the column scene is empty',
  ],
  ['{scene: "{{ a }}{{ b }}."}', { a: '', b: null }, 'the column a, b is empty'],
  ['{scene: "{{ scene | strip }}"}', { scene: '  ' }, 'the scene is empty'],
  ['{scene: "{% if scene %}{{ scene }}{% endif %}"}', { scene: '' }, 'the scene is empty'],
])('%s of %j', (yaml, row, problem) => {
  expect(() => inputOf(yaml).render(row)).toThrow(problem);
});

it.each<[string, JsonObject]>([
  ['{scene: "{{ scene }}", style: "{{ style }}"}', { scene: 'a', style: '' }],
  ['{scene: "a {{ style }} picture of {{ scene }}"}', { scene: 'a', style: '' }],
  ['{scene: "{{ a }} {{ b }}"}', { a: 'x', b: '' }],
  ['{scene: "{{ scene | default: \'hills\' }}"}', { scene: '' }],
  ['{scene: "a {% if s %}{{ s }}{% else %}hill{% endif %}"}', { s: '' }],
  ['{scene: "{{ scene }}"}', { scene: 0 }],
  ['{text: "{{ Caption }}", negative: "{{ no }}"}', { Caption: 'x', no: '' }],
])('%s of %j requires something', (yaml, row) => {
  expect(() => inputOf(yaml).render(row)).not.toThrow();
});

it.each<[string[], JsonObject | undefined]>([
  [['id', 'scene', 'prompt'], { scene: '{{ ["scene"] }}' }],
  [['PROMPT', 'id'], { prompt: '{{ ["PROMPT"] }}' }],
  [['Scene', 'scene'], { scene: '{{ ["scene"] }}' }],
  [['Prompt', 'Scene'], { scene: '{{ ["Scene"] }}' }],
  [['text', 'scenes'], undefined],
  [[], undefined],
])('without an input, of the columns %j', (columns, input) => {
  expect(defaultInput(columns)).toEqual(input);
});

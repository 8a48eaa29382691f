/** Promise: an input that is the same for every row is rejected before each row is paid for. */
import { join, relative } from 'node:path';
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { readScenes } from '../../../src/runner/list/read-scenes.ts';
import { ConfigError } from '../../../src/lib/yaml/problem.ts';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import { tempFolder } from '../config/pipeline-file.ts';
import { listOptions } from './list-options.ts';

const rows = 'id,prompt,steps\na,hills,30\nb,sea,40\nc,hills,30\n';

/** Reads a list with this `input` in line 4. Returns the error, or `none` if the list is accepted. */
async function toldOf(input: string, list = rows, more = ''): Promise<string> {
  const folder = tempFolder();
  writeFileSync(join(folder, 'a.csv'), list);
  const file = join(folder, 'pipeline.yaml');
  const text = `manifest: a.csv\nendpoint: {baseUrl: local, id: x}\noutput: {dir: out}\ninput: ${input}\n${more}\n`;
  writeFileSync(file, text);
  try {
    const scenes = await readScenes(readConfig(file, [], {}), listOptions());
    scenes.list.close();
    return 'none';
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const told = error.problems.map(({ where, text: why }) => `${where}: ${why}`).join('\n');
    return told.replaceAll(`${relative('', folder)}/`, '');
  }
}

it.each([
  ['{ prompt }', "'a photo of { prompt }'"],
  ['{prompt}', "'a photo of {prompt}, at night'"],
  ['{Prompt}', "'a photo of {Prompt}'"],
  ['%prompt%', "'%prompt%'"],
  ['%(prompt)s', "'a %(prompt)s'"],
  ['$prompt', "'a photo of $prompt'"],
  ['<prompt>', "'<prompt>'"],
  ['[prompt]', "'[prompt]'"],
  ['prompt', 'prompt'],
])('an input that is the same for every row is shown with the likely mistake: %s', async (written, value) => {
  expect(await toldOf(`{width: 64, prompt: ${value}}`)).toBe(
    `pipeline.yaml:4:28: ${written} is not a placeholder, and all 3 rows send the same input; did you mean {{ prompt }}?`,
  );
});

it('names a variable that is not set if a column was meant', async () => {
  expect(await toldOf("{prompt: '${prompt}'}")).toMatch(/^pipeline\.yaml:4:\d+: .*prompt is not set/);
});

it.each([
  'a photo of the sea',
  '{% if false %}{{ prompt }}{% endif %}the sea',
  '{{ prompt | size | times: 0 }}',
  '{{ "prompt" }}',
])(
  'an input that is the same for every row is rejected without a likely mistake, too: %s',
  async (prompt) => {
    expect(await toldOf(`{text: '${prompt}'}`)).toBe(
      `pipeline.yaml:4:1: all 3 rows send the same input, whatever their columns hold; use a column, such as {{ prompt }}. For several pictures of one input, keep one row and add scenes: {seeds: 3} and seed: '{{ seed }}'`,
    );
  },
);

it('an input that is the same for every row is rejected if only the lists of scenes distinguish pictures', async () => {
  const told = await toldOf("{text: 'in {{ style }}'}", rows, 'scenes: {matrix: {style: [oil, ink]}}');
  expect(told).toContain('all 3 rows send the same input');
});

it.each([
  { what: 'of one row', input: '{prompt: sea}', list: 'id\na\n' },
  { what: 'with seeds', input: "{prompt: sea, seed: '{{ seed }}'}", more: 'scenes: {seeds: 2}' },
  { what: 'with an id', input: "{prompt: 'sea {{ id }}'}" },
  {
    what: 'with the same prompt in each row',
    input: "{prompt: '{{ prompt }}'}",
    list: 'id,prompt\na,sea\nb,sea\n',
  },
])('accepts the input of a list $what', async ({ input, list, more }) => {
  expect(await toldOf(input, list, more)).toBe('none');
});

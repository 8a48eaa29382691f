/**
 * Promise: a new batch recognizes common names of id and prompt columns, and an earlier batch keeps its
 * rules. `plan` notes problems of a list.
 */
import { adoptedRules } from '../../../src/batch/lists.ts';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readScenes } from '../../../src/runner/list/read-scenes.ts';
import { ConfigError } from '../../../src/lib/yaml/problem.ts';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import { newestRules, type RulesVersion } from '../../../src/runner/core/scene.ts';
import { png } from '../../faults/picture-damages.ts';
import { readList, unstopped } from '../../fakes/world.ts';
import { tempFolder } from '../config/pipeline-file.ts';
import { listOptions } from './list-options.ts';

type Read = Awaited<ReturnType<typeof readScenes>>;
const opened: Read[] = [];

afterEach(() => {
  for (const { list } of opened.splice(0)) list.close();
});

/** Reads a list by the rules of a version. `more` has further lines of pipeline.yaml. */
async function read(name: string, text: string, more = '', rules?: RulesVersion): Promise<Read> {
  const folder = tempFolder();
  writeFileSync(join(folder, name), text);
  const lines = [`manifest: ${name}`, 'endpoint: {baseUrl: local, id: x}', 'output: {dir: out}', more];
  writeFileSync(join(folder, 'pipeline.yaml'), lines.join('\n'));
  const config = readConfig(join(folder, 'pipeline.yaml'), [], {});
  const result = await readScenes(config, listOptions({ rules }));
  opened.push(result);
  return result;
}

async function problemsOf(reading: Promise<Read>): Promise<string[]> {
  const error: unknown = await reading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConfigError)) throw new Error('it was not refused', { cause: error });
  return error.problems.map(({ text }) => text);
}

const idsOf = ({ list }: Read): string[] => readList(list).map(({ id }) => id);
const inputsOf = ({ list }: Read): unknown[] => readList(list).map(({ input }) => input);
const hashed = expect.stringMatching(/^[0-9a-f]{12}$/) as string;

describe('the id', () => {
  it.each([
    ['ID', 'x.csv', 'ID,prompt\na,a hill\n'],
    ['Id, with a space', 'x.csv', 'Id ,prompt\na,a hill\n'],
    ['ID of JSON', 'x.jsonl', '{"ID":"a","prompt":"a hill"}\n'],
    ['ID after other columns, and rows whose values are empty', 'x.csv', 'prompt,ID,\na hill,a,\n,,\n'],
  ])('is also called %s', async (_, name, text) => {
    const found = await read(name, text);
    expect(idsOf(found)).toEqual(['a']);
    expect(found.remarks).toEqual([]);
  });

  it('is `id`, if both are there, and plan says so', async () => {
    const found = await read('x.csv', 'ID,id,prompt\n1,a,a hill\n');
    expect(idsOf(found)).toEqual(['a']);
    expect(found.remarks).toEqual([
      expect.stringContaining('id is the id of each scene; ID is a column like any other'),
    ]);
  });

  it('is the first of several, if none is `id`, and of JSON rows, too', async () => {
    const found = await read('x.csv', 'ID,Id,prompt\na,1,a hill\n');
    expect(idsOf(found)).toEqual(['a']);
    expect(found.remarks.join()).toContain('ID is the id of each scene; Id is a column like any other');
    const old = await read('x.jsonl', '{"ID":"a","prompt":"a hill"}\n', '', 3);
    expect(old.remarks.join()).toContain('ID is not the id here');
  });

  it('stays what it was in a batch that began earlier, and plan says so', async () => {
    const found = await read('x.csv', 'ID,prompt\na,a hill\n', '', 3);
    expect(idsOf(found)).toEqual([hashed]);
    expect(found.remarks.join()).toContain('ID is not the id here: the batch began with a version');
  });

  it('may be sent under its own name', async () => {
    const found = await read('x.csv', 'ID,prompt\na,a hill\n', "input: {prompt: '{{ ID }}: {{ prompt }}'}");
    expect(inputsOf(found)).toEqual([{ prompt: 'a: a hill' }]);
  });

  it('comes from the text without a column, and plan says what that means', async () => {
    for (const [name, text] of [
      ['x.txt', 'a hill\n'],
      ['x.csv', 'prompt\na hill\n'],
    ] as const)
      expect((await read(name, text)).remarks).toEqual([
        expect.stringContaining('an edited prompt is a new scene'),
      ]);
  });

  it('that is empty is reported with its row, as before', async () => {
    expect(await problemsOf(read('x.csv', 'ID,prompt\n,a hill\n'))).toEqual(['the id is empty']);
  });
});

it('pictures without metadata are adopted by the rules that give their names', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'x.csv'), 'ID,prompt\na,an owl\n');
  const lines = ['manifest: x.csv', 'endpoint: {baseUrl: local, id: x}', 'output: {dir: out}'];
  writeFileSync(join(folder, 'pipeline.yaml'), lines.join('\n'));
  const config = readConfig(join(folder, 'pipeline.yaml'), [], {});
  const images = join(folder, 'out/images');
  mkdirSync(images, { recursive: true });
  const [id = ''] = idsOf(await read('x.csv', 'ID,prompt\na,an owl\n', '', 3));
  for (const [name, rules] of [
    [`an-owl-${id.slice(0, 6)}.png`, 3],
    ['a.png', newestRules],
  ] as const) {
    writeFileSync(join(images, name), png(1, 1, Buffer.alloc(4)));
    expect(await adoptedRules(config, config.output.dir, fail, unstopped)).toBe(rules);
    rmSync(join(images, name));
  }
});

/** Fails the test, because no bucket is read here. */
function fail(text: string): never {
  throw new Error(text);
}

describe('columns scene and prompt in one list', () => {
  const text = 'id,scene,Prompt\na,1,a hill\n';

  it('are refused in a new batch until input says which is sent', async () => {
    expect(await problemsOf(read('x.csv', text))).toEqual([
      "has a column scene and a column Prompt. Say in pipeline.yaml which one a job is sent: input: { prompt: '{{ Prompt }}' }, or input: { scene: '{{ scene }}' }",
    ]);
    expect(await problemsOf(read('x.jsonl', '{"scene":"1","prompt":"a hill"}\n'))).toHaveLength(1);
    expect(inputsOf(await read('x.csv', text, "input: {prompt: '{{ Prompt }}'}"))).toEqual([
      { prompt: 'a hill' },
    ]);
  });

  it('are refused, also if a later row is the first to have both', async () => {
    const json = '{"prompt":"a lake"}\n{"scene":"1","prompt":"a hill"}\n';
    expect(await problemsOf(read('x.jsonl', json))).toHaveLength(1);
  });

  it('send the scene in a batch that began earlier, with one warning', async () => {
    const found = await read('x.csv', text, '', 3);
    expect(inputsOf(found)).toEqual([{ scene: '1' }]);
    expect(found.notes).toEqual([
      expect.stringContaining('scene is sent, not Prompt, as since the batch began'),
    ]);
  });
});

describe('a list without a header', () => {
  it.each([
    ['a prompt', 'A red fox in the snow at night\nA boat\n', '--columns prompt`'],
    ['an id and a prompt', 'fox,A red fox in the snow at night\nboat,A boat\n', '--columns id,prompt`'],
    [
      'short words like those below',
      'an owl,in oil\na fox,in ink\na boat,in oil\n',
      '--columns prompt,column2`',
    ],
    ['a number', 'A red fox,42\nA boat,43\n', '--columns prompt,column2`'],
  ])('is refused with the option to give: %s', async (_, text, option) => {
    const [problem] = await problemsOf(read('x.csv', text));
    expect(problem).toContain('the first row seems to be a scene');
    expect(problem).toContain(option);
  });

  it('is read with header', async () => {
    const found = await read('x.csv', 'fox,A red fox\nboat,A boat\n', 'header: [id, prompt]');
    expect(idsOf(found)).toEqual(['fox', 'boat']);
    expect(inputsOf(found)[0]).toEqual({ prompt: 'A red fox' });
  });
});

it('JSON rows without a prompt before the first with one are bad, however many they are', async () => {
  const json = `${'{"note":"x"}\n'.repeat(2_500)}{"prompt":"a hill"}\n`;
  const found = await read('x.jsonl', json, 'skipBadRows: true');
  expect(found.list.count()).toMatchObject({ scenes: 1, badRows: 2_500 });
  expect(inputsOf(found)).toEqual([{ prompt: 'a hill' }]);
});

describe('numbers that are sent as text', () => {
  const rows = 'id,prompt,steps,size\na,a hill,30,\nb,a lake,25,512\n';
  const input = (more: string): string => `input: {prompt: '{{ prompt }}', ${more}}`;

  it('are remarked upon once for each column', async () => {
    const { remarks } = await read('x.csv', rows, input("steps: '{{ steps }}', size: '{{ size }}'"));
    expect(remarks).toEqual([
      expect.stringMatching(
        /^the column steps holds numbers and is sent as text, such as "30".*columns: \{ "steps": number \}/,
      ),
      expect.stringContaining('the column size holds numbers'),
    ]);
  });

  it('are not remarked upon if they are declared, within a text, not all numbers, or numbers already', async () => {
    const sent = input("steps: '{{ steps }}'");
    expect((await read('x.csv', rows, `${sent}\ncolumns: {steps: number}`)).remarks).toEqual([]);
    expect((await read('x.csv', rows, input("note: 'in {{ steps }} steps'"))).remarks).toEqual([]);
    expect((await read('x.csv', rows.replace('25', 'few'), sent)).remarks).toEqual([]);
    const json = '{"id":"a","prompt":"a hill","steps":30}\n';
    expect((await read('x.jsonl', json, sent)).remarks).toEqual([]);
  });
});

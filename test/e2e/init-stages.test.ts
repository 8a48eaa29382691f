/** Promise: what `init --stages` writes works as it is: pictures are rendered, scored, and the best of each prompt upscaled, each once. */
import { existsSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchema } from 'ajv';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { rest } from '../fakes/tier.ts';
import { folderWith, inProcess, jobsOf, linesOf, root } from './cli.ts';
import { Served } from './served.ts';

const page = readFileSync(join(root, 'src/help/stages.md'), 'utf8');
/** The files of the manual, by their names. */
const recipes = new Map(
  [...page.matchAll(/^```yaml\n(# (\S+\.yaml)\n[^]*?)^```$/gm)].map(([, block = '', name = '']) => [
    name,
    block,
  ]),
);
const batches = ['render.yaml', 'score.yaml', 'upscale.yaml'];

interface Row {
  id: string;
  state: string;
  columns: JsonObject;
  pictures: { width: number; height: number; seed: string | null }[];
}

rest.it('renders, scores and upscales the best of each prompt, and sends nothing twice', async () => {
  const cwd = folderWith({});
  const made = await inProcess(['init', '--stages'], { cwd });
  expect(made.code, made.stderr).toBe(0);
  expect(made.stdout).toContain('nightrender serve service.yaml --data service\n');
  const [, command = ''] = /^ {2}nightrender (run .*)$/m.exec(made.stdout) ?? [];
  expect(command.split(' ').slice(1)).toEqual(batches);
  const { start, rowsOf } = await serveIn(cwd);
  await start(command);
  const [rendered, scored, upscaled] = [
    await rowsOf('render.yaml'),
    await rowsOf('score.yaml'),
    await rowsOf('upscale.yaml'),
  ];
  expect([rendered.length, scored.length, upscaled.length]).toEqual([9, 9, 3]);
  expect(scored.map(({ id }) => id)).toEqual(rendered.map(({ id }) => id));
  expect(upscaled.map(({ id }) => id)).toEqual(bestOf(scored).map(({ id }) => id));
  for (const { id, state, columns, pictures } of upscaled) {
    expect([state, columns['picture']]).toEqual(['saved', `rendered/images/${id}.png`]);
    expect(pictures).toMatchObject([{ width: 2 * 384, height: 2 * 256 }]);
  }
  expect(readdirSync(join(cwd, 'upscaled/images')).filter((file) => file.endsWith('.png'))).toHaveLength(3);

  const jobs = (): number[] => [jobsOf(join(cwd, 'rendered/local-service')), jobsOf(join(cwd, 'service'))];
  expect(jobs()).toEqual([9, 12]);
  await start(command);
  for (const name of batches) await start(`run ${name}`);
  expect(jobs()).toEqual([9, 12]);
});

rest.it('writes what the manual shows, whose recipes work on it', async () => {
  const cwd = folderWith({});
  await inProcess(['init', '--stages'], { cwd });
  writeFileSync(join(cwd, 'prompts.csv'), 'id,prompt\nharbour,An old harbour\n');
  const textOf = (name: string): string => readFileSync(join(cwd, name), 'utf8');
  for (const [name, block] of recipes) {
    const shown = parse(block) as object;
    if (existsSync(join(cwd, name))) expect([name, parse(textOf(name))]).toMatchObject([name, shown]);
    else writeFileSync(join(cwd, name), block);
  }
  writeFileSync(
    join(cwd, 'caption.mjs'),
    "export const handler = ({ input }) => ({ caption: 'a lighthouse of ' + input.image.length });\n",
  );
  const more =
    '  - { name: Caption, module: ./caption.mjs }\n  - { name: Image to image, module: ./again.mjs }\n';
  writeFileSync(join(cwd, 'service.yaml'), `${textOf('service.yaml')}${more}`);
  // The picture as it came, and what came with it.
  writeFileSync(
    join(cwd, 'again.mjs'),
    "import { appendFileSync } from 'node:fs';\n" +
      'export const handler = ({ input: { image, ...others } }) => {\n' +
      '  appendFileSync(new URL(\'sent.jsonl\', import.meta.url), JSON.stringify(others) + "\\n");\n' +
      '  return { image };\n};\n',
  );
  const { start, rowsOf } = await serveIn(cwd, [...recipes.keys()]);
  await start('run render.yaml');
  const rendered = await rowsOf('render.yaml');
  writeFileSync(join(cwd, 'starred.txt'), 'harbour-s2\n');
  await start('run favourites.yaml');
  expect(await rowsOf('favourites.yaml')).toMatchObject([{ id: 'harbour-s2', pictures: [{ width: 768 }] }]);

  await start('run caption.yaml again.yaml');
  const captions = new Map((await rowsOf('caption.yaml')).map(({ id, columns }) => [id, columns['caption']]));
  expect([...captions.keys()]).toEqual(['harbour-s1', 'harbour-s2', 'harbour-s3']);
  const sent = linesOf({ stdout: textOf('sent.jsonl') });
  const asked = rendered.flatMap(({ id, pictures: [picture] }) =>
    [0.3, 0.5].map((strength) => ({ prompt: captions.get(id), strength, seed: Number(picture?.seed) })),
  );
  expect(sent).toHaveLength(6);
  expect(sent).toEqual(expect.arrayContaining(asked));
});

/** Serves what is in the folder; `start` is a command that ends well and in silence, and these files find the service. */
async function serveIn(cwd: string, files = batches) {
  // In the place of `npm install sharp`.
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'));
  const service = await Served.start(cwd, ['service.yaml']);
  // Another test may have the port.
  for (const name of files) {
    const file = join(cwd, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace('http://127.0.0.1:4747', service.url));
  }
  const options = { cwd, env: { NIGHTRENDER_API_KEY: service.key } };
  return {
    start: async (command: string): Promise<void> => {
      const { code, stderr } = await inProcess([...command.split(' '), '--quiet'], options);
      expect([command, code, stderr]).toEqual([command, 0, '']);
    },
    rowsOf: async (name: string): Promise<Row[]> =>
      linesOf<Row>(await inProcess(['list', name, '--json'], options)),
  };
}

/** Of each prompt, in the order of the list; of equals the first. */
function bestOf(rows: Row[]): Row[] {
  const best = new Map<unknown, Row>();
  for (const row of rows) {
    const { prompt, score } = row.columns;
    expect(score).toBeGreaterThan(0);
    expect(score).toBeLessThan(1);
    const other = best.get(prompt);
    if (other === undefined || Number(score) > Number(other.columns['score'])) best.set(prompt, row);
  }
  return rows.filter((row) => [...best.values()].includes(row));
}

it('names schemas that lie there and that the files fit, and changes no file that is there', async () => {
  const cwd = folderWith({});
  await inProcess(['init', '--stages'], { cwd });
  for (const name of [...batches, 'service.yaml']) {
    const text = readFileSync(join(cwd, name), 'utf8');
    const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
    const isValid = new Ajv({ strict: false }).compile(
      JSON.parse(readFileSync(join(cwd, schema), 'utf8')) as AnySchema,
    );
    expect([name, isValid(parse(text)), isValid.errors]).toEqual([name, true, null]);
  }
  writeFileSync(join(cwd, 'score.mjs'), '// my own\n');
  const again = await inProcess(['init', '--stages'], { cwd });
  expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('score.mjs: this file exists')]);
  expect(readFileSync(join(cwd, 'score.mjs'), 'utf8')).toBe('// my own\n');
});

it('takes no option that belongs to one batch or one service', async () => {
  const cwd = folderWith({ 'list.txt': 'A hill\n' });
  const { code, stderr } = await inProcess(['init', '--stages', '--service', '--manifest', 'list.txt'], {
    cwd,
  });
  expect(code).toBe(2);
  expect(stderr).toContain('--manifest: does not go with --stages');
  expect(stderr).toContain('--service: does not go with --stages');
  expect(readdirSync(cwd)).toEqual(['list.txt']);
});

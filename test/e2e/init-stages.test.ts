/**
 * Promise: the files of `init --stages` work unchanged: pictures are rendered, scored, and the best of each
 * prompt upscaled, each once.
 */
import { MarksFile } from '../../src/runner/files/marks-file.ts';
import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchema } from 'ajv';
import { expect } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { startComfyStandIn } from '../fakes/comfyui.ts';
import { firstTier, rest } from '../fakes/tier.ts';
import { inProcess, jobsOf, linesOf, type Night, nightWith, root } from './cli.ts';
import { Served } from './served.ts';

const page = readFileSync(join(root, 'src/help/stages.md'), 'utf8');
/** Files of the manual, by name. */
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
  const night = nightWith({});
  const made = await night
    .start('init', '--stages')
    .exits(0, 'nightrender serve service.yaml --data service\n');
  const [, command = ''] = /^ {2}nightrender (run .*)$/m.exec(made.stdout) ?? [];
  expect(command.split(' ').slice(1)).toEqual(batches);
  const { start, rowsOf } = await serveIn(night);
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
  expect(readdirSync(night.path('upscaled/images')).filter((file) => file.endsWith('.png'))).toHaveLength(3);

  const jobs = (): number[] => [jobsOf(night.path('rendered/local-service')), jobsOf(night.path('service'))];
  expect(jobs()).toEqual([9, 12]);
  await start(command);
  for (const name of batches) await start(`run ${name}`);
  expect(jobs()).toEqual([9, 12]);
});

rest.it('writes what the manual shows, and its recipes work with it', async () => {
  const night = nightWith({});
  await night.start('init', '--stages');
  night.write('prompts.csv', 'id,prompt\nharbour,An old harbour\n');
  const textOf = (name: string): string => night.read(name);
  for (const [name, block] of recipes) {
    const shown = parse(block) as object;
    if (night.has(name)) expect([name, parse(textOf(name))]).toMatchObject([name, shown]);
    else night.write(name, block);
  }
  night.write(
    'caption.mjs',
    "export const handler = ({ input }) => ({ caption: 'a lighthouse of ' + input.image.length });\n",
  );
  const more =
    '  - { name: Caption, module: ./caption.mjs }\n  - { name: Image to image, module: ./again.mjs }\n';
  night.write('service.yaml', `${textOf('service.yaml')}${more}`);
  // The handler returns the picture unchanged, and records the other inputs.
  night.write(
    'again.mjs',
    "import { appendFileSync } from 'node:fs';\n" +
      'export const handler = ({ input: { image, ...others } }) => {\n' +
      '  appendFileSync(new URL(\'sent.jsonl\', import.meta.url), JSON.stringify(others) + "\\n");\n' +
      '  return { image };\n};\n',
  );
  const { start, rowsOf } = await serveIn(night, [...recipes.keys()]);
  await start('run render.yaml');
  const rendered = await rowsOf('render.yaml');
  new MarksFile(night.path('rendered')).change([{ id: 'harbour-s2', mark: 'star' }], Date.now());
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

rest.it('renders and enlarges at a ComfyUI with its models, and sends nothing twice', async () => {
  const comfy = await startComfyStandIn();
  const night = nightWith({});
  const made = await night.start('init', '--stages', '--speaks', 'comfyui').exits(0, 'Node 4 of render.json');
  for (const name of ['render.yaml', 'upscale.yaml'])
    night.write(name, night.read(name).replace('http://127.0.0.1:8188', comfy.url));
  const commands = [...made.stdout.matchAll(/^ {2}nightrender (.*)$/gm)].map(([, command = '']) => command);
  expect(commands).toEqual(['plan render.yaml --check', 'run render.yaml upscale.yaml']);
  for (const command of [...commands, commands[1] ?? '']) await night.start(...command.split(' ')).exits(0);
  expect([comfy.accepted.length, comfy.uploaded.length]).toEqual([18, 9]);
  const rows = await night.start('list', 'upscale.yaml', '--json').lines<Row>();
  expect(rows.map(({ pictures }) => pictures[0]?.width)).toEqual(rows.map(() => 1024));
});

/** Starts the service of the folder, and lets these files find it. */
async function serveIn(night: Night, files = batches) {
  // Replaces `npm install sharp`.
  symlinkSync(join(root, 'node_modules'), night.path('node_modules'));
  const service = await Served.start(night.cwd, ['service.yaml']);
  // Another test may use the default port.
  for (const name of files) {
    const file = night.path(name);
    writeFileSync(file, readFileSync(file, 'utf8').replace('http://127.0.0.1:4747', service.url));
  }
  const options = { cwd: night.cwd, env: { NIGHTRENDER_API_KEY: service.key } };
  return {
    start: async (command: string): Promise<void> => {
      const { code, stderr } = await inProcess([...command.split(' '), '--quiet'], options);
      expect([command, code, stderr]).toEqual([command, 0, '']);
    },
    rowsOf: async (name: string): Promise<Row[]> =>
      await inProcess(['list', name, '--json'], options).lines<Row>(),
  };
}

/** Returns the best row of each prompt, in the order of the list. Of equal ones the first wins. */
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

firstTier.it.each([
  ['modules', [], [...batches, 'service.yaml'], 'score.mjs'],
  ['ComfyUI', ['--speaks', 'comfyui'], ['render.yaml', 'upscale.yaml'], 'render.json'],
])(
  'for %s: names existing schemas that the files match, and changes no existing file',
  async (_, options, files, own) => {
    const night = nightWith({});
    await night.start('init', '--stages', ...options);
    for (const name of files) {
      const text = night.read(name);
      const [, schema = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
      const isValid = new Ajv({ strict: false }).compile(JSON.parse(night.read(schema)) as AnySchema);
      expect([name, isValid(parse(text)), isValid.errors]).toEqual([name, true, null]);
    }
    night.write(own, '// my own\n');
    await night.start('init', '--stages', ...options).fails(2, `${own}: this file exists`);
    expect(night.read(own)).toBe('// my own\n');
  },
);

firstTier.it('takes no option that belongs to one batch or one service', async () => {
  const night = nightWith({ 'list.txt': 'A hill\n' });
  await night
    .start('init', '--stages', '--service', '--manifest', 'list.txt')
    .fails(2, '--manifest: does not go with --stages', '--service: does not go with --stages');
  await night.start('init', '--stages', '--speaks', 'fal').fails(2, '--speaks: is "fal"; expected comfyui');
  await night.start('init', '--speaks', 'comfyui').fails(2, '--speaks: goes with --stages only');
  expect(readdirSync(night.cwd)).toEqual(['list.txt']);
});

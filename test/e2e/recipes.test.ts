/** Promise: each recipe of the manual works unchanged: its files are written and its commands are run. */
import { execFile, spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MarksFile } from '../../src/runner/files/marks-file.ts';
import { parse } from 'csv-parse/sync';
import { parse as parseYaml } from 'yaml';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { answerJson, scriptedServer } from '../fakes/scripted-server.ts';
import { firstTier, rest } from '../fakes/tier.ts';
import { folderWith, inProcess, jobsOf, Program, root } from './cli.ts';
import { blackPicture } from './stand-ins.ts';

const page = readFileSync(join(root, 'src/help/recipes.md'), 'utf8');
const [start = '', ...recipes] = page.split(/^## /m);
const titles = recipes.map((recipe) => recipe.split('\n')[0] ?? '');

firstTier.it('the manual has no recipe that is not tried here', () => {
  expect(titles).toEqual([
    'Four seeds and a sweep',
    'Favourites, larger',
    'A chain of stages on ComfyUI',
    'A list that grows, every night',
    'A CSV for a spreadsheet',
    'A service for your own workers',
    'Two machines',
    'A worker with diffusers',
    'A worker with A1111',
  ]);
});

firstTier.it.each([
  ['Four seeds and a sweep', 'sweep.yaml', 24],
  ['A list that grows, every night', 'night.yaml', 2],
  ['A service for your own workers', 'farm.yaml', 2],
])('the manual has files that are accepted unchanged: %s', async (title, file, added) => {
  const cwd = await folderOf(title);
  const env = { NIGHTRENDER_API_KEY: 'of-no-use' };
  expect(await inProcess(['plan', file, '--json'], { cwd, env }).exits(0).lines()).toMatchObject([
    { changes: { added } },
  ]);
});

rest.it('renders a sweep with four seeds, and its favourites larger', async () => {
  const cwd = await folderOf('Four seeds and a sweep', 'Favourites, larger');
  await sh(commandsOf('Four seeds and a sweep').join('\n'), cwd);
  const small = await listOf(cwd, 'sweep.yaml');
  expect(small).toHaveLength(24);
  for (const guidance of [3, 5, 7.5])
    for (const prompt of ['a lighthouse at dawn', 'a windmill in a meadow']) {
      const found = small.filter(({ columns }) => columns['guidance'] === guidance);
      const seeds = found.filter(({ columns }) => columns['prompt'] === prompt).map(seedOf);
      expect(new Set(seeds).size).toBe(4);
    }

  const stars = [small[3], small[20]].flatMap((result) => result ?? []);
  new MarksFile(join(cwd, 'sweep')).change(
    stars.map(({ id }) => ({ id: id ?? '', mark: 'star' })),
    Date.now(),
  );
  await sh(commandsOf('Favourites, larger').join('\n'), cwd);
  const large = await listOf(cwd, 'large.yaml');
  expect(large.map((result) => [result.id, seedOf(result), result.columns['guidance']])).toEqual(
    stars.map((result) => [result.id, seedOf(result), result.columns['guidance']]),
  );
  for (const { pictures } of large) expect(pictures).toMatchObject([{ width: 1536, height: 1024 }]);
});

firstTier.it('shows the chain on ComfyUI that `init` writes', async () => {
  const cwd = await folderOf('A chain of stages on ComfyUI');
  const [init = '', run] = commandsOf('A chain of stages on ComfyUI').join('\n').split('\n');
  await inProcess(init.replace(/ *#.*/, '').split(' ').slice(1), { cwd }).exits(0);
  const textOf = (path: string): string => readFileSync(join(cwd, path), 'utf8');
  expect(parseYaml(textOf('chain/upscale.yaml'))).toMatchObject(parseYaml(textOf('upscale.yaml')) as object);
  expect(run).toBe('nightrender run chain/render.yaml chain/upscale.yaml');
});

rest.it(
  'renders each night the rows that were added to a list, and gives a spreadsheet its CSV',
  async () => {
    const cwd = await folderOf('A list that grows, every night');
    const crontab = /^0 22 \* \* \* +(.*)$/m.exec(recipeOf('A list that grows, every night'))?.[1] ?? '';
    const night = () => sh(crontab, '/', { HOME: join(cwd, '..') });
    // This is the output that cron would mail.
    expect(await night()).toBe('');
    await sh(commandsOf('A list that grows, every night').join('\n'), cwd);
    expect(await night()).toBe('');
    expect(jobsOf(join(cwd, 'night/local-service'))).toBe(3);

    const csv = join(cwd, 'night/report/results.csv');
    writeFileSync(csv, '');
    await sh(commandsOf('A CSV for a spreadsheet').join('\n'), cwd);
    const rows = parse<Record<string, string>>(readFileSync(csv), { columns: true, bom: true });
    expect(rows.map(({ state, prompt }) => [state, prompt])).toEqual([
      ['saved', 'a lighthouse at dawn'],
      ['saved', 'a windmill in a meadow'],
      ['saved', 'a red fox in the snow'],
    ]);
    for (const row of rows)
      expect(row).toMatchObject({ file: expect.stringMatching(/^images\//), width: /\d/ });
    const failed = readFileSync(join(cwd, 'failed.csv'), 'utf8');
    expect(failed.trim().split(',')).toEqual(Object.keys(rows[0] ?? {}));
  },
);

rest.describe('a service of your own', () => {
  it('has the jobs done by two machines', async () => {
    const cwd = await folderOf('A service for your own workers', 'Two machines');
    const { address, run } = await serveIn(cwd);
    const [addKey = '', give, work = ''] = commandsOf('Two machines');
    await sh(addKey, cwd);
    expect(give).toBe('export NIGHTRENDER_WORKER_KEY=$(cat worker.key)');
    const env = { NIGHTRENDER_WORKER_KEY: readFileSync(join(cwd, 'worker.key'), 'utf8').trim() };
    const words = work.replace('first-machine:4747', address).split(' ').slice(1);
    // The first machine both serves and works.
    for (const data of ['data', 'other']) {
      const worker = new Program(words, { cwd, env: { ...env, XDG_DATA_HOME: join(cwd, data) } });
      await worker.says(/Working for farm/);
    }
    expect(await run()).toMatchObject([{ state: 'saved' }, { state: 'saved' }]);
  });

  describe.skipIf(spawnSync('python3', ['--version']).status !== 0)(
    'with Python (skipped if there is no python3)',
    () => {
      it('renders with diffusers', async () => {
        const title = 'A worker with diffusers';
        const cwd = await folderOf('A service for your own workers', title);
        writeFileSync(join(cwd, 'torch.py'), torch);
        writeFileSync(join(cwd, 'diffusers.py'), diffusers.replace('PICTURE', await blackPicture()));
        await sh(commandsOf(title).join('\n'), cwd);
        const { run } = await serveIn(cwd);
        const results = await run();
        expect(results).toMatchObject([
          { state: 'saved', pictures: [{ width: 64, seed: '0' }] },
          { state: 'saved', pictures: [{ width: 64, seed: '0' }] },
        ]);
        const calls = readFileSync(join(cwd, 'calls.jsonl'), 'utf8').trim().split('\n').toSorted();
        const asked = { seed: 0, num_inference_steps: 30, guidance_scale: 5 };
        expect(calls.map((line): unknown => JSON.parse(line))).toEqual([
          { prompt: 'a lighthouse at dawn', ...asked },
          { prompt: 'a windmill in a meadow', ...asked },
        ]);
      });

      it('renders with A1111', async () => {
        const title = 'A worker with A1111';
        const cwd = await folderOf('A service for your own workers', title);
        const picture = await blackPicture();
        const webUi = await scriptedServer((socket, request) => {
          if (`${request.method} ${request.path}` !== 'POST /sdapi/v1/txt2img')
            return answerJson({ detail: 'Not Found' }, 404)(socket, request);
          const parameters = JSON.parse(request.body) as JsonObject;
          const info = JSON.stringify({
            ...parameters,
            seed: 4711,
            all_seeds: [4711],
            index_of_first_image: 0,
          });
          answerJson({ images: [picture], parameters: { ...parameters, seed: -1 }, info })(socket, request);
        });
        const worker = join(cwd, 'a1111_worker.py');
        writeFileSync(
          worker,
          readFileSync(worker, 'utf8').replace('127.0.0.1:7860', new URL(webUi.url).host),
        );
        const { run } = await serveIn(cwd);
        const results = await run();
        expect(results).toMatchObject([
          { state: 'saved', pictures: [{ width: 64, seed: '4711' }] },
          { state: 'saved', pictures: [{ width: 64, seed: '4711' }] },
        ]);
        const bodies = webUi.requests.map(({ body }) => JSON.parse(body) as unknown);
        expect(bodies).toContainEqual({ prompt: 'a lighthouse at dawn', steps: 25, cfg_scale: 6 });
      });
    },
  );
});

/** The parts of torch that the recipe needs. */
const torch = `
float16 = "float16"
class Generator:
    def __init__(self, device):
        assert device == "cuda"
    def manual_seed(self, seed):
        self.seed = seed
        return self
`;
const diffusers = `
import base64, json
class Image:
    def save(self, file, format):
        assert format == "PNG"
        file.write(base64.b64decode("PICTURE"))
class Result:
    images = [Image()]
class AutoPipelineForText2Image:
    @classmethod
    def from_pretrained(cls, model, torch_dtype):
        print("Loading pipeline components: " + model)
        return cls()
    def to(self, device):
        assert device == "cuda"
        return self
    def __call__(self, prompt, generator, num_inference_steps=50, guidance_scale=5.0):
        call = {"prompt": prompt, "seed": generator.seed, "num_inference_steps": num_inference_steps, "guidance_scale": guidance_scale}
        open("calls.jsonl", "a").write(json.dumps(call) + "\\n")
        return Result()
`;

function recipeOf(title: string): string {
  return recipes[titles.indexOf(title)] ?? '';
}

function blocksOf(text: string): { language: string; block: string }[] {
  return [...text.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, language = '', block = '']) => ({
    language,
    block,
  }));
}

/** Returns the lines of the shell blocks of a recipe. */
function commandsOf(title: string): string[] {
  const blocks = blocksOf(recipeOf(title)).filter(({ language }) => language === 'sh');
  return blocks.flatMap(({ block }) => block.trim().split('\n'));
}

/** Creates a folder `lists` with the list of the page and the files of these recipes. */
async function folderOf(...of: string[]): Promise<string> {
  const cwd = join(folderWith({}), 'lists');
  mkdirSync(cwd);
  await sh(blocksOf(start)[0]?.block ?? '', cwd);
  for (const { language, block } of of.flatMap((title) => blocksOf(recipeOf(title)))) {
    const [, name] = /^# (?:more of )?(\S+\.(?:yaml|py))\n/.exec(block) ?? [];
    expect(name !== undefined, block).toBe(['yaml', 'python'].includes(language));
    if (name !== undefined) appendFileSync(join(cwd, name), block);
  }
  return cwd;
}

/** Runs a shell script. Resolves to its standard output and error, and rejects if it fails. */
async function sh(text: string, cwd: string, env: Record<string, string> = {}): Promise<string> {
  const program = `nightrender() { '${process.execPath}' '${join(root, 'dist/nightrender.cjs')}' "$@"; }`;
  const { NIGHTRENDER_API_KEY: _, ...own } = process.env;
  const { stdout, stderr } = await promisify(execFile)('sh', ['-ec', `${program}\n${text}`], {
    cwd,
    env: { ...own, XDG_DATA_HOME: join(cwd, 'data'), ...env },
  });
  return stdout + stderr;
}

/**
 * Starts the service as the page says, on a free port. `run` runs the batch of the page and resolves to its
 * results.
 */
async function serveIn(cwd: string): Promise<{ address: string; run: () => Promise<Result[]> }> {
  const [addKey = '', serve = '', ...run] = commandsOf('A service for your own workers');
  await sh(addKey, cwd);
  const words = [...serve.split(' ').slice(1), '--port', '0', '--json'];
  const service = new Program(words, { cwd, env: { XDG_DATA_HOME: join(cwd, 'data') } });
  const { url } = await service.event('serving');
  const address = `127.0.0.1:${new URL(String(url)).port}`;
  const farm = join(cwd, 'farm.yaml');
  writeFileSync(farm, readFileSync(farm, 'utf8').replace('127.0.0.1:4747', address));
  return {
    address,
    run: async () => {
      await sh(run.join('\n'), cwd);
      return listOf(cwd, 'farm.yaml');
    },
  };
}

interface Result {
  id: string;
  state: string;
  columns: JsonObject;
  pictures: { seed: string | null; width: number; height: number }[];
}

async function listOf(cwd: string, pipeline: string): Promise<Result[]> {
  const env = { NIGHTRENDER_API_KEY: 'of-no-use' };
  return await inProcess(['list', pipeline, '--json'], { cwd, env }).lines<Result>();
}

function seedOf({ pictures: [picture] }: Result): string | null | undefined {
  return picture?.seed;
}

/** Promise: what `init --stages` writes works as it is: pictures are rendered, scored, and the best of each prompt upscaled, each once. */
import { readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type AnySchema } from 'ajv';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { folderWith, inProcess, jobsOf, linesOf, root } from './cli.ts';
import { Served } from './served.ts';

const batches = ['render.yaml', 'score.yaml', 'upscale.yaml'];

interface Row {
  id: string;
  state: string;
  columns: JsonObject;
  pictures: { width: number; height: number }[];
}

it('renders, scores and upscales the best of each prompt, and sends nothing twice', async () => {
  const cwd = folderWith({});
  const made = await inProcess(['init', '--stages'], { cwd });
  expect(made.code, made.stderr).toBe(0);
  expect(made.stdout).toContain(`nightrender run ${batches.join(' ')}`);
  expect(made.stdout).toContain('nightrender serve service.yaml --data service');
  // In the place of `npm install sharp`.
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'));
  const service = await Served.start(cwd, ['service.yaml']);
  // Another test may have the port.
  for (const name of batches) {
    const file = join(cwd, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace('http://127.0.0.1:4747', service.url));
  }
  const env = { NIGHTRENDER_API_KEY: service.key };
  const runAll = async (): Promise<void> => {
    for (const name of batches) {
      const run = await inProcess(['run', name, '--quiet'], { cwd, env });
      expect([name, run.code, run.stderr]).toEqual([name, 0, '']);
    }
  };
  const rowsOf = async (name: string): Promise<Row[]> =>
    linesOf<Row>(await inProcess(['list', name, '--json'], { cwd, env }));

  await runAll();
  const [rendered = [], scored = [], upscaled = []] = [
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
  await runAll();
  expect(jobs()).toEqual([9, 12]);
});

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

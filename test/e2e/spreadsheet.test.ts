/** Promise: results.csv opens with its accents and columns in a spreadsheet where that is asked for, and is a list as before. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { finishedBatch, inProcess, linesOf, pipeline } from './cli.ts';

const input = 'input: {scene: "{{ scene }}", width: 64, height: 48}\n';
const list = 'id,scene\nété,"Une forêt à l’aube"\n';

it('begins results.csv with a byte order mark, during a run and by `report`, and reads what begins so', async () => {
  const yaml = pipeline('local', `${input}report: {bom: true}\n`);
  const cwd = await finishedBatch({ 'pipeline.yaml': yaml, 'scenes.csv': list });
  const results = (): string => readFileSync(join(cwd, 'out/report/results.csv'), 'utf8');
  expect(results()).toMatch(/^\uFEFFid,state,/);
  expect(results()).toContain('Une forêt à l’aube');

  const again = yaml.replace('scenes.csv', 'out/report/results.csv').replace('dir: out', 'dir: again');
  writeFileSync(join(cwd, 'again.yaml'), again);
  const run = await inProcess(['run', 'again.yaml', '--quiet'], { cwd });
  expect([run.code, run.stderr]).toEqual([0, '']);
  writeFileSync(join(cwd, 'ids.txt'), '\uFEFFété\n');
  const listed = await inProcess(['list', 'again.yaml', '--ids', 'ids.txt', '--json'], { cwd });
  expect(linesOf(listed)).toMatchObject([{ id: 'été', columns: { scene: 'Une forêt à l’aube' } }]);

  writeFileSync(join(cwd, 'pipeline.yaml'), yaml.replace('bom: true', 'bom: false'));
  expect((await inProcess(['report', 'pipeline.yaml'], { cwd })).code).toBe(0);
  expect(results()).toMatch(/^id,state,/);
  writeFileSync(join(cwd, 'pipeline.yaml'), yaml);
  expect((await inProcess(['report', 'pipeline.yaml'], { cwd })).code).toBe(0);
  expect(results()).toMatch(/^\uFEFFid,state,/);
});

it('separates the values of results.csv as asked for, during a run and by `report`', async () => {
  const yaml = pipeline('local', `${input}report: {separator: ";"}\n`);
  const cwd = await finishedBatch({ 'pipeline.yaml': yaml, 'scenes.csv': 'id,scene\na,"one; two, three"\n' });
  const results = (): string => readFileSync(join(cwd, 'out/report/results.csv'), 'utf8');
  expect(results()).toMatch(/^id;state;file;/);
  expect(results()).toContain(';"one; two, three";');
  for (const [separator, start] of [
    ['"\\t"', 'id\tstate\t'],
    ['","', 'id,state,'],
  ] as const) {
    writeFileSync(join(cwd, 'pipeline.yaml'), yaml.replace('";"', separator));
    expect((await inProcess(['report', 'pipeline.yaml'], { cwd })).code).toBe(0);
    expect(results().startsWith(start)).toBe(true);
  }
});

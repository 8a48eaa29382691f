/**
 * Promise: if configured, a spreadsheet program opens results.csv with the right characters and columns. It
 * can still be used as a list.
 */
import { expect, it } from 'vitest';
import { finishedNight, pipeline } from './cli.ts';

const input = 'input: {scene: "{{ scene }}", width: 64, height: 48}\n';
const list = 'id,scene\nété,"Une forêt à l’aube"\n';

it('begins results.csv with a byte order mark, during a run and by `report`, and reads files that begin with one', async () => {
  const yaml = pipeline('local', `${input}report: {bom: true}\n`);
  const night = await finishedNight({ 'pipeline.yaml': yaml, 'scenes.csv': list });
  const results = (): string => night.read('out/report/results.csv');
  expect(results()).toMatch(/^\uFEFFid,state,/);
  expect(results()).toContain('Une forêt à l’aube');

  const again = yaml.replace('scenes.csv', 'out/report/results.csv').replace('dir: out', 'dir: again');
  night.write('again.yaml', again);
  await night.start('run', 'again.yaml', '--quiet').exits(0).warnsOnly('');
  night.write('ids.txt', '\uFEFFété\n');
  expect(await night.start('list', 'again.yaml', '--ids', 'ids.txt', '--json').lines()).toMatchObject([
    { id: 'été', columns: { scene: 'Une forêt à l’aube' } },
  ]);

  night.write('pipeline.yaml', yaml.replace('bom: true', 'bom: false'));
  await night.do('report').exits(0);
  expect(results()).toMatch(/^id,state,/);
  night.write('pipeline.yaml', yaml);
  await night.do('report').exits(0);
  expect(results()).toMatch(/^\uFEFFid,state,/);
});

it('separates the values of results.csv as configured, during a run and by `report`', async () => {
  const yaml = pipeline('local', `${input}report: {separator: ";"}\n`);
  const night = await finishedNight({
    'pipeline.yaml': yaml,
    'scenes.csv': 'id,scene\na,"one; two, three"\n',
  });
  const results = (): string => night.read('out/report/results.csv');
  expect(results()).toMatch(/^id;state;file;/);
  expect(results()).toContain(';"one; two, three";');
  for (const [separator, start] of [
    ['"\\t"', 'id\tstate\t'],
    ['","', 'id,state,'],
  ] as const) {
    night.write('pipeline.yaml', yaml.replace('";"', separator));
    await night.do('report').exits(0);
    expect(results().startsWith(start)).toBe(true);
  }
});

/** Promise: words of a prompt that a picture does not show are reported: by the run, by scene, in the results and in the gallery. */
import { appendFileSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { forgetUnneeded } from '../fakes/edit-checkpoint.ts';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { finishedBatch, folderWith, inProcess, linesOf, newBatch, withKey } from './cli.ts';
import { blackPicture, startInstantService } from './stand-ins.ts';

const files = {
  'scenes.csv': 'id,scene\nplain,a red house\nodd,"a gryphlet beside a house, masterpiece"\ncats,1000 cats\n',
  'pipeline.yaml':
    'manifest: scenes.csv\nendpoint: {baseUrl: local, id: scene-renderer}\ninput: {scene: "{{ scene }}", width: 96, height: 64}\noutput: {dir: out}\n',
};
const lost = { labelled_words: ['gryphlet'], ignored_words: ['masterpiece'] };
const said = 'drawn as labelled boxes in 1 and left out in 1 of 3 pictures; results.csv names them';

it('says how many pictures have such words, and shows them wherever it shows the picture', async () => {
  const cwd = folderWith(files);
  const start = (...args: string[]) => inProcess([args[0] ?? '', 'pipeline.yaml', ...args.slice(1)], { cwd });
  const run = await start('run');
  expect(run.code, run.stderr).toBe(0);
  expect(run.stdout).toContain(`  words     ${said}\n`);
  expect((await start('status')).stdout).toContain(`\nwords     ${said}\n`);
  const summary = readFileSync(join(cwd, 'out/report/summary.json'), 'utf8');
  expect(JSON.parse(summary)).toMatchObject({ pictures: { files: 3, labelled: 1, ignored: 1 } });

  expect((await start('explain', 'odd')).stdout).toMatch(
    /odd\.png .*\nwords +Drawn as labelled boxes: gryphlet\. Left out: masterpiece\.\n/,
  );
  expect((await start('explain', 'cats')).stdout).toMatch(/\nwords +No more than 50 cats are shown\.\n/);
  expect((await start('explain', 'plain')).stdout).not.toMatch(/^words/m);

  const results = readFileSync(join(cwd, 'out/report/results.csv'), 'utf8');
  expect(results).toContain(',source,labelled_words,ignored_words,scene,endpoint\n');
  expect(results).toMatch(/,gryphlet,masterpiece,"a gryphlet/);
  expect((await start('list', '--csv')).stdout).toBe(results);
  const found = await start('list', '--where', "labelled_words contains 'gryphlet'");
  expect(found.stdout).toMatch(/^odd [^\n]*\n$/);
  const rows = linesOf(await start('list', '--json'));
  expect(rows).toMatchObject([
    {},
    { pictures: [lost] },
    { pictures: [{ notes: ['No more than 50 cats are shown.'] }] },
  ]);
  const [folder = ''] = readdirSync(join(cwd, 'out/report/gallery'));
  expect(readFileSync(join(cwd, 'out/report/gallery', folder, '1.js'), 'utf8')).toContain('"gryphlet"');
  const again = await start('run', '--json');
  expect(linesOf(again).at(-1)).toMatchObject({ type: 'run-ended', pictures: { labelled: 1, ignored: 1 } });
});

it('is as good without them: from a service that says nothing, and where their record is damaged', async () => {
  const silent = await startInstantService([{ rendered_image: await blackPicture(), seed: 1 }]);
  const other = newBatch(silent.url, 1);
  const run = await inProcess(['run', 'pipeline.yaml'], { cwd: other, ...withKey });
  expect([run.code, run.stdout]).toEqual([0, expect.not.stringContaining('words')]);
  expect(readFileSync(join(other, 'out/report/results.csv'), 'utf8')).toContain(',source,scene,endpoint\n');

  const cwd = await finishedBatch(files);
  const db = new Sqlite(join(cwd, 'out/checkpoint.sqlite'));
  db.exec(`UPDATE pictures SET output = '{"labelled_words":["gryph'`);
  db.close();
  for (const command of [['report'], ['explain', 'odd'], ['list', '--csv'], ['status']]) {
    const { code, stderr } = await inProcess([command[0] ?? '', 'pipeline.yaml', ...command.slice(1)], {
      cwd,
    });
    expect([command, code, stderr]).toEqual([command, 0, '']);
  }
});

it('goes on with a checkpoint of before they were kept', async () => {
  const cwd = await finishedBatch(files);
  const db = new Sqlite(join(cwd, 'out/checkpoint.sqlite'));
  forgetUnneeded(db);
  db.exec('ALTER TABLE pictures DROP COLUMN output; PRAGMA user_version = 9');
  db.close();
  rmSync(join(cwd, 'out/.checkpoint.json'), { force: true });
  appendFileSync(join(cwd, 'scenes.csv'), 'late,a gryphlet\n');
  for (const command of ['status', 'verify', 'run']) {
    const { code, stderr } = await inProcess([command, 'pipeline.yaml'], { cwd });
    expect([command, code, stderr]).toEqual([command, 0, expect.any(String)]);
  }
  const results = readFileSync(join(cwd, 'out/report/results.csv'), 'utf8');
  expect(results).toMatch(/^late,.*,gryphlet,,a gryphlet/m);
});

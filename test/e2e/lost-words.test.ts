/**
 * Promise: words of a prompt that a picture does not show are reported by the run, by scene, in the results
 * and in the gallery.
 */
import { appendFileSync, readdirSync, rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { forgetUnneeded } from '../fakes/edit-checkpoint.ts';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { finishedNight, nightOf, nightWith } from './cli.ts';
import { blackPicture, startInstantService } from './stand-ins.ts';

const files = {
  'scenes.csv': 'id,scene\nplain,a red house\nodd,"a gryphlet beside a house, masterpiece"\ncats,1000 cats\n',
  'pipeline.yaml':
    'manifest: scenes.csv\nendpoint: {baseUrl: local, id: scene-renderer}\ninput: {scene: "{{ scene }}", width: 96, height: 64}\noutput: {dir: out}\n',
};
const lost = { labelled_words: ['gryphlet'], ignored_words: ['masterpiece'] };
const said = 'drawn as labelled boxes in 1 and left out in 1 of 3 pictures; results.csv names them';

it('a run says how many pictures do not show every word, and every view of a picture shows these words', async () => {
  const night = nightWith(files);
  const start = (...args: string[]) => night.do(args[0] ?? '', ...args.slice(1));
  await start('run').exits(0, `  words     ${said}\n`);
  await start('status').prints(`\nwords     ${said}\n`);
  const summary = night.read('out/report/summary.json');
  expect(JSON.parse(summary)).toMatchObject({ pictures: { files: 3, labelled: 1, ignored: 1 } });

  await start('explain', 'odd').prints(
    /odd\.png .*\nwords +Drawn as labelled boxes: gryphlet\. Left out: masterpiece\.\n/,
  );
  await start('explain', 'cats').prints(/\nwords +No more than 50 cats are shown\.\n/);
  await start('explain', 'plain').printsNo(/^words/m);

  const results = night.read('out/report/results.csv');
  expect(results).toContain(',source,labelled_words,ignored_words,scene,endpoint\n');
  expect(results).toMatch(/,gryphlet,masterpiece,"a gryphlet/);
  await start('list', '--csv').printsOnly(results);
  await start('list', '--where', "labelled_words contains 'gryphlet'").prints(/^odd [^\n]*\n$/);
  const rows = await start('list', '--json').lines();
  expect(rows).toMatchObject([
    {},
    { pictures: [lost] },
    { pictures: [{ notes: ['No more than 50 cats are shown.'] }] },
  ]);
  const [folder = ''] = readdirSync(night.path('out/report/gallery'));
  expect(night.read(`out/report/gallery/${folder}/1.js`)).toContain('"gryphlet"');
  expect((await start('run', '--json').lines()).at(-1)).toMatchObject({
    type: 'run-ended',
    pictures: { labelled: 1, ignored: 1 },
  });
});

it('a run works if the service reports no missing words, or if their record is damaged', async () => {
  const silent = await startInstantService([{ rendered_image: await blackPicture(), seed: 1 }]);
  const other = nightOf(silent.url, 1);
  const run = await other.run();
  expect([run.code, run.stdout]).toEqual([0, expect.not.stringContaining('words')]);
  expect(other.read('out/report/results.csv')).toContain(',source,scene,endpoint\n');

  const night = await finishedNight(files);
  const db = new Sqlite(night.path('out/checkpoint.sqlite'));
  db.exec(`UPDATE pictures SET output = '{"labelled_words":["gryph'`);
  db.close();
  for (const command of [['report'], ['explain', 'odd'], ['list', '--csv'], ['status']]) {
    const { code, stderr } = await night.do(command[0] ?? '', ...command.slice(1));
    expect([command, code, stderr]).toEqual([command, 0, '']);
  }
});

it('a run continues with a checkpoint of a version that recorded no missing words', async () => {
  const night = await finishedNight(files);
  const db = new Sqlite(night.path('out/checkpoint.sqlite'));
  forgetUnneeded(db);
  db.exec('ALTER TABLE pictures DROP COLUMN output; PRAGMA user_version = 9');
  db.close();
  rmSync(night.path('out/.checkpoint.json'), { force: true });
  appendFileSync(night.path('scenes.csv'), 'late,a gryphlet\n');
  for (const command of ['status', 'verify', 'run']) {
    const { code, stderr } = await night.do(command);
    expect([command, code, stderr]).toEqual([command, 0, expect.any(String)]);
  }
  const results = night.read('out/report/results.csv');
  expect(results).toMatch(/^late,.*,gryphlet,,a gryphlet/m);
});

/**
 * Promise: an unchanged list is not read again at the next run, and every change that affects scenes is
 * noticed.
 */
import { readdirSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, it } from 'vitest';
import { type Night, nightWith, pipeline, scenes, type Started } from './cli.ts';
import { editCheckpoint } from '../fakes/edit-checkpoint.ts';
import { mark, planOf, sourcesIn } from './marked-scenes.ts';
import { startStandIn } from './stand-ins.ts';

let url = '';
beforeEach(async () => void (url = (await startStandIn()).url));

const input = (scene: string): string => pipeline(url, `input: {scene: "${scene}"}\nskipBadRows: true\n`);
const withBad = `${scenes(2)}s2\n`;

it('the same list is not read again, packed or not', async () => {
  for (const [name, bytes] of [
    ['scenes.csv', Buffer.from(withBad)],
    ['scenes.csv.gz', gzipSync(withBad)],
  ] as const) {
    const night = nightWith({ 'pipeline.yaml': input('{{ scene }}').replace('scenes.csv', name) });
    night.write(name, bytes);
    expect(planOf(await start(night))).toMatchObject({ added: 2 });
    mark(night.cwd);
    expect(planOf(await start(night))).toMatchObject({ unchanged: 2, counts: { saved: 2, invalid: 1 } });
    expect(sourcesIn(night.cwd)).toEqual(['marked', 'marked']);
  }
});

it('the same list is read again from standard input, which can be read only once', async () => {
  const night = nightWith({ 'pipeline.yaml': input('{{ scene }}').replace('scenes.csv', "'-'") });
  await start(night, withBad);
  mark(night.cwd);
  expect(planOf(await start(night, withBad))).toMatchObject({ unchanged: 2 });
  expect(sourcesIn(night.cwd)).toEqual(['standard input:2', 'standard input:3']);
});

it('the same list is read again after an unclean end, and its stored rows are corrected', async () => {
  const named = input('{{ scene }}').replace('out\n', "out\n  name: '{{ scene }}.png'\n");
  const night = nightWith({ 'pipeline.yaml': named, 'scenes.csv': withBad });
  await night.run('--limit', '1');
  editCheckpoint(night.path('out'), "UPDATE scenes SET columns = replace(columns, 'trees', 'trams')");
  expect((await start(night)).code).toBe(3);
  expect(readdirSync(night.path('out/images')).toSorted()).toEqual([
    'Hills and 0 trees.png',
    'Hills and 1 trees.png',
  ]);
});

it.each<[string, (cwd: string) => void, object]>([
  ['a row, though the file is as long and as old as it was', editUnseen, { changed: 1, unchanged: 1 }],
  ['what is sent', (cwd) => writePipeline(cwd, input('{{ scene }}!')), { changed: 2 }],
  ['the list is another file', moveList, { unchanged: 2 }],
])('the list is read again after an edit: %s', async (_, edit, plan) => {
  const night = nightWith({ 'pipeline.yaml': input('{{ scene }}'), 'scenes.csv': withBad });
  await start(night);
  mark(night.cwd);
  edit(night.cwd);
  expect(planOf(await start(night))).toMatchObject(plan);
  expect(sourcesIn(night.cwd)).not.toContain('marked');
});

it.each([
  ['bad rows are not skipped any more', 'true', 'false', 'scenes.csv:4: has 1 column; the header has 2'],
  ['the name speaks of a column', 'out\n', "out\n  name: '{{ style }}.png'\n", 'no column "style"'],
])('an unchanged list is refused because pipeline.yaml changed: %s', async (_, from, to, problem) => {
  const night = nightWith({ 'pipeline.yaml': input('{{ scene }}'), 'scenes.csv': withBad });
  await start(night);
  writePipeline(night.cwd, input('{{ scene }}').replace(from, to));
  const { code, stderr } = await start(night);
  expect(code).toBe(2);
  expect(stderr).toContain(problem);
});

function start(night: Night, stdin = ''): Started {
  const args = ['run', 'pipeline.yaml', '--json'];
  return stdin === '' ? night.start(...args) : night.with({ stdin }).built(...args);
}

function editUnseen(cwd: string): void {
  const file = join(cwd, 'scenes.csv');
  const { atime, mtime } = statSync(file);
  writeFileSync(file, withBad.replace('1 trees', '7 trees'));
  utimesSync(file, atime, mtime);
}

function moveList(cwd: string): void {
  renameSync(join(cwd, 'scenes.csv'), join(cwd, 'moved.csv'));
  writePipeline(cwd, input('{{ scene }}').replace('scenes.csv', 'moved.csv'));
}

function writePipeline(cwd: string, text: string): void {
  writeFileSync(join(cwd, 'pipeline.yaml'), text);
}

/** Promise: a list that is what it was is not read again at the next start; whatever makes other scenes of it is noticed. */
import { readdirSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, expect, it } from 'vitest';
import { folderWith, inProcess, nightrender, pipeline, scenes, withKey, type Finished } from './cli.ts';
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
    const cwd = folderWith({ 'pipeline.yaml': input('{{ scene }}').replace('scenes.csv', name) });
    writeFileSync(join(cwd, name), bytes);
    expect(planOf(await start(cwd))).toMatchObject({ added: 2 });
    mark(cwd);
    expect(planOf(await start(cwd))).toMatchObject({ unchanged: 2, counts: { saved: 2, invalid: 1 } });
    expect(sourcesIn(cwd)).toEqual(['marked', 'marked']);
  }
});

it('it is read again from standard input, where nobody can look at it twice', async () => {
  const cwd = folderWith({ 'pipeline.yaml': input('{{ scene }}').replace('scenes.csv', "'-'") });
  await start(cwd, withBad);
  mark(cwd);
  expect(planOf(await start(cwd, withBad))).toMatchObject({ unchanged: 2 });
  expect(sourcesIn(cwd)).toEqual(['standard input:2', 'standard input:3']);
});

it('it is read again after an unclean end, and puts right what was stored of it', async () => {
  const named = input('{{ scene }}').replace('out\n', "out\n  name: '{{ scene }}.png'\n");
  const cwd = folderWith({ 'pipeline.yaml': named, 'scenes.csv': withBad });
  await inProcess(['run', 'pipeline.yaml', '--limit', '1'], { cwd, ...withKey });
  editCheckpoint(join(cwd, 'out'), "UPDATE scenes SET columns = replace(columns, 'trees', 'trams')");
  expect((await start(cwd)).code).toBe(3);
  expect(readdirSync(join(cwd, 'out/images')).toSorted()).toEqual([
    'Hills and 0 trees.png',
    'Hills and 1 trees.png',
  ]);
});

it.each<[string, (cwd: string) => void, object]>([
  ['a row, though the file is as long and as old as it was', editUnseen, { changed: 1, unchanged: 1 }],
  ['what is sent', (cwd) => writePipeline(cwd, input('{{ scene }}!')), { changed: 2 }],
  ['the list is another file', moveList, { unchanged: 2 }],
])('edited: %s', async (_, edit, plan) => {
  const cwd = folderWith({ 'pipeline.yaml': input('{{ scene }}'), 'scenes.csv': withBad });
  await start(cwd);
  mark(cwd);
  edit(cwd);
  expect(planOf(await start(cwd))).toMatchObject(plan);
  expect(sourcesIn(cwd)).not.toContain('marked');
});

it.each([
  ['bad rows are not skipped any more', 'true', 'false', 'scenes.csv:4: has 1 column; the header has 2'],
  ['the name speaks of a column', 'out\n', "out\n  name: '{{ style }}.png'\n", 'no column "style"'],
])('refused, though the list is the same: %s', async (_, from, to, problem) => {
  const cwd = folderWith({ 'pipeline.yaml': input('{{ scene }}'), 'scenes.csv': withBad });
  await start(cwd);
  writePipeline(cwd, input('{{ scene }}').replace(from, to));
  const { code, stderr } = await start(cwd);
  expect(code).toBe(2);
  expect(stderr).toContain(problem);
});

function start(cwd: string, stdin = ''): Promise<Finished> {
  const args = ['run', 'pipeline.yaml', '--json'];
  return stdin === '' ? inProcess(args, { cwd, ...withKey }) : nightrender(args, { cwd, ...withKey, stdin });
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

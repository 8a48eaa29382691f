/** Promise: a printed command works when pasted, even if a flag set the folder or list of the batch. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Night, nightWith, pipeline, root, scenes } from './cli.ts';

/** Settings with which every picture fails, because it is too small. */
const failing = `input: {scene: "{{ scene }}", width: 32, height: 32}
check: {minSide: 64}
retry: {attempts: 1}
halt: {consecutive: 100, percent: 100}
`;

function paste(command: string, cwd: string) {
  const program = `'${process.execPath}' '${join(root, 'dist/nightrender.cjs')}'`;
  return spawnSync('sh', ['-c', `nightrender() { ${program} "$@"; }\n${command}`], { cwd, encoding: 'utf8' });
}

it('a printed command names the folder that a flag named, in the gallery and on the terminal', async () => {
  const night = nightWith({ 'my night.yaml': pipeline('local', failing), 'scenes.csv': scenes(2) });
  const run = await night.built('run', 'my night.yaml', '--output', 'another place').exits(3);

  const page = night.read('another place/report/index.html');
  const { failures } = JSON.parse(/id="data">(.*?)<\/script>/s.exec(page)?.[1] ?? '') as {
    failures: { command: string }[];
  };
  const inGallery = paste(failures[0]?.command ?? '', '/');
  expect([inGallery.status, inGallery.stderr]).toEqual([0, '']);
  expect(inGallery.stdout).toContain("nightrender run '");

  const plan = await night.built('plan', 'my night.yaml', '--output', 'another place');
  const [, planned = ''] = /`(nightrender run [^`…]*)`/.exec(plan.stdout.replaceAll(/\s+/g, ' ')) ?? [];
  expect(paste(planned, night.cwd).status).toBe(3);

  const [, told = ''] = /`(nightrender retry [^`]*)`/.exec(run.stdout) ?? [];
  const retried = paste(told, night.cwd);
  expect([retried.status, retried.stderr]).toEqual([0, '']);
  expect(retried.stdout).toContain('2 scenes');
  expect(night.has('out')).toBe(false);
});

it('a printed command names the list that a flag named wherever a run is shown', async () => {
  const night = withOwnList('input: {scene: "{{ scene }}", width: 32, height: 32}\n');
  const plan = await night.built('plan', ...given);
  expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain(`Start it with \`${asGiven}\``);
  await night.built('run', ...given, '--limit', '1').prints(`\`${asGiven}\` renders the rest`);

  const watch = night.program('watch', 'night.yaml', '--port', '0', '--json');
  const { url } = await watch.event('watching');
  expect(await (await fetch(`${String(url)}data.json`)).json()).toMatchObject({ command: asGiven });

  rmSync(night.path('out/images'), { recursive: true });
  mkdirSync(night.path('out/images'));
  await night.built('verify', 'night.yaml', '--repair').prints(`\`${asGiven}\``);
  expect(paste(asGiven, night.cwd).status).toBe(0);
  const { stdout } = await night.built('status', 'night.yaml', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ summary: { scenes: { saved: 2, withdrawn: 0 } } });
});

it('a printed command names no list if the command takes none, and that of the batch again after it', async () => {
  const night = withOwnList(failing);
  const run = await night.built('run', ...given);
  const [, told = ''] = /`(nightrender retry [^`]*)`/.exec(run.stdout) ?? [];
  expect(told).toBe('nightrender retry night.yaml');
  expect(paste(told, night.cwd).stdout).toContain(`\`${asGiven}\``);
  await night.built('run', 'night.yaml', '--quiet').exits(3);
  expect(paste(told, night.cwd).stdout).toContain('`nightrender run night.yaml`');
});

const given = ['night.yaml', '--manifest', 'my list.csv'];
const asGiven = "nightrender run night.yaml --manifest 'my list.csv'";

/** Creates a batch with another list beside the one that its file names. */
function withOwnList(more: string): Night {
  const own = scenes(2).replaceAll(/^s/gm, 'own');
  return nightWith({ 'night.yaml': pipeline('local', more), 'scenes.csv': scenes(1), 'my list.csv': own });
}

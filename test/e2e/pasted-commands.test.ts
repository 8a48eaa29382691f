/** Promise: a command that is shown does what it says where it is pasted, also for a batch whose folder or list a flag names. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, nightrender, pipeline, Program, root, scenes } from './cli.ts';

/** Each picture is smaller than it has to be. */
const failing = `input: {scene: "{{ scene }}", width: 32, height: 32}
check: {minSide: 64}
retry: {attempts: 1}
halt: {consecutive: 100, percent: 100}
`;

function paste(command: string, cwd: string) {
  const program = `'${process.execPath}' '${join(root, 'dist/nightrender.cjs')}'`;
  return spawnSync('sh', ['-c', `nightrender() { ${program} "$@"; }\n${command}`], { cwd, encoding: 'utf8' });
}

it('names the folder that a flag named, in the gallery and on the terminal', async () => {
  const cwd = folderWith({ 'my night.yaml': pipeline('local', failing), 'scenes.csv': scenes(2) });
  const run = await nightrender(['run', 'my night.yaml', '--output', 'another place'], { cwd });
  expect(run.code).toBe(3);

  const page = readFileSync(join(cwd, 'another place/report/index.html'), 'utf8');
  const { failures } = JSON.parse(/id="data">(.*?)<\/script>/s.exec(page)?.[1] ?? '') as {
    failures: { command: string }[];
  };
  const inGallery = paste(failures[0]?.command ?? '', '/');
  expect([inGallery.status, inGallery.stderr]).toEqual([0, '']);
  expect(inGallery.stdout).toContain("nightrender run '");

  const plan = await nightrender(['plan', 'my night.yaml', '--output', 'another place'], { cwd });
  const [, planned = ''] = /`(nightrender run [^`…]*)`/.exec(plan.stdout.replaceAll(/\s+/g, ' ')) ?? [];
  expect(paste(planned, cwd).status).toBe(3);

  const [, told = ''] = /`(nightrender retry [^`]*)`/.exec(run.stdout) ?? [];
  const retried = paste(told, cwd);
  expect([retried.status, retried.stderr]).toEqual([0, '']);
  expect(retried.stdout).toContain('2 scenes');
  expect(existsSync(join(cwd, 'out'))).toBe(false);
});

it('names the list that a flag named wherever a run is shown', async () => {
  const cwd = withOwnList('input: {scene: "{{ scene }}", width: 32, height: 32}\n');
  const plan = await nightrender(['plan', ...given], { cwd });
  expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain(`Start it with \`${asGiven}\``);
  const preview = await nightrender(['run', ...given, '--limit', '1'], { cwd });
  expect(preview.stdout).toContain(`\`${asGiven}\` renders the rest`);

  const watch = new Program(['watch', 'night.yaml', '--port', '0', '--json'], { cwd });
  const { url } = await watch.event('watching');
  expect(await (await fetch(`${String(url)}data.json`)).json()).toMatchObject({ command: asGiven });

  rmSync(join(cwd, 'out/images'), { recursive: true });
  mkdirSync(join(cwd, 'out/images'));
  const repaired = await nightrender(['verify', 'night.yaml', '--repair'], { cwd });
  expect(repaired.stdout).toContain(`\`${asGiven}\``);
  expect(paste(asGiven, cwd).status).toBe(0);
  const { stdout } = await nightrender(['status', 'night.yaml', '--json'], { cwd });
  expect(JSON.parse(stdout)).toMatchObject({ summary: { scenes: { saved: 2, withdrawn: 0 } } });
});

it('names no list where the command takes none, and that of the batch again after it', async () => {
  const cwd = withOwnList(failing);
  const run = await nightrender(['run', ...given], { cwd });
  const [, told = ''] = /`(nightrender retry [^`]*)`/.exec(run.stdout) ?? [];
  expect(told).toBe('nightrender retry night.yaml');
  expect(paste(told, cwd).stdout).toContain(`\`${asGiven}\``);
  expect((await nightrender(['run', 'night.yaml', '--quiet'], { cwd })).code).toBe(3);
  expect(paste(told, cwd).stdout).toContain('`nightrender run night.yaml`');
});

const given = ['night.yaml', '--manifest', 'my list.csv'];
const asGiven = "nightrender run night.yaml --manifest 'my list.csv'";

/** Beside the list of the file. */
function withOwnList(more: string): string {
  const own = scenes(2).replaceAll(/^s/gm, 'own');
  return folderWith({ 'night.yaml': pipeline('local', more), 'scenes.csv': scenes(1), 'my list.csv': own });
}

/** Promise: a command that is shown does what it says where it is pasted, also for a batch whose folder a flag names. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { folderWith, nightrender, pipeline, root, scenes } from './cli.ts';

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

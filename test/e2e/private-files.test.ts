/** Promise: files with prompts, ids or keys are readable only by their owner, whatever the umask; pictures follow the umask. */
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { folderWith, nightOf, serve, testKey } from './cli.ts';

let usual = 0;
beforeEach(() => void (usual = process.umask(0o022)));
afterEach(() => void process.umask(usual));

const small = 'input: {scene: "{{ scene }}", width: 32, height: 32}\n';

it('files are private in the output folder, during and after a run with the local service', async () => {
  const night = nightOf('local', 6, `${small}concurrency: 1\n`);
  // An existing folder keeps the permissions that its owner has set.
  mkdirSync(night.path('out'), { mode: 0o755 });
  const run = night.program('run', 'pipeline.yaml', '--json');
  await run.event('scene-saved');
  const during = modes(night.path('out'));
  await run.finish().exits(0);
  const after = modes(night.path('out'));
  for (const name of ['checkpoint.sqlite-wal', 'checkpoint.sqlite-shm', 'local-service/service.sqlite-wal'])
    expect(Object.keys(during)).toContain(name);
  expect(after['report/results.csv']).toBe('600');
  expect(Object.entries({ ...during, ...after }).filter(isOpen)).toEqual([]);
  expect(after['images/s0.png']).toBe('644');
});

it('files are private in the data folder of the service, while it works', async () => {
  const { url, dataDir } = await serve(folderWith({}));
  const night = nightOf(url, 2, small);
  const env = { NIGHTRENDER_API_KEY: testKey };
  await night.with({ env }).run('--quiet').exits(0);
  const found = modes(dataDir);
  expect(Object.keys(found)).toEqual(expect.arrayContaining(['service.sqlite', 'service.sqlite-wal']));
  expect(Object.entries(found).filter(isOpen)).toEqual([]);
  expect((statSync(dataDir).mode & 0o777).toString(8)).toBe('700');
});

it('files are private again if a file came back from a copy that all may read', async () => {
  const night = nightOf('local', 2, small);
  await night.run('--quiet');
  const files = ['checkpoint.sqlite', 'local-service/service.sqlite'].map((name) => night.path('out', name));
  for (const file of files) chmodSync(file, 0o644);
  await night.run('--quiet');
  expect(Object.entries(modes(night.path('out'))).filter(isOpen)).toEqual([]);
});

/** Returns the permissions of files and folders by path. Files that disappear meanwhile are left out. */
function modes(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  return Object.fromEntries(
    names.flatMap((name) => {
      const stats = statSync(join(dir, name), { throwIfNoEntry: false });
      return stats === undefined ? [] : [[name, (stats.mode & 0o777).toString(8)]];
    }),
  );
}

/** True if others can read it although it is not in the folder of pictures. */
function isOpen([name, mode]: [string, string]): boolean {
  return !/^images(\/|$)/.test(name) && !mode.endsWith('00');
}

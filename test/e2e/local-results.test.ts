/** Promise: the local service keeps no result whose pictures are saved and on record, and every other one, also over kills. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isWhole, random, seed } from '../fakes/tier.ts';
import { inProcess, jobsOf, newBatch, nightrender, Program, statusOf } from './cli.ts';
import { attemptsThat, picturesIn } from './same-books.ts';

const sizes = (width: number, height: number): string =>
  `input: {scene: "{{ scene }}", width: ${width}, height: ${height}}\nconcurrency: 8\n`;

it('holds next to nothing after a run of some hundred pictures, and renders one anew where that is asked for', async () => {
  const count = isWhole ? 300 : 60;
  const cwd = newBatch('local', count, sizes(128, 96));
  const first = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  expect([first.code, first.stderr]).toEqual([0, '']);
  expect(bytesIn(join(cwd, 'out/local-service'))).toBeLessThan(bytesIn(join(cwd, 'out/images')) / 4);

  await inProcess(['retry', 'pipeline.yaml', '--id', 's7', '--again'], { cwd });
  const second = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
  expect([second.code, second.stderr]).toEqual([0, '']);
  expect(jobsOf(join(cwd, 'out/local-service'))).toBe(count + 1);
  expect((await inProcess(['verify', 'pipeline.yaml'], { cwd })).code).toBe(0);
});

it('deletes results that are long enough for files of their own', async () => {
  const cwd = newBatch('local', 3, sizes(1024, 1024));
  expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd })).code).toBe(0);
  expect(readdirSync(join(cwd, 'out/local-service/results'))).toEqual([]);
});

const sceneCount = isWhole ? 160 : 48;
const kills = isWhole ? 12 : 4;

it(`sends nothing twice after ${kills} kills, each right after a picture was saved`, async () => {
  const cwd = newBatch('local', sceneCount, sizes(96, 64));
  const service = join(cwd, 'out/local-service');
  for (let kill = 0; kill < kills; kill += 1) {
    const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd });
    // Its deletion is under way then, or about to begin.
    await run.event('scene-saved', 1 + random(6));
    run.child.kill('SIGKILL');
    await run.finish();
  }
  const { code, stderr } = await nightrender(['run', 'pipeline.yaml', '--quiet'], { cwd });
  expect([code, stderr], `seed ${seed}`).toEqual([0, '']);
  expect(jobsOf(service), `seed ${seed}`).toBe(sceneCount);
  expect(attemptsThat("state = 'saved'", cwd)).toBe(sceneCount);
  expect(picturesIn(cwd)).toHaveLength(sceneCount);
  expect(await statusOf(cwd)).toMatchObject({ summary: { attempts: { total: sceneCount } } });
});

function bytesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

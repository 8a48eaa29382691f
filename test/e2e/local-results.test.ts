/** Promise: the local service keeps no result whose pictures are saved and on record, and every other one, also over kills. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isWhole, random, rest, runs, seed } from '../fakes/tier.ts';
import { inProcess, jobsOf, newBatch, Program, statusOf } from './cli.ts';
import { attemptsThat, picturesIn } from './same-books.ts';

const sizes = (width: number, height: number): string =>
  `input: {scene: "{{ scene }}", width: ${width}, height: ${height}}\nconcurrency: 8\n`;

it('holds next to nothing after a run of many pictures, and renders one anew where that is asked for', async () => {
  // Fewer pictures are larger ones, so that they outweigh the empty database of the service.
  const [count, size] = isWhole ? [300, sizes(128, 96)] : [12, sizes(256, 192)];
  const cwd = newBatch('local', count, size);
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
  const cwd = newBatch('local', 1, sizes(1024, 1024));
  expect((await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd })).code).toBe(0);
  expect(readdirSync(join(cwd, 'out/local-service/results'))).toEqual([]);
});

const kills = runs(12, { ms: 2_500 });
/** More scenes than are done by the last kill, so that each kill meets a run at work. */
const sceneCount = 10 + 13 * kills;

rest.it(`sends nothing twice after a kill (${kills}), each right after a picture was saved`, async () => {
  const cwd = newBatch('local', sceneCount, sizes(32, 32));
  const service = join(cwd, 'out/local-service');
  for (let kill = 0; kill < kills; kill += 1) {
    const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd });
    // Its deletion is under way then, or about to begin.
    await run.event('scene-saved', 1 + random(6));
    run.child.kill('SIGKILL');
    await run.finish();
  }
  const { code, stderr } = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
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

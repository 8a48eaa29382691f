/**
 * Promise: the local service deletes results whose pictures are saved and recorded, and keeps all others,
 * also after kills.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { firstTier, isWhole, random, rest, runs, seed } from '../fakes/tier.ts';
import { jobsOf, nightOf } from './cli.ts';
import { attemptsThat, picturesIn } from './same-books.ts';

const sizes = (width: number, height: number): string =>
  `input: {scene: "{{ scene }}", width: ${width}, height: ${height}}\nconcurrency: 8\n`;

it('the local service stores almost nothing after a run of many pictures, and renders a picture again on request', async () => {
  // Fewer pictures must be larger, so that together they outweigh the empty database of the service.
  const [count, size] = isWhole ? [300, sizes(128, 96)] : [12, sizes(256, 192)];
  const night = nightOf('local', count, size);
  await night.run('--quiet').exits(0).warnsOnly('');
  expect(bytesIn(night.path('out/local-service'))).toBeLessThan(bytesIn(night.path('out/images')) / 4);

  await night.retry('--id', 's7', '--again');
  await night.run('--quiet').exits(0).warnsOnly('');
  expect(night.localJobs()).toBe(count + 1);
  await night.verify().exits(0);
});

firstTier.it('the local service deletes results that are long enough for files of their own', async () => {
  const night = nightOf('local', 1, sizes(1024, 1024));
  await night.run('--quiet').exits(0);
  expect(readdirSync(night.path('out/local-service/results'))).toEqual([]);
});

const kills = runs(12, { ms: 2_500 });
/** More scenes than are done by the last kill, so every kill hits a working run. */
const sceneCount = 10 + 13 * kills;

rest.it(
  `a run at the local service sends nothing twice after a kill (${kills}), each right after a picture was saved`,
  async () => {
    const night = nightOf('local', sceneCount, sizes(32, 32));
    const service = night.path('out/local-service');
    for (let kill = 0; kill < kills; kill += 1) {
      const run = night.program('run', 'pipeline.yaml', '--json');
      // At this moment the deletion is in progress or about to begin.
      await run.event('scene-saved', 1 + random(6));
      run.child.kill('SIGKILL');
      await run.finish();
    }
    const { code, stderr } = await night.run('--quiet');
    expect([code, stderr], `seed ${seed}`).toEqual([0, '']);
    expect(jobsOf(service), `seed ${seed}`).toBe(sceneCount);
    expect(attemptsThat("state = 'saved'", night.cwd)).toBe(sceneCount);
    expect(picturesIn(night.cwd)).toHaveLength(sceneCount);
    expect(await night.state()).toMatchObject({ summary: { attempts: { total: sceneCount } } });
  },
);

function bytesIn(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

/**
 * Promise: a batch that continues at another endpoint says so before anything is paid, and the results say
 * where each picture was made.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { openCheckpoint } from '../../src/runner/checkpoint/open-checkpoint.ts';
import { readRecords } from '../../src/runner/checkpoint/scene-records.ts';
import { plan } from '../../src/commands/plan.ts';
import { tempFolder } from '../runner/config/pipeline-file.ts';
import { endpoint, manifestOf, unstopped, World } from '../fakes/world.ts';
import { heard } from './heard.ts';

const manifest = manifestOf(['a', 'b', 'c', 'd', 'e'].map((id) => [id, `scene ${id}`]));

function warningsOf({ events }: World): string[] {
  return events.flatMap((event) => (event.type === 'warning' ? [event.text] : []));
}

it.each([
  [{ ...endpoint, id: 'other' }, 'https://service.example/v2/other'],
  [{ ...endpoint, version: 'v1' as const }, 'https://service.example/v1/scene-renderer'],
  [{ ...endpoint, baseUrl: 'http://127.0.0.1:4747' }, 'http://127.0.0.1:4747/v2/scene-renderer'],
])(
  'another endpoint is reported by the run, and each row of the results names its own',
  async (other, address) => {
    const world = new World();
    await world.run({ manifest, settings: { concurrency: 1, limits: { jobs: 2 } } });
    expect(warningsOf(world)).toEqual([]);
    await world.run({ manifest, settings: { endpoint: other, concurrency: 1, limits: { jobs: 3 } } });
    const before = 'https://service.example/v2/scene-renderer';
    expect(warningsOf(world)).toEqual([
      `the endpoint has changed: 2 of 5 scenes were made at ${before}; the 3 that wait go to ${address}`,
    ]);
    const rows = Array.from(readRecords(world.db), ({ state, endpoint: at }) => [state, at]);
    expect(rows).toEqual([
      ['saved', before],
      ['saved', before],
      ['saved', address],
      ['waiting', null],
      ['waiting', null],
    ]);
  },
);

it('another endpoint is reported by the plan', async () => {
  const dir = tempFolder();
  const out = join(dir, 'out');
  mkdirSync(out);
  const identity = { manifest: ['a.csv'], endpoint, columns: ['id', 'scene'] };
  const opened = openCheckpoint(out, 'test', identity, 0);
  const { checkpoint } = opened;
  await checkpoint.reconcile(manifest, unstopped);
  const [attempt] = await checkpoint.claim(1, endpoint, 1);
  if (attempt === undefined) throw new Error('no scene waits');
  await checkpoint.recordSubmitted(attempt, { jobId: 'j', status: 'IN_QUEUE', at: 1 });
  await checkpoint.settle(attempt, { state: 'saved', at: 2, pictures: [], scene: { state: 'saved' } });
  opened.close();
  writeFileSync(
    join(dir, 'a.csv'),
    `id,scene\n${['a', 'b', 'c', 'd', 'e'].map((id) => `${id},scene ${id}\n`).join('')}`,
  );
  const file = join(dir, 'pipeline.yaml');
  const there = 'endpoint: {baseUrl: "https://service.example", id: moved}';
  writeFileSync(file, `${there}\noutput: {dir: out}\nmanifest: a.csv\n`);
  vi.stubEnv('NIGHTRENDER_API_KEY', 'k');
  const { code, said } = await heard(() => plan(file, { json: true }));
  vi.unstubAllEnvs();
  expect([code, JSON.parse(said)]).toMatchObject([
    0,
    {
      warning:
        'the endpoint has changed: 1 of 5 scenes were made at https://service.example/v2/scene-renderer; the 4 that wait go to https://service.example/v2/moved',
    },
  ]);
});

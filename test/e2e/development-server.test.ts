/** Promise: the development server of a worker SDK renders a batch. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDevelopmentServer } from '../fakes/development-server.ts';
import { folderWith, inProcess, linesOf, pipeline, scenes, testKey } from './cli.ts';
import { blackPicture } from './stand-ins.ts';

it('is sent neither id nor key, asked by POST, and renders again what was lost with an answer', async () => {
  const { url, requests } = await startDevelopmentServer({ image: await blackPicture() }, [2]);
  const remote = pipeline(url, 'concurrency: 1\nretry: {firstWait: 1ms, longestWait: 1ms}');
  const file = remote.replace(/ {2}apiKey: .*\n/, '  version: dev\n');
  const cwd = folderWith({ 'pipeline.yaml': file, 'scenes.csv': scenes(3) });
  const env = { NIGHTRENDER_API_KEY: testKey };

  const plan = await inProcess(['plan', 'pipeline.yaml', '--check'], { cwd, env });
  expect([plan.code, plan.stdout]).toEqual([0, expect.stringContaining(`POST ${url}/run`)]);
  const run = await inProcess(['run', 'pipeline.yaml'], { cwd, env });
  expect([run.code, run.stderr]).toEqual([0, run.stderr]);
  expect(new Set(requests)).toEqual(new Set(['GET /health', 'POST /run', 'POST /status/ID']));
  expect(requests.filter((each) => each === 'POST /run')).toHaveLength(4);
  const listed = await inProcess(['list', 'pipeline.yaml', '--json'], { cwd });
  expect(linesOf(listed).map(({ endpoint }) => endpoint)).toEqual([url, url, url]);

  writeFileSync(join(cwd, 'scenes.csv'), scenes(4));
  writeFileSync(join(cwd, 'pipeline.yaml'), file.replace('version: dev', 'version: v2'));
  const changed = await inProcess(['plan', 'pipeline.yaml'], { cwd, env });
  expect(changed.stdout + changed.stderr).toContain(
    `3 of 4 scenes were made at ${url}; the waiting scene goes to ${url}/v2/scene-renderer`,
  );
});

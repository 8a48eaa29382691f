/** Promise: the development server of a worker SDK renders a batch. */
import { expect, it } from 'vitest';
import { startDevelopmentServer } from '../fakes/development-server.ts';
import { nightWith, pipeline, scenes, testKey } from './cli.ts';
import { blackPicture } from './stand-ins.ts';

it('a development server gets neither id nor key, is polled by POST, and renders again what was lost with an answer', async () => {
  const { url, requests } = await startDevelopmentServer({ image: await blackPicture() }, [2]);
  const remote = pipeline(url, 'concurrency: 1\nretry: {firstWait: 1ms, longestWait: 1ms}');
  const file = remote.replace(/ {2}apiKey: .*\n/, '  version: dev\n');
  const night = nightWith({ 'pipeline.yaml': file, 'scenes.csv': scenes(3) });
  const env = { NIGHTRENDER_API_KEY: testKey };

  await night.with({ env }).plan('--check').exits(0, `POST ${url}/run`);
  const run = await night.with({ env }).run();
  expect([run.code, run.stderr]).toEqual([0, run.stderr]);
  expect(new Set(requests)).toEqual(new Set(['GET /health', 'POST /run', 'POST /status/ID']));
  expect(requests.filter((each) => each === 'POST /run')).toHaveLength(4);
  expect((await night.list('--json').lines()).map(({ endpoint }) => endpoint)).toEqual([url, url, url]);

  night.write('scenes.csv', scenes(4));
  night.write('pipeline.yaml', file.replace('version: dev', 'version: v2'));
  const changed = await night.with({ env }).plan();
  expect(changed.stdout + changed.stderr).toContain(
    `3 of 4 scenes were made at ${url}; the waiting scene goes to ${url}/v2/scene-renderer`,
  );
});

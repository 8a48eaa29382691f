/** Promise: a killed run leaves a report of its progress. */
import { expect, it } from 'vitest';
import { nightOf, testKey } from './cli.ts';
import { startPatientService } from './stand-ins.ts';

it('a killed run leaves a report', async () => {
  const service = await startPatientService();
  const night = nightOf(service.url, 3, 'report: {every: 1s}\n');
  const env = { NIGHTRENDER_API_KEY: testKey };
  const run = night.with({ env }).program('run', 'pipeline.yaml', '--json');
  await run.event('scene-submitted', 3);
  await expect.poll(() => night.has('out/report/index.html')).toBe(true);
  run.child.kill('SIGKILL');
  await run.finish();
  expect(night.read('out/report/results.csv').split('\n')).toHaveLength(5);
  expect(night.read('out/report/summary.json')).toMatch(/"active": 3/);
});

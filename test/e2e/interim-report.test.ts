/** Promise: a killed run leaves a report of its progress. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { newBatch, Program, testKey } from './cli.ts';
import { startPatientService } from './stand-ins.ts';

it('leaves a report, though the run is killed', async () => {
  const service = await startPatientService();
  const cwd = newBatch(service.url, 3, 'report: {every: 1s}\n');
  const env = { NIGHTRENDER_API_KEY: testKey };
  const run = new Program(['run', 'pipeline.yaml', '--json'], { cwd, env });
  await run.event('scene-submitted', 3);
  await expect.poll(() => existsSync(join(cwd, 'out/report/index.html'))).toBe(true);
  run.child.kill('SIGKILL');
  await run.finish();
  expect(readFileSync(join(cwd, 'out/report/results.csv'), 'utf8').split('\n')).toHaveLength(5);
  expect(readFileSync(join(cwd, 'out/report/summary.json'), 'utf8')).toMatch(/"active": 3/);
});

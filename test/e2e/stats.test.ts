/** Promise: `run --stats` says what held the run back; the report and `status` say the same, also later. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RunStats } from '../../src/runner/core/run-stats.ts';
import { inProcess, cutOffRun, linesOf, newBatch, small, statusOf } from './cli.ts';
import { startSlowService } from './stand-ins.ts';

it('prints it, and summary.json, status and a report made anew say the same', async () => {
  const cwd = newBatch('local', 5, `${small}concurrency: 2\n`);
  const { code, stdout } = await inProcess(['run', 'pipeline.yaml', '--stats'], { cwd });
  expect(code, stdout).toBe(0);
  const stats = statsIn(cwd);
  const block = /What slowed the run down, in .*:\n[^]*/.exec(stdout)?.[0];
  expect(block).toContain(`${stats?.requestsPerJob.status} status requests a job`);
  expect(block).toMatch(/ {2}in flight (below|at) the limit of 2 /);
  expect(stats).toMatchObject({
    concurrency: 2,
    jobs: { submitted: 5, resumed: 0 },
    requests: { submissions: 5 },
    lagMs: { jobs: 5 },
    lagAtMostMs: null,
    pictures: { files: 5 },
  });
  expect(Object.values(stats?.timeMs ?? {}).reduce((sum, ms) => sum + ms, 0)).toBe(stats?.tookMs);
  rmSync(join(cwd, 'out/report'), { recursive: true });
  await inProcess(['report', 'pipeline.yaml'], { cwd });
  expect(statsIn(cwd)).toEqual(stats);
  expect((await inProcess(['status', 'pipeline.yaml'], { cwd })).stdout).toContain(block);
  expect(await statusOf(cwd)).toMatchObject({ summary: { lastRun: { stats } } });
});

it('is one event with its fields before the end in JSON, and kept for the report where it was not asked for', async () => {
  const cwd = newBatch('local', 2, small);
  const silent = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect(silent.stdout).not.toContain('What slowed');
  expect(statsIn(cwd)).toMatchObject({ jobs: { submitted: 2 } });
  const { stdout } = await inProcess(['run', 'pipeline.yaml', '--json', '--stats'], { cwd });
  const events = linesOf<{ type: string }>({ stdout });
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['run-stats', 'run-ended']);
  // Nothing was left to do: the event is this run's, and the record keeps the one that did something.
  expect(events.at(-2)).toMatchObject({
    jobs: { submitted: 0 },
    requestsPerJob: { status: null },
    lagMs: null,
  });
  expect(statsIn(cwd)).toMatchObject({ jobs: { submitted: 2 } });
});

it('is absent where the run died', async () => {
  const service = await startSlowService(20);
  const cwd = newBatch(service.url, 40);
  await cutOffRun(cwd, 1, { event: 'scene-saved', args: ['--stats'] });
  expect((await inProcess(['status', 'pipeline.yaml'], { cwd })).stdout).not.toContain('What slowed');
  await inProcess(['report', 'pipeline.yaml'], { cwd });
  expect(statsIn(cwd)).toBeNull();
});

function statsIn(cwd: string): RunStats | null {
  const summary = JSON.parse(readFileSync(join(cwd, 'out/report/summary.json'), 'utf8')) as {
    lastRun: { stats: RunStats | null };
  };
  return summary.lastRun.stats;
}

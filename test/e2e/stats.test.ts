/** Promise: `run --stats` says what held the run back. The report and `status` say the same, also later. */
import { rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { RunStats } from '../../src/runner/core/run-stats.ts';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { stats as someStats, timeMs } from '../fakes/stats.ts';
import { type Night, nightOf, small } from './cli.ts';
import { startSlowService } from './stand-ins.ts';

it('`--stats` prints the reasons, and summary.json, status and a rebuilt report say the same', async () => {
  const night = nightOf('local', 5, `${small}concurrency: 2\n`);
  const { stdout } = await night.run('--stats').exits(0);
  const stats = statsIn(night);
  const block = /What slowed the run down, in .*:\n[^]*/.exec(stdout)?.[0];
  expect(block).toContain(`${stats?.requestsPerJob.status} status requests a job`);
  expect(block).toMatch(/ {2}in flight (below|at) the limit of 2 /);
  expect(stats).toMatchObject({
    concurrency: 2,
    jobs: { submitted: 5, resumed: 0 },
    requests: { submissions: 5 },
    pictures: { files: 5 },
  });
  // If the machine is busy, a job may seem to have ended before a poll that found it running. Then only the longest possible
  // lag is known.
  expect((stats?.lagMs?.jobs ?? 0) + (stats?.lagAtMostMs?.jobs ?? 0)).toBe(5);
  expect(Object.values(stats?.timeMs ?? {}).reduce((sum, ms) => sum + ms, 0)).toBe(stats?.tookMs);
  rmSync(night.path('out/report'), { recursive: true });
  await night.do('report');
  expect(statsIn(night)).toEqual(stats);
  await night.status('--stats').prints(block ?? stdout);
  await night.status().printsNo('What slowed');
  expect(await night.state()).toMatchObject({ summary: { lastRun: { stats } } });
});

it('`--stats` is one event before the end in JSON, and the report has the stats even if they were not requested', async () => {
  const night = nightOf('local', 2, small);
  await night.run().printsNo('What slowed');
  expect(statsIn(night)).toMatchObject({ jobs: { submitted: 2 } });
  const events = await night.run('--json', '--stats').lines<{ type: string }>();
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['run-stats', 'run-ended']);
  // This run had nothing to do, so the event describes it, and the record keeps the earlier run.
  expect(events.at(-2)).toMatchObject({
    jobs: { submitted: 0 },
    requestsPerJob: { status: null },
    lagMs: null,
  });
  expect(statsIn(night)).toMatchObject({ jobs: { submitted: 2 } });
});

it('`status` shows the stats if they are worth reading, with the concurrency to try', async () => {
  const night = nightOf('local', 1, small);
  await night.run().exits(0).printsNo('may finish sooner');
  const moreJobs = { slots: 16, beganWithinMs: 700, concurrency: 64 };
  const statusOf = (told: RunStats) => {
    const db = new Sqlite(night.path('out/checkpoint.sqlite'));
    db.prepare('UPDATE runs SET stats = ?').run(JSON.stringify(told));
    db.close();
    return night.status();
  };
  await statusOf({ ...someStats, moreJobs }).exits(
    0,
    'What slowed the run down, in 8 h 0 min:',
    /^speed {5}all 16 slots were in use and jobs began within 1 s: `concurrency: 64` may finish sooner$/m,
  );
  // A short list cannot be improved by a setting.
  const { tookMs } = someStats;
  await statusOf({
    ...someStats,
    timeMs: timeMs({ inFlight: tookMs * 0.6, nothingLeft: tookMs * 0.4 }),
  }).printsNo('What slowed', 'may finish sooner');
});

it('the stats are absent if the run died', async () => {
  const service = await startSlowService(20);
  const night = nightOf(service.url, 40);
  await night.cutOff(1, { event: 'scene-saved', args: ['--stats'] });
  await night.status('--stats').printsNo('What slowed');
  await night.do('report');
  expect(statsIn(night)).toBeNull();
});

function statsIn(night: Night): RunStats | null {
  const summary = JSON.parse(night.read('out/report/summary.json')) as {
    lastRun: { stats: RunStats | null };
  };
  return summary.lastRun.stats;
}

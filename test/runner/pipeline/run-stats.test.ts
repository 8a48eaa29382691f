/** Promise: `--stats` reports correctly how many requests a run sent and what kept its slots free. */
import { describe, expect, it } from 'vitest';
import {
  moreJobsFor,
  type RunStats,
  type SlotState,
  slotStates,
} from '../../../src/runner/core/run-stats.ts';
import type { RenderService, StatusReply } from '../../../src/runner/pipeline/ports.ts';
import { freshJob } from '../../../src/runner/pipeline/poll-scheduler.ts';
import { StatsRecorder } from '../../../src/runner/pipeline/stats-recorder.ts';
import type { Attempt, Submitted } from '../../../src/runner/core/attempt.ts';
import { pictureOf, type FakeJob } from '../../fakes/fake-service.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';
import { stats as someStats, timeMs as slotTimes } from '../../fakes/stats.ts';
import { firstTier, isWhole } from '../../fakes/tier.ts';
import { defaultSettings, endpoint, manifestOf, World, type RunOptions } from '../../fakes/world.ts';

const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

/** Polls each second. A job takes 5 s, so the poll finds it exactly when it completes. */
const eachSecond = { lag: 0.05, shortest: 1_000, longest: 1_000 };

async function statsOf(
  world: World,
  count: number,
  settings: RunOptions['settings'],
  options: Partial<RunOptions> = {},
): Promise<RunStats> {
  const manifest = list(count);
  const result = await world.run({ manifest, settings: { polling: eachSecond, ...settings }, ...options });
  if (result === undefined) throw new Error('the run was killed');
  return result.stats;
}

/** Returns the time in each slot state, without states that did not occur. */
function timeOf({ timeMs, tookMs }: RunStats): Partial<Record<SlotState, number>> {
  const entries = slotStates.map((state): [SlotState, number] => [state, timeMs[state]]);
  expect(entries.reduce((sum, [, ms]) => sum + ms, 0)).toBe(tookMs);
  return Object.fromEntries(entries.filter(([, ms]) => ms > 0));
}

/** Answers the first `times` submissions of other scenes than scene 0 with 429. */
function refuseFirst(world: World, times: number): void {
  let refusals = times;
  world.service.instead.submit = (scene) =>
    scene !== 'scene 0' && refusals-- > 0
      ? { kind: 'failure', failure: { kind: 'overloaded', text: '429', retryAfterMs: 3_000 } }
      : undefined;
}

firstTier.it('learns from the first jobs when to poll the others', async () => {
  const world = new World(() => ({ queueMs: 0, executionMs: 20_000 }));
  const { requestsPerJob, lagMs } = await statsOf(world, 40, {
    concurrency: 2,
    polling: defaultSettings.polling,
  });
  expect(requestsPerJob.status).toBeLessThan(8);
  expect(lagMs?.p95).toBeLessThan(2_000);
});

firstTier.describe('the time below the limit', () => {
  it('is the share of slots that no scene is left for', async () => {
    const stats = await statsOf(new World(), 6, { concurrency: 4 });
    expect(stats).toMatchObject({ tookMs: 10_000, concurrency: 4, jobs: { submitted: 6, resumed: 0 } });
    expect(timeOf(stats)).toEqual({ inFlight: 7_500, nothingLeft: 2_500 });
  });

  it('is zero if every slot is in flight all the time', async () => {
    expect(timeOf(await statsOf(new World(), 8, { concurrency: 4 }))).toEqual({ inFlight: 10_000 });
  });

  it('names our own rate if a submission waits for its turn', async () => {
    const world = new World();
    const rate = { ...defaultSettings.rate, submit: { atOnce: 200, perTenSeconds: 10 } };
    const stats = await statsOf(world, 2, { concurrency: 2, rate });
    const waitedMs = submittedAt(world, 1);
    expect(waitedMs).toBeGreaterThan(500);
    const each = Math.round(waitedMs / 2);
    expect(timeOf(stats)).toEqual({ inFlight: 5_000, rate: each, nothingLeft: each });
  });

  it('names the 429 that a submission backs off from', async () => {
    const world = new World();
    refuseFirst(world, 2);
    const stats = await statsOf(world, 3, { concurrency: 3 });
    expect(timeOf(stats)).toMatchObject({ load: 2_000 });
    expect(stats.lostTo429).toMatchObject({ answers: { submissions: 2, status: 0 }, backOffMs: 2_000 });
    expect(stats.requestsPerJob.submissions).toBe(1.67);
  });

  it('names the 429 of the first submission, until whose acceptance no other is sent', async () => {
    const world = new World();
    let refusals = 3;
    world.service.instead.submit = () =>
      refusals-- > 0 ? { kind: 'failure', failure: { kind: 'overloaded', text: '429' } } : undefined;
    const { load, ...other } = timeOf(await statsOf(world, 4, { concurrency: 4 }));
    expect(load).toBeGreaterThan(0);
    expect(other).toEqual({ inFlight: 5_000 });
    expect(world.service.jobs.map(({ scene }) => scene)).toContain('scene 3');
  });

  it('names a Retry-After that other submissions wait for', async () => {
    const world = new World();
    refuseFirst(world, 20);
    const stats = await statsOf(world, 40, { concurrency: 40 });
    const { slowed = 0 } = timeOf(stats);
    expect(slowed).toBeGreaterThan(0);
    expect(stats.lostTo429).toMatchObject({ answers: { submissions: 20, status: 0 }, slowedMs: slowed });
  });

  it('names a service that cannot be reached', async () => {
    const world = new World();
    let isDown = true;
    world.service.instead.submit = () => {
      if (!isDown) return undefined;
      isDown = false;
      return { kind: 'failure', failure: { kind: 'not-reached', text: 'refused' } };
    };
    const stats = await statsOf(world, 1, { concurrency: 1 });
    const waits = world.events.flatMap((event) => (event.type === 'request-troubled' ? event.waitMs : []));
    expect(timeOf(stats)).toEqual({ inFlight: 5_000, outage: waits[0] });
  });

  it('names scenes that wait for another attempt', async () => {
    const failure = { kind: 'job-failed', text: 'no memory' } as const;
    const world = new World((_, nth) => (nth === 1 ? { failure } : {}));
    const stats = await statsOf(world, 1, { concurrency: 1 });
    expect(timeOf(stats)).toEqual({ inFlight: 10_000, retries: submittedAt(world, 1) - 5_000 });
  });

  it('names pictures that are downloaded', async () => {
    const pictures = [{ url: 'https://cdn.example.com/a.png' }];
    const world = new World(() => ({ pictures }));
    let isMissing = true;
    world.downloads.fetch = async () => {
      if (!isMissing) return { bytes: Buffer.from('picture') };
      isMissing = false;
      return { kind: 'download-failed', text: '503', retryAfterMs: 4_000 };
    };
    expect(timeOf(await statsOf(world, 1, { concurrency: 1 }))).toEqual({
      inFlight: 5_000,
      downloads: 4_000,
    });
  });

  it('distinguishes the checking of pictures from their writing', async () => {
    const world = new World();
    const { check, write } = world.images;
    world.images.check = async (...args) => (pass(world.clock, 200), check.apply(world.images, args));
    world.images.write = async (...args) => (pass(world.clock, 100), write.apply(world.images, args));
    const stats = await statsOf(world, 2, { concurrency: 1 });
    expect(timeOf(stats)).toEqual({ inFlight: 10_000, checking: 400, disk: 200 });
  });

  it('names a service that answers no request, while it is probed', async () => {
    const world = new World();
    let losses = 5;
    world.service.instead.submit = () =>
      losses-- > 0 ? { kind: 'failure', failure: { kind: 'unanswered', text: '502' } } : undefined;
    const stats = await statsOf(world, 20, { concurrency: 5 });
    expect(submittedAt(world, 0)).toBeGreaterThan(0);
    expect(stats.timeMs.outage).toBe(submittedAt(world, 0));
  });

  it('names the jobs of earlier runs that are polled before anything is submitted', async () => {
    const world = new World();
    await world.run({ manifest: list(1), settings: { polling: eachSecond }, until: 1_500 });
    const { status } = world.service;
    let isFirst = true;
    world.service.status = async (...args) => {
      if (isFirst) pass(world.clock, 3_000);
      isFirst = false;
      return status.apply(world.service, args);
    };
    const stats = await statsOf(world, 4, { concurrency: 4 }, { afterMs: 600_000 });
    expect(timeOf(stats)).toMatchObject({ resuming: (3_000 * 3) / 4 });
  });

  it('names the memory that an answer waits for', async () => {
    const world = new World();
    const { status } = world.service;
    world.service.status = async (...args: Parameters<RenderService['status']>) => {
      const reply = await status.call(world.service, args[0], args[1]);
      if (reply.kind === 'completed') {
        args[2]?.();
        pass(world.clock, 2_000);
      }
      return reply;
    };
    expect(timeOf(await statsOf(world, 1, { concurrency: 1 }))).toEqual({ inFlight: 5_000, memory: 2_000 });
  });

  it('names limits that are reached', async () => {
    const stats = await statsOf(new World(), 3, { concurrency: 2, limits: { jobs: 1 } });
    expect(timeOf(stats)).toEqual({ inFlight: 2_500, limits: 2_500 });
  });

  it('names a stop', async () => {
    const stats = await statsOf(
      new World(),
      6,
      { concurrency: 4 },
      {
        onEvent: (event, stop) => {
          if (event.type === 'job-status' && event.status === 'IN_PROGRESS')
            stop.request('drain', { kind: 'interrupted', text: 'Stopped' });
        },
      },
    );
    // The run was stopped after 2 of the 5 s, with all slots in flight.
    expect(timeOf(stats)).toEqual({ inFlight: 5_000 });
    const late = await statsOf(
      new World((scene) => (scene === 'scene 0' ? { executionMs: 9_000 } : {})),
      5,
      { concurrency: 4 },
      {
        onEvent: (event, stop) => {
          if (event.type === 'scene-saved') stop.request('drain', { kind: 'interrupted', text: 'Stopped' });
        },
      },
    );
    expect(timeOf(late)).toEqual({ inFlight: 5_000 + 1_250, stopping: 3_750 });
  });
});

describe('the lag', () => {
  it('equals the records of the service at p50 and p95, and the number of requests is right', async () => {
    const count = isWhole ? 200 : 60;
    const world = new World((scene) => ({
      executionMs: 1_000 + ((Number(scene.split(' ')[1]) * 7_919) % 9_000),
    }));
    const { lagMs, lagAtMostMs, requests, requestsPerJob, pictures } = await statsOf(world, count, {
      concurrency: 20,
      polling: defaultSettings.polling,
    });
    expect(lagMs).toEqual({ jobs: count, ...percentiles(lagsOf(world)) });
    expect(lagAtMostMs).toBeNull();
    const status = world.service.log.filter((line) => line.startsWith('status')).length;
    expect(requests).toEqual({ submissions: count, status });
    expect(requestsPerJob).toEqual({ submissions: 1, status: Number((status / count).toFixed(2)) });
    const bytes = [...world.images.files.values()].reduce((sum, text) => sum + text.length, 0);
    expect(pictures).toMatchObject({ files: count, bytes });
  });

  firstTier.it('is an upper bound if the service reports no times', async () => {
    const world = new World((scene) => ({
      executionMs: 1_000 + ((Number(scene.split(' ')[1]) * 7_919) % 9_000),
    }));
    world.service.instead.status = (jobId) => withoutTimes(world, jobId);
    const { lagMs, lagAtMostMs } = await statsOf(world, 50, { concurrency: 10, polling: { ...eachSecond } });
    const found = percentiles(lagsOf(world));
    expect(lagMs).toBeNull();
    expect(lagAtMostMs).toEqual({ jobs: 50, p50: 1_000, p95: 1_000 });
    expect(found.p50).toBeLessThan(1_000);
  });

  firstTier.it('ignores jobs that were done before the run', async () => {
    const world = new World();
    await world.run({ manifest: list(3), settings: { concurrency: 3, polling: eachSecond }, until: 1_500 });
    const stats = await statsOf(world, 4, { concurrency: 3 }, { afterMs: 600_000 });
    expect(stats).toMatchObject({ jobs: { submitted: 1, resumed: 3 }, lagMs: { jobs: 1, p50: 0, p95: 0 } });
    expect(stats.requestsPerJob).toEqual({ submissions: 1, status: 2 });
  });
});

firstTier.it('counts the delay of polls by a 429', async () => {
  const world = new World();
  let refusals = 2;
  world.service.instead.status = () =>
    refusals-- > 0
      ? { kind: 'failure', failure: { kind: 'overloaded', text: '429', retryAfterMs: 6_000 } }
      : undefined;
  const { lostTo429, timeMs } = await statsOf(world, 2, { concurrency: 2 });
  expect(lostTo429).toMatchObject({ answers: { submissions: 0, status: 2 }, backOffMs: 0, looksMs: 6_000 });
  expect(timeMs.load).toBe(0);
});

firstTier.it('the lag is in the report, too', async () => {
  const given: (RunStats | undefined)[] = [];
  const writeReport = async (_: unknown, __: unknown, stats?: RunStats) => (given.push(stats), 'report');
  const stats = await statsOf(new World(), 3, {}, { writeReport });
  expect(given).toEqual([stats]);
});

firstTier.it('distinguishes the wait of an answer for memory from the time before and after it', () => {
  const clock = new VirtualClock(0);
  const recorder = new StatsRecorder(1, clock, () => false);
  const attempt = { key: 7, endpoint } as Attempt;
  recorder.enter(attempt);
  const steps: [SlotState, number][] = [
    ['inFlight', 4_000],
    ['memory', 300],
    ['checking', 200],
    ['disk', 100],
  ];
  for (const [state, ms] of steps) {
    recorder.move(attempt, state);
    pass(clock, ms);
  }
  recorder.leave(attempt);
  expect(timeOf(recorder.result())).toEqual(Object.fromEntries(steps));
});

firstTier.it.each([
  ['the service tells its times', {}, 500, { lagMs: { jobs: 1, p50: 70, p95: 70 }, lagAtMostMs: null }],
  ['it was done before its acceptance was heard of', {}, 590, { lagMs: { jobs: 1, p50: 0, p95: 0 } }],
  [
    'it was seen running since',
    { polledElapsed: 750 },
    500,
    { lagMs: null, lagAtMostMs: { jobs: 1, p50: 50, p95: 50 } },
  ],
  ['its times cannot be', {}, 9_000, { lagMs: null, lagAtMostMs: { jobs: 1, p50: 570, p95: 570 } }],
  ['it tells none', {}, undefined, { lagMs: null, lagAtMostMs: { jobs: 1, p50: 570, p95: 570 } }],
  ['it may have been done before the run', { isResumed: true }, 500, { lagMs: null, lagAtMostMs: null }],
])('says how long the result of a job lay there if %s', (_, seen, executionTimeMs, lags) => {
  const clock = new VirtualClock(0);
  const recorder = new StatsRecorder(1, clock, () => false);
  pass(clock, 230);
  const job = { ...freshJob(clock, { key: 7, job: {} } as Submitted), ...seen };
  pass(clock, 570);
  recorder.collected(job, executionTimeMs === undefined ? {} : { delayTimeMs: 0, executionTimeMs });
  expect(recorder.result()).toMatchObject(lags);
});

firstTier.it('keeps three digits of a lag, so that long runs with long lags need no more memory', () => {
  const clock = new VirtualClock(0);
  const recorder = new StatsRecorder(1, clock, () => false);
  for (const lagMs of [1_234_567, 1_234_999, 7]) {
    const job = freshJob(clock, { key: 7, job: {} } as Submitted);
    pass(clock, lagMs);
    recorder.collected(job, {});
  }
  expect(recorder.result().lagAtMostMs).toEqual({ jobs: 3, p50: 1_230_000, p95: 1_230_000 });
});

/** Lets time pass without other activity. */
function pass(clock: VirtualClock, ms: number): void {
  void clock.sleep(ms, new AbortController().signal);
  clock.advance();
}

/** Returns when the nth job (from 0) was submitted, in ms after the start of the run. */
function submittedAt(world: World, nth: number): number {
  return (world.service.jobs[nth]?.submittedAt ?? NaN) - world.started;
}

function lagsOf(world: World): number[] {
  const rows = world.rows<{ id: string; at: number }>(
    'SELECT job_id AS id, completed_at AS at FROM attempts',
  );
  const collectedAt = new Map(rows.map(({ id, at }) => [id, at]));
  return world.service.jobs.map(({ id, completesAt }) => (collectedAt.get(id) ?? NaN) - completesAt);
}

function percentiles(lags: number[]): { p50: number; p95: number } {
  const sorted = lags.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
  return { p50: at(0.5), p95: at(0.95) };
}

function withoutTimes(world: World, jobId: string): StatusReply | undefined {
  const job = world.service.jobs.find(({ id }: FakeJob) => id === jobId);
  if (job === undefined || world.clock.now() < job.completesAt) return undefined;
  return { kind: 'completed', status: 'COMPLETED', pictures: [pictureOf(jobId)] };
}

firstTier.describe('the advice to have more jobs in flight', () => {
  const settings = { concurrency: 4, maxConcurrency: 1_000 };
  const quick = { queueMs: 300, executionMs: 4_700 };

  it('is given if nothing else was the limit, and jobs began at once', async () => {
    const stats = await statsOf(new World(() => quick), 400, settings);
    expect(stats.moreJobs).toEqual({ slots: 4, beganWithinMs: 300, concurrency: 16 });
  });

  it.each<[string, number, { queueMs: number; executionMs: number }, RunOptions['settings']]>([
    ['if jobs waited at the service', 400, { queueMs: 2_000, executionMs: 3_000 }, {}],
    ['if the number of workers is fixed', 400, quick, { maxConcurrency: 0 }],
    ['if the service takes no more', 400, quick, { maxConcurrency: 4 }],
    ['after a short run', 400, { queueMs: 10, executionMs: 490 }, {}],
    ['after a run of few jobs', 200, { queueMs: 100, executionMs: 9_900 }, {}],
    [
      'if our own rate was the limit',
      400,
      quick,
      { rate: { ...defaultSettings.rate, submit: { atOnce: 1, perTenSeconds: 6 } } },
    ],
  ])('is not given %s', async (_, count, job, more) => {
    const stats = await statsOf(new World(() => job), count, { ...settings, ...more });
    expect(stats.moreJobs).toBeUndefined();
  });

  const all = { ...someStats, tookMs: 600_000, timeMs: slotTimes({ inFlight: 600_000 }), concurrency: 64 };
  const calm = { ...all.lostTo429, answers: { submissions: 0, status: 30 } };
  const waited = { jobs: 9_000, p50: 20, p95: 400 };

  it.each<[string, Partial<RunStats>, Partial<typeof waited> | null, number | undefined]>([
    ['up to what the service takes', {}, {}, 100],
    ['of a service that reports no times', {}, null, undefined],
    ['of a service that reports few times', {}, { jobs: 100 }, undefined],
    ['after a refusal', { lostTo429: all.lostTo429 }, {}, undefined],
    [
      'if a tenth of the slots was empty',
      { timeMs: slotTimes({ inFlight: 530_000, disk: 70_000 }) },
      {},
      undefined,
    ],
    [
      'if a limit stopped the run',
      { timeMs: slotTimes({ inFlight: 590_000, limits: 10_000 }) },
      {},
      undefined,
    ],
    ['for fewer than eight jobs a slot', { jobs: { submitted: 500, resumed: 0 } }, { jobs: 500 }, undefined],
  ])('is, %s, as follows', (_, stats, times, concurrency) => {
    const queueMs = times && { ...waited, ...times };
    expect(moreJobsFor({ ...all, lostTo429: calm, ...stats }, queueMs, 100)?.concurrency).toBe(concurrency);
  });
});

/**
 * Promise: planned polls need far fewer requests than a poll each second, and results arrive as early.
 * Simulates whole runs in virtual time.
 */
import { setMaxListeners } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Submitted } from '../../../src/runner/core/attempt.ts';
import {
  freshJob,
  type Job,
  PollScheduler,
  recordRunning,
  timesTaken,
} from '../../../src/runner/pipeline/poll-scheduler.ts';
import { Stop } from '../../../src/runner/pipeline/stop.ts';
import { logNormal, seededRandom } from '../../bench/random.ts';
import { firstTier, isWhole, rest } from '../../fakes/tier.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

interface Night {
  scenes: number;
  inFlight: number;
  medianMs: number;
  sigma: number;
  /** Execution time in ms of the nth job. Replaces the random times. */
  executionMs?: (nth: number) => number;
  /** True if the service reports how long jobs waited and executed. */
  tellsTimes: boolean;
}

const usual: Night = { scenes: 600, inFlight: 75, medianMs: 8_000, sigma: 0.35, tellsTimes: true };
const settings = { lag: 0.05, shortest: 10, longest: 30_000 };
const workers = 50;
const seeds = [1, 2, 3];

const nights: [Partial<Night>, most: number][] = [
  [{ inFlight: 20, scenes: 200 }, 0.75],
  [{ sigma: 0.1 }, 0.3],
  [{}, 0.55],
  [{ inFlight: 200 }, 0.32],
  [{ sigma: 1 }, 1],
  [{ tellsTimes: false }, 0.65],
];

it.each(isWhole ? nights : nights.slice(0, 2))(
  'a night with %o takes at most %f of the requests, for no more lag, and ends about as soon',
  async (own, most) => {
    const night = { ...usual, ...own };
    const [planned, fixed, knowing] = await Promise.all([
      average(night, planningLooks),
      average(night, lookingEachSecond),
      average(night, knowingAll),
    ]);
    expect(planned.requests / fixed.requests).toBeLessThanOrEqual(most);
    expect(planned.lagMs).toBeLessThanOrEqual(fixed.lagMs * 1.05);
    // If no more jobs are in flight than there are workers, a worker idles while a result waits to be
    // collected.
    expect(planned.endMs / knowing.endMs).toBeLessThan(night.inFlight > workers ? 1.03 : 1.08);
  },
);

firstTier.it(
  'collects the last result of a batch about as soon as looking four times a second would',
  async () => {
    const night = { ...usual, scenes: 75 };
    const planned = await average(night, planningLooks);
    const knowing = await average(night, knowingAll);
    expect(planned.endMs - knowing.endMs).toBeLessThan(250 + planned.medianLagMs);
  },
);

firstTier.it('uses the times of the first jobs at once for all others', async () => {
  const night = { ...usual, scenes: 50, sigma: 0.01, medianMs: 20_000 };
  const { lagMs } = await average(night, planningLooks);
  expect(lagMs).toBeLessThan(3_000);
});

rest.it('sends few polls if jobs suddenly take six hundred times as long', async () => {
  const executionMs = (nth: number): number => (nth <= 300 ? 100 : 60_000);
  const { requests, lagMs } = await average({ ...usual, executionMs }, planningLooks);
  expect(requests / 300).toBeLessThan(75);
  expect(lagMs).toBeLessThan(3_000);
});

firstTier.it('polls all jobs exactly once more when the run leaves', async () => {
  const clock = new VirtualClock(0);
  const stop = new Stop();
  const looks = new PollScheduler(settings, clock, () => 0.5, stop);
  const waits = Promise.all([1, 2, 3].map(() => looks.wait(freshJob(clock, attempt), 60_000)));
  stop.request('leave', { kind: 'interrupted', text: '' });
  await waits;
  expect(clock.elapsed()).toBe(0);
});

interface Outcome {
  requests: number;
  lagMs: number;
  medianLagMs: number;
  endMs: number;
}

async function average(night: Night, looker: Looker): Promise<Outcome> {
  const outcomes = await Promise.all(seeds.map((seed) => spend(night, looker, seed)));
  const mean = (key: keyof Outcome): number =>
    outcomes.reduce((sum, outcome) => sum + outcome[key], 0) / outcomes.length;
  return {
    requests: mean('requests'),
    lagMs: mean('lagMs'),
    medianLagMs: mean('medianLagMs'),
    endMs: mean('endMs'),
  };
}

/** A strategy for polling jobs. */
type Looker = (
  clock: VirtualClock,
  seed: number,
) => {
  wait: (job: Job, doneAt: number) => Promise<void>;
  running: (job: Job, beganAt: number | undefined, tellsTimes: boolean) => void;
  completed: (job: Job, times: { delayTimeMs?: number; executionTimeMs?: number }) => void;
  empty: () => void;
};

const never = new AbortController().signal;
setMaxListeners(0, never);

const lookingEachSecond: Looker = (clock) => ({
  wait: () => clock.sleep(1_000, never),
  running: () => undefined,
  completed: () => undefined,
  empty: () => undefined,
});

const knowingAll: Looker = (clock) => ({
  wait: (_, doneAt) => clock.sleep(doneAt - clock.elapsed(), never),
  running: () => undefined,
  completed: () => undefined,
  empty: () => undefined,
});

const planningLooks: Looker = (clock, seed) => {
  const looks = new PollScheduler(settings, clock, seededRandom(seed + 100), new Stop());
  return {
    wait: (job) => looks.wait(job),
    running: (job, beganAt, tellsTimes) => {
      const now = clock.elapsed();
      const isExecuting = beganAt !== undefined;
      const status = isExecuting ? 'IN_PROGRESS' : 'IN_QUEUE';
      const delayTimeMs = (beganAt ?? now) - job.submittedElapsed;
      recordRunning(job, { kind: 'running', status, isExecuting, ...(tellsTimes && { delayTimeMs }) }, now);
    },
    completed: (job, times) => {
      looks.forget(job);
      const taken = timesTaken(job, times, clock.elapsed());
      if (taken !== undefined) looks.learn(taken);
    },
    empty: () => (looks.hasMore = false),
  };
};

const attempt = {} as Submitted;

/** Simulates a run. Workers take jobs in the order of submission. */
async function spend(night: Night, looker: Looker, seed: number): Promise<Outcome> {
  const clock = new VirtualClock(0);
  const random = seededRandom(seed);
  const client = looker(clock, seed);
  const freeAt = Array.from({ length: workers }, () => 0);
  const lags: number[] = [];
  let requests = 0;
  let left = night.scenes;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      if (left === 0) client.empty();
      const job = freshJob(clock, attempt);
      const worker = freeAt.indexOf(Math.min(...freeAt));
      const beganAt = Math.max(clock.elapsed(), freeAt[worker] ?? 0);
      const drawn = logNormal(random, night.medianMs, night.sigma);
      const executionTimeMs = night.executionMs?.(night.scenes - left) ?? drawn;
      const doneAt = beganAt + executionTimeMs;
      freeAt[worker] = doneAt;
      for (;;) {
        await client.wait(job, doneAt);
        requests += 1;
        const now = clock.elapsed();
        if (now >= doneAt) break;
        client.running(job, now >= beganAt ? beganAt : undefined, night.tellsTimes);
      }
      lags.push(clock.elapsed() - doneAt);
      const times = { delayTimeMs: beganAt - job.submittedElapsed, executionTimeMs };
      client.completed(job, night.tellsTimes ? times : {});
    }
  };
  await throughTime(clock, Promise.all(Array.from({ length: night.inFlight }, lane)));
  const sorted = lags.toSorted((a, b) => a - b);
  const lagMs = lags.reduce((sum, ms) => sum + ms, 0) / lags.length;
  return { requests, lagMs, medianLagMs: sorted[sorted.length >> 1] ?? 0, endMs: clock.elapsed() };
}

async function throughTime(clock: VirtualClock, work: Promise<unknown>): Promise<void> {
  const over = work.then(() => true);
  while (!(await Promise.race([over, nextTurn(false)]))) clock.advance();
}

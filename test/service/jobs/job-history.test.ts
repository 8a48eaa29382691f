/**
 * Promise: ended jobs are counted per minute for the last hour and per quarter of an hour for the last day,
 * by endpoint and in total.
 */
import { expect, it } from 'vitest';
import {
  type EndedJob,
  type Histogram,
  JobDurations,
  JobHistory,
} from '../../../src/service/jobs/job-history.ts';
import type { JobState } from '../../../src/service/model/job.ts';

const minute = 60_000;
/** A quarter of an hour begins at this time. */
const start = 15 * minute * 1_000_000;

function history() {
  const clock = { now: start };
  const book = new JobHistory(() => clock.now);
  const end = (state: JobState, what: Partial<EndedJob> = {}): void =>
    book.noteEnd({
      endpointId: 'a',
      state,
      queuedAt: clock.now - 3_000,
      startedAt: clock.now - 2_000,
      endedAt: clock.now,
      ...what,
    });
  return { clock, book, end };
}

it('the history counts each end of a job in its endpoint, time and kind', () => {
  const { book, end, clock } = history();
  for (const state of ['COMPLETED', 'COMPLETED', 'FAILED', 'TIMED_OUT', 'CANCELLED'] as const) end(state);
  end('COMPLETED', { endpointId: 'b', startedAt: null });
  clock.now += minute;
  end('FAILED');
  const view = book.view('a', 'hour');
  expect([view.since, view.stepMs, view.steps.length]).toEqual([start, minute, 60]);
  expect(view.steps.at(-1)).toEqual({ at: start + minute, completed: 0, failed: 1, queue: 0, gpuMs: 2_000 });
  expect(view.steps.at(-2)).toEqual({ at: start, completed: 2, failed: 2, queue: 0, gpuMs: 10_000 });
  expect(view.steps[0]).toEqual({ at: start - 58 * minute, completed: 0, failed: 0, queue: 0, gpuMs: 0 });
  expect(book.view(null, 'hour').steps.at(-2)).toMatchObject({ completed: 3, gpuMs: 10_000 });
  expect(book.view('b', 'hour').steps.at(-2)).toMatchObject({ completed: 1, gpuMs: 0 });
  expect(book.view('none', 'hour').steps.at(-2)).toMatchObject({ completed: 0 });
});

it('the history shows a day in quarters of an hour, and no older jobs', () => {
  const { book, end, clock } = history();
  for (let each = 0; each < 20; each++, clock.now += minute) end('COMPLETED');
  clock.now -= minute;
  const { stepMs, steps, since } = book.view('a', 'day');
  expect([stepMs, steps.length, since]).toEqual([15 * minute, 96, start]);
  expect(steps.slice(-2).map(({ at, completed }) => [at, completed])).toEqual([
    [start, 15],
    [start + 15 * minute, 5],
  ]);
  clock.now += 60 * minute;
  expect(book.view('a', 'hour').steps.every(({ completed }) => completed === 0)).toBe(true);
  expect(book.view('a', 'hour').since).toBe(clock.now - 59 * minute);
  for (let each = 0; each < 24 * 60; each++, clock.now += minute) end('FAILED');
  clock.now -= minute;
  const later = book.view('a', 'day').steps;
  expect(later.reduce((sum, { completed }) => sum + completed, 0)).toBe(0);
});

it('the history keeps the greatest length of a queue within each step', () => {
  const { book, clock } = history();
  const queues = [
    { endpointId: 'a', jobs: 3 },
    { endpointId: 'b', jobs: 4 },
  ];
  book.noteQueues(queues);
  book.noteQueues([{ endpointId: 'a', jobs: 2 }]);
  clock.now += minute;
  book.noteQueues([{ endpointId: 'a', jobs: 1 }]);
  const queue = (endpoint: string | null, range: 'hour' | 'day') =>
    book
      .view(endpoint, range)
      .steps.map((step) => step.queue)
      .slice(-2);
  expect([queue('a', 'hour'), queue('b', 'hour'), queue(null, 'hour')]).toEqual([
    [3, 1],
    [4, 0],
    [7, 1],
  ]);
  expect(queue('a', 'day')).toEqual([0, 3]);
});

it('the history has the median and p95 of waiting and running times, to a few percent', () => {
  const { book, end, clock } = history();
  expect(book.view('a', 'hour')).toMatchObject({ delay: null, execution: null });
  for (let each = 1; each <= 100; each++) {
    const startedAt = clock.now - each * 1_000;
    end('COMPLETED', { startedAt, queuedAt: startedAt - 100 });
  }
  const { delay, execution } = book.view('a', 'hour');
  const isNear = (found = 0, wanted: number): boolean => Math.abs(found / wanted - 1) < 0.05;
  expect([isNear(execution?.p50, 50_000), isNear(execution?.p95, 95_000)]).toEqual([true, true]);
  expect([isNear(delay?.p50, 100), isNear(delay?.p95, 100)]).toEqual([true, true]);
});

it('the history continues if the clock is set back, and counts no negative time', () => {
  const { book, end, clock } = history();
  clock.now += minute;
  end('COMPLETED');
  clock.now -= minute;
  end('COMPLETED', { startedAt: clock.now + 5_000, queuedAt: clock.now + 9_000 });
  clock.now += minute;
  const view = book.view('a', 'hour');
  expect(view.steps.at(-1)).toMatchObject({ completed: 2, gpuMs: 2_000 });
  expect(view.steps.at(-2)).toMatchObject({ completed: 0 });
});

it('the history counts how long jobs waited and ran since the start', () => {
  const durations = new JobDurations();
  const end = (queuedAt: number, startedAt: number | null, endedAt: number, endpointId = 'a'): void =>
    durations.noteEnd({ endpointId, state: 'COMPLETED', queuedAt, startedAt, endedAt });
  end(0, 100, 1_100);
  end(0, 200, 10_000_000);
  end(1_000, 900, 800);
  end(0, null, 800);
  end(0, 1, 2, 'b');
  const { delay, execution } = durations.of('a');
  const countsOf = ({ buckets }: Histogram): number[] => buckets.map(([, count]) => count);
  expect(countsOf(delay)).toEqual([2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]);
  expect([delay.count, delay.sumSeconds]).toEqual([3, expect.closeTo(0.3)]);
  expect(countsOf(execution)).toEqual([1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
  expect([execution.count, execution.sumSeconds]).toEqual([3, 10_000.8]);
  expect([durations.of('b').delay.count, durations.of('none').delay.count]).toEqual([1, 0]);
});

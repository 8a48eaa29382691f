/** What a run has learned of how long its jobs wait and execute, and what polling one of them is worth. */
import { shareOf, withObservation, type ObservedTimes } from './observed-times.ts';

export interface LearnedTimes {
  /** Jobs that were learned from. */
  jobs: number;
  /** Ms from beginning to completion. */
  executions: ObservedTimes;
  /** Ms from submission to beginning of the very latest jobs, oldest first: queues grow and shrink. */
  delays: readonly number[];
  /** A poll is worth its request where it saves this much lag. */
  priceMs: number;
}

export const nothingLearned: LearnedTimes = { jobs: 0, executions: [], delays: [], priceMs: 0 };

const maxDelays = 32;
/** The price is worked out anew for each of the first jobs and then ever more seldom. */
const pricedAlways = 8;
const pricedAtLeastEvery = 64;

/** With one more completed job. `lag` as in `PollSettings`; `random`: 0 ≤ random < 1. */
export function withCompleted(
  learned: LearnedTimes,
  job: { delayMs: number; executionMs: number },
  { lag, minMs }: { lag: number; minMs: number },
  random: number,
): LearnedTimes {
  const jobs = learned.jobs + 1;
  const executions = withObservation(learned.executions, job.executionMs, random);
  const delays = [...learned.delays.slice(1 - maxDelays), job.delayMs];
  const every = Math.min(pricedAtLeastEvery, Math.max(1, Math.floor(jobs / pricedAlways)));
  const priceMs = jobs % every === 0 ? priceFor(executions, lag, minMs) : learned.priceMs;
  return { jobs, executions, delays, priceMs };
}

/**
 * Ms to a poll at which a finished result is expected to have been lying for `priceMs`, where each of the `times` to
 * the completion (ascending) is equally likely. Looking at that moment makes, for the average lag that comes of it,
 * about as few requests as can be made: where jobs complete with chance h in a ms, a poll every √(2·price/h) ms.
 */
export function untilLagMs(times: readonly number[], priceMs: number): number {
  const total = priceMs * times.length;
  let sum = 0;
  let passed = 0;
  for (const time of times) {
    // Between two times the lag grows evenly by those that have passed.
    if (passed * time - sum > total) break;
    sum += time;
    passed += 1;
  }
  return (total + sum) / Math.max(1, passed);
}

/** Looks are no closer to each other, so that no shorter lag can be had on the average. */
const minShare = 0.6;
const steps = 12;

/** The price at which the average lag is what is aimed at; found by halving, in a geometric scale. */
function priceFor(executions: ObservedTimes, lag: number, minMs: number): number {
  const aimMs = Math.max(minShare * minMs, lag * (shareOf(executions, 0.5) ?? 0));
  let low = 1;
  let high = Math.max(2, 4 * aimMs);
  for (let step = 0; step < steps; step++) {
    const middle = Math.sqrt(low * high);
    if (averageLagMs(executions, middle, minMs) > aimMs) high = middle;
    else low = middle;
  }
  return low;
}

/** Of jobs that take these times and are polled at that price from their beginning on. */
function averageLagMs(executions: ObservedTimes, priceMs: number, minMs: number): number {
  let lag = 0;
  let age = 0;
  for (let at = 0; at < executions.length;) {
    const left = executions.slice(at).map((ms) => ms - age);
    age += Math.max(minMs, untilLagMs(left, priceMs));
    for (; at < executions.length && (executions[at] ?? 0) <= age; at++) lag += age - (executions[at] ?? 0);
  }
  return lag / executions.length;
}

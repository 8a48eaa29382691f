/** When to poll a job again: soon after it has completed, and seldom before. */
import { countUpTo } from './observed-times.ts';
import { untilLagMs, type LearnedTimes } from './learned-times.ts';

export interface PollSettings {
  /**
   * How long a finished result is to lie at the service on the average before it is collected, as a share (0 to 1) of
   * the time that jobs execute. Smaller: results come sooner, for more requests (half the lag for twice as many).
   */
  lag: number;
  minMs: number;
  /** Far below the retention period, so that no result expires between two polls. */
  maxMs: number;
}

/** What is known of a job since its latest poll, or since its submission where there was none. */
export interface PollState {
  /** From its submission to that poll. */
  ageMs: number;
  seen: 'nothing' | 'waiting' | 'executing';
  /** From when it began to that poll; 0 where it was not seen executing. */
  executedMs: number;
}

export interface PollContext {
  /** Jobs in flight, where no scene waits any more: one of them will be the last, for which all else waits. */
  lastOf: number | undefined;
  /** Whether it is one of the few that are polled often while nothing is known of such jobs. */
  isProbe: boolean;
}

/** Of this many completed jobs more is to be learned than from growing waits. */
export const enoughJobs = 4;

/** For a batch that ends with this job, its lag counts as that of so many others. */
const weightOfLast = 16;

/** Ms from the latest poll, or from the submission, to the next one. `random`: 0 ≤ random < 1. */
export function nextPollMs(
  state: PollState,
  learned: LearnedTimes,
  settings: PollSettings,
  context: PollContext,
  random: number,
): number {
  const wait =
    learned.jobs < enoughJobs
      ? unlearnedWaitMs(state, settings, context, random)
      : Math.min(maxWaitMs(state, learned), untilLagMs(timesLeft(state, learned), priceMs(learned, context)));
  const shortest = Math.max(settings.minMs, (settings.lag / 2) * takesAtLeastMs(state));
  return Math.round(Math.min(settings.maxMs, Math.max(shortest, wait)));
}

/** Some jobs were done by now, and this may be one of them that takes a little longer, though all others take far longer. */
function maxWaitMs({ seen, executedMs }: PollState, { executions }: LearnedTimes): number {
  const isAmongDone = countUpTo(executedMs, executions) >= someDone * executions.length;
  return seen === 'executing' && isAmongDone ? executedMs : Infinity;
}

/** What it does at present takes this long already, whatever other jobs took: so little lag is nothing to it. */
function takesAtLeastMs({ ageMs, seen, executedMs }: PollState): number {
  return seen === 'executing' ? executedMs : ageMs;
}

/** Waits grow with the age: those of probes slowly, and the others learn from them and are spread meanwhile. */
function unlearnedWaitMs(
  { ageMs }: PollState,
  { minMs }: PollSettings,
  { isProbe }: PollContext,
  random: number,
): number {
  if (isProbe) return ageMs / 4;
  return ageMs === 0 ? minMs * (1 + 3 * random) : ageMs * (1 + random);
}

function priceMs(learned: LearnedTimes, { lastOf }: PollContext): number {
  const chanceOfLast = lastOf === undefined ? 0 : 1 / Math.max(1, lastOf);
  return learned.priceMs / (1 + weightOfLast * chanceOfLast);
}

/** Ms from the latest poll to the completion, ascending, each as likely as any other. */
function timesLeft({ ageMs, seen, executedMs }: PollState, learned: LearnedTimes): number[] {
  const { executions, delays } = learned;
  if (seen === 'executing') return timesBeyond(executedMs, executions);
  if (seen === 'nothing') return sums(delays, executions);
  const longer = delays.filter((ms) => ms > ageMs).map((ms) => ms - ageMs);
  // Where few have waited as long, it may begin at any moment.
  return sums(longer.length < enoughDelays ? [0] : longer, executions);
}

const enoughDelays = 8;
/** As a share of the jobs that were learned from. */
const someDone = 0.1;
/** So few say little about longer times. */
const fewTimes = 16;
/** A job that outlasts others continues, on average, for this share of what it took so far. */
const outlastingShare = 0.15;
/** Four equally likely stretches of an exponential time of mean 1, each by its middle. */
const exponential = [0.1335, 0.47, 0.9808, 2.0794];

function timesBeyond(executedMs: number, executions: readonly number[]): number[] {
  const left = executions.slice(countUpTo(executedMs, executions)).map((ms) => ms - executedMs);
  if (left.length >= fewTimes) return left;
  const beyond = exponential.map((times) => times * outlastingShare * executedMs);
  const each = left.flatMap((ms) => exponential.map(() => ms));
  return [...each, ...beyond].toSorted((a, b) => a - b);
}

/** So many sums stand for all of them. */
const maxSums = 64;

/** What comes of waiting first and executing then, where the one says nothing of the other. */
function sums(delays: readonly number[], executions: readonly number[]): number[] {
  const count = Math.min(maxSums, Math.max(delays.length, executions.length));
  const sorted = delays.toSorted((a, b) => a - b);
  // A step that has no divisor in common with the numbers brings each delay together with short and long executions.
  const step = 13;
  return Array.from({ length: count }, (_, i) => {
    const execution = executions[Math.floor(((i + 0.5) / count) * executions.length)] ?? 0;
    return execution + (sorted[(i * step) % Math.max(1, sorted.length)] ?? 0);
  }).toSorted((a, b) => a - b);
}

/** When to poll a job again: soon after it has completed, and seldom before; learned from the jobs before it. */
import { shareOf, withObservation, type ObservedTimes } from './observed-times.ts';

/** The key `polling` of pipeline.yaml; durations are in ms. */
export interface PollRules {
  /**
   * How long a finished result is to lie at the service on the average before it is collected, as a share (0 to 1) of
   * the time that jobs execute. Smaller: results come sooner, for more requests (half the lag for twice as many).
   */
  lag: number;
  shortest: number;
  /** Far below the retention period, so that no result expires between two polls. */
  longest: number;
}

/** What is known of a job since its latest poll, or since its submission where there was none. */
export interface PollState {
  /** From its submission to that poll. */
  ageMs: number;
  seen: 'nothing' | 'waiting' | 'executing';
  /** From when it began to that poll; 0 where it was not seen executing. */
  executedMs: number;
}

/** What a job is among the jobs in flight. */
export interface PollRole {
  /** Jobs in flight, where no scene waits any more: one of them will be the last, for which all else waits. */
  lastOf: number | undefined;
  /** Whether it is one of the few that are polled often while nothing is known of such jobs. */
  isProbe: boolean;
}

/** What a run has learned of how long its jobs take. */
export interface LearnedTimes {
  /** Jobs that were learned from. */
  jobs: number;
  /** Ms from beginning to completion. */
  executions: ObservedTimes;
  /** Ms from submission to completion of the very latest jobs: queues grow and shrink. */
  totals: readonly number[];
}

export const nothingLearned: LearnedTimes = { jobs: 0, executions: [], totals: [] };

/** Of this many completed jobs more is to be learned than from growing waits. */
export const enoughJobs = 4;
const maxTotals = 32;

/** With one more completed job. `random`: 0 ≤ random < 1. */
export function withCompleted(
  { jobs, executions, totals }: LearnedTimes,
  { delayMs, executionMs }: { delayMs: number; executionMs: number },
  random: number,
): LearnedTimes {
  return {
    jobs: jobs + 1,
    executions: withObservation(executions, executionMs, random),
    totals: [...totals, delayMs + executionMs].slice(-maxTotals),
  };
}

/** Ms from the latest poll, or from the submission, to the next one. `random`: 0 ≤ random < 1. */
export function nextPollMs(
  state: PollState,
  learned: LearnedTimes,
  rules: PollRules,
  role: PollRole,
  random: number,
): number {
  const { lag, shortest, longest } = rules;
  const waitMs =
    learned.jobs < enoughJobs
      ? growingMs(state, rules, role, random)
      : learnedMs(state, learned, rules, role);
  // What it does at present takes this long already: so little lag is nothing to it.
  const soFarMs = state.seen === 'executing' ? state.executedMs : state.ageMs;
  return Math.round(Math.min(longest, Math.max(shortest, (lag / 2) * soFarMs, waitMs)));
}

/** Nobody but a probe is polled sooner while nothing is known; what the probes show makes a new plan for all. */
const firstPollMs = 250;

/** Waits grow with the age: those of probes slowly, and the others learn from them and are spread meanwhile. */
function growingMs({ ageMs }: PollState, { shortest }: PollRules, { isProbe }: PollRole, random: number) {
  if (isProbe) return ageMs / 4;
  return ageMs === 0 ? Math.max(firstPollMs, shortest) * (1 + 3 * random) : ageMs * (1 + random);
}

/** Polls are no closer to each other, so that no shorter lag can be had on the average. */
const minLagShare = 0.6;
/** For a batch that ends with this job, its lag counts as that of so many others. */
const weightOfLast = 16;

function learnedMs(
  state: PollState,
  learned: LearnedTimes,
  { lag, shortest }: PollRules,
  { lastOf }: PollRole,
): number {
  const { executions } = learned;
  const share = (part: number): number => shareOf(executions, part) ?? 0;
  const lagMs = Math.max(minLagShare * shortest, lag * share(0.5));
  // Polls at twice that lag while most jobs complete, and a single one where all take the same.
  const atPollMs = lagMs / (1 + (share(0.75) - share(0.25)) / (2 * lagMs));
  const weight = lastOf === undefined ? 1 : 1 + weightOfLast / Math.max(1, lastOf);
  const waitMs = untilLagMs(timesLeft(state, learned), atPollMs / weight);
  // Some jobs were done by now, and this may be one of them that takes a little longer, though all others take far longer.
  const isAmongDone = state.seen === 'executing' && state.executedMs >= share(0.1);
  return isAmongDone ? Math.min(state.executedMs, waitMs) : waitMs;
}

/** Ms to a poll at which a result is expected to have been lying for `lagMs`, where each of the ascending `times` is as likely. */
export function untilLagMs(times: readonly number[], lagMs: number): number {
  let sum = lagMs * times.length;
  let passed = 0;
  for (const time of times) {
    // Between two times the lag grows evenly by those that have passed.
    if (passed * time > sum) break;
    sum += time;
    passed += 1;
  }
  return sum / Math.max(1, passed);
}

/** So few say little about longer times. */
const fewTimes = 16;
/** A job that outlasts others may be done any moment, such as after this share of what it took so far. */
const outlastingShare = 0.04;

/** Ms from the latest poll to the completion, ascending, each as likely as any other. */
function timesLeft({ seen, executedMs }: PollState, { executions, totals }: LearnedTimes): number[] {
  if (seen === 'nothing') return totals.toSorted((a, b) => a - b);
  // One that waits may begin at any moment.
  const left = executions.filter((ms) => ms > executedMs).map((ms) => ms - executedMs);
  return left.length < fewTimes && executedMs > 0
    ? [...left, outlastingShare * executedMs].toSorted((a, b) => a - b)
    : left;
}

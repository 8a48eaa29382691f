/** Decides when to poll a job: soon after it has completed and rarely before, learned from earlier jobs. */

/** Key `polling` of pipeline.yaml. Durations are in ms. */
export interface PollRules {
  /**
   * Target for the average time that a finished result waits at the service, as a share of the execution time
   * (0 to 1). A smaller value gives results sooner for more requests: half the lag takes twice as many.
   */
  lag: number;
  shortest: number;
  /** Far below the retention period, so no result expires between two polls. */
  longest: number;
}

/** State of a job at its latest poll, or at its submission if it was not polled yet. */
export interface PollState {
  ageMs: number;
  seen: 'nothing' | 'waiting' | 'executing';
  /** Time from the beginning of execution to the latest poll. 0 if the job was not seen executing. */
  executedMs: number;
}

export interface PollRole {
  /** Number of jobs in flight if no scene waits, so that the batch ends with the last; otherwise undefined. */
  lastOf: number | undefined;
  /** True for the few jobs that are polled often while execution times are unknown. */
  isProbe: boolean;
}

export interface LearnedTimes {
  jobs: number;
  executions: ObservedTimes;
  /** Times in ms from submission to completion of only the latest jobs, because queues grow and shrink. */
  totals: readonly number[];
}

export const nothingLearned: LearnedTimes = { jobs: 0, executions: [], totals: [] };

/** Number of completed jobs from which learned times replace growing waits. */
export const enoughJobs = 4;
const maxTotals = 32;

/** Returns the learned times updated with one completed job. `random` is in [0, 1). */
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

/** Returns the time in ms from the latest poll, or from the submission, to the next poll. `random` is in [0, 1). */
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
  // A lag this small compared with the time so far does not matter.
  const soFarMs = state.seen === 'executing' ? state.executedMs : state.ageMs;
  return Math.round(Math.min(longest, Math.max(shortest, (lag / 2) * soFarMs, waitMs)));
}

/** Minimum first wait of jobs that are not probes. The results of the probes soon give all jobs a new schedule. */
const firstPollMs = 250;

/** Returns a wait that grows with the age: slowly for probes, and with jitter for the other jobs. */
function growingMs({ ageMs }: PollState, { shortest }: PollRules, { isProbe }: PollRole, random: number) {
  if (isProbe) return ageMs / 4;
  return ageMs === 0 ? Math.max(firstPollMs, shortest) * (1 + 3 * random) : ageMs * (1 + random);
}

/** Minimum lag as a share of `shortest`, the minimum time between polls. */
const minLagShare = 0.6;
/** Weight of the last job's lag, which delays the end of the whole batch. */
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
  // Polls twice per lag while most jobs complete, or only once if all jobs take equally long.
  const atPollMs = lagMs / (1 + (share(0.75) - share(0.25)) / (2 * lagMs));
  const weight = lastOf === undefined ? 1 : 1 + weightOfLast / Math.max(1, lastOf);
  const waitMs = untilLagMs(timesLeft(state, learned), atPollMs / weight);
  // The fastest jobs are done by now. This may be one of them, even if most jobs take far longer.
  const isAmongDone = state.seen === 'executing' && state.executedMs >= share(0.1);
  return isAmongDone ? Math.min(state.executedMs, waitMs) : waitMs;
}

/** Returns the ms until the result has waited for `lagMs`. The ascending `times` are equally likely ends. */
export function untilLagMs(times: readonly number[], lagMs: number): number {
  let sum = lagMs * times.length;
  let passed = 0;
  for (const time of times) {
    // Between two times the expected lag grows linearly with the number of times that have passed.
    if (passed * time > sum) break;
    sum += time;
    passed += 1;
  }
  return sum / Math.max(1, passed);
}

/** Below this number, the sample says little about longer times. */
const fewTimes = 16;
/** A job that exceeds most known times may end at any moment. This share of its time so far is assumed to remain. */
const outlastingShare = 0.04;

/** Returns equally likely times in ms from the latest poll to the completion, ascending. */
function timesLeft({ seen, executedMs }: PollState, { executions, totals }: LearnedTimes): number[] {
  if (seen === 'nothing') return totals.toSorted((a, b) => a - b);
  // A waiting job may begin at any moment, so its full execution time remains.
  const left = executions.filter((ms) => ms > executedMs).map((ms) => ms - executedMs);
  return left.length < fewTimes && executedMs > 0
    ? [...left, outlastingShare * executedMs].toSorted((a, b) => a - b)
    : left;
}

/** Sorted sample of recent durations, such as those of jobs, in ascending ms. Its size is bounded. */
export type ObservedTimes = readonly number[];

const maxObservations = 512;

/** Returns the sample with one more duration. If it is full, a random element is dropped; `random` is in [0, 1). */
export function withObservation(observed: ObservedTimes, ms: number, random: number): ObservedTimes {
  const isFull = observed.length >= maxObservations;
  const kept = isFull ? observed.toSpliced(Math.floor(random * observed.length), 1) : observed;
  const place = kept.findIndex((other) => other > ms);
  return kept.toSpliced(place === -1 ? kept.length : place, 0, ms);
}

/** Returns the quantile of the sample for a share in [0, 1], or undefined if it is empty. */
export function shareOf(times: ObservedTimes, share: number): number | undefined {
  return times[Math.max(0, Math.ceil(times.length * share) - 1)];
}

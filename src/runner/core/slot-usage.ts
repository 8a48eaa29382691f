/** What became of the time that a run's slots had: with a job at the service, or why not; constant in size. */

/**
 * Why a slot has no job at the service, and what that means. A run has as many slots as jobs may be in flight
 * (`concurrency`); the order is that of the manual.
 */
export const idleReasons = {
  rate: 'a submission waits for its turn within `rate.submit`',
  slowed: 'a submission waits for its turn, which comes later since the service answered 429',
  load: 'a submission was answered 429 and waits to be sent again',
  outage: 'the service does not answer, or knows none of its jobs: it is asked from time to time',
  downloads: 'the job is done, and its picture is fetched from the address that the output names',
  memory: 'the job is done, and its answer waits for room in memory',
  checking: 'the job is done, and its pictures are decoded and checked',
  disk: 'a picture or a line of the checkpoint is being written',
  limits: 'no more may be submitted: a deadline or budget is reached (`limits`)',
  resuming: 'the plan is made, and the jobs of earlier runs are asked for first',
  retries: 'only scenes that wait for their next attempt are left',
  stopping: 'the run is stopping and finishes what is in flight',
  nothingLeft: 'fewer scenes are left than slots',
} as const satisfies Record<string, string>;

export type IdleReason = keyof typeof idleReasons;
export type SlotState = 'inFlight' | IdleReason;

const reasons = Object.keys(idleReasons) as IdleReason[];
export const slotStates = ['inFlight', ...reasons] as const;

type PerState = Record<SlotState, number>;

export interface SlotUsage {
  /** How many slots there are. */
  limit: number;
  /** Monotonic ms. */
  at: number;
  /** Attempts by what they do at present. */
  attempts: PerState;
  /** Why slots without an attempt have none. */
  free: IdleReason;
  /** Ms until `at`, as if the run were one slot: their sum is the time that has passed. */
  spentMs: PerState;
}

export function newSlotUsage(limit: number, at: number, free: IdleReason): SlotUsage {
  return { limit, at, attempts: none(), free, spentMs: none() };
}

/** With an attempt that goes over from one state to another; undefined where it enters or leaves its slot. */
export function withMove(
  time: SlotUsage,
  at: number,
  from: SlotState | undefined,
  to: SlotState | undefined,
  count = 1,
): SlotUsage {
  const attempts = { ...time.attempts };
  if (from !== undefined) attempts[from] -= count;
  if (to !== undefined) attempts[to] += count;
  return { ...slotUsageAt(time, at), attempts };
}

/** With another reason why slots are without an attempt. */
export function withFree(time: SlotUsage, at: number, free: IdleReason): SlotUsage {
  return free === time.free ? time : { ...slotUsageAt(time, at), free };
}

/**
 * With the time that has passed since it was last changed. More attempts than slots, as a resumed batch can have, share
 * the slots that are not in flight.
 */
export function slotUsageAt(time: SlotUsage, at: number): SlotUsage {
  const { limit, attempts, free } = time;
  const passedMs = at - time.at;
  if (passedMs <= 0) return time;
  const held = reasons.reduce((sum, reason) => sum + attempts[reason], 0);
  const idle = Math.max(0, limit - attempts.inFlight);
  const each = (passedMs / limit) * (held > idle ? idle / held : 1);
  const spentMs = { ...time.spentMs };
  for (const reason of reasons) if (attempts[reason] > 0) spentMs[reason] += attempts[reason] * each;
  spentMs.inFlight += ((limit - idle) * passedMs) / limit;
  spentMs[free] += (Math.max(0, idle - held) * passedMs) / limit;
  return { ...time, at, spentMs };
}

/** Whole ms that sum to the whole time: what rounding takes from one it gives to the next. */
export function wholeMs({ spentMs }: SlotUsage): PerState {
  const whole = none();
  let toldMs = 0;
  let exactMs = 0;
  for (const state of slotStates) {
    exactMs += spentMs[state];
    whole[state] = Math.max(0, Math.round(exactMs) - toldMs);
    toldMs += whole[state];
  }
  return whole;
}

function none(): PerState {
  return Object.fromEntries(slotStates.map((state) => [state, 0])) as PerState;
}

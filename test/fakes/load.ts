/** Many jobs at once that go through the gates of a run to a service with limits, in virtual time. */
import { setMaxListeners } from 'node:events';
import { fullJitterMs, orRetryAfterMs } from '../../src/runner/core/backoff.ts';
import { RequestThrottle } from '../../src/runner/pipeline/request-throttle.ts';
import type { Failure } from '../../src/runner/core/failure.ts';
import { defaultSettings } from './world.ts';
import { seeded, type Limit } from './limited-service.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface LoadOptions {
  seed: number;
  /** Of submissions, of status requests; the same function where the limit is shared. */
  limits: { submit?: Limit[]; status?: Limit[] };
  /** Requests of either kind that may be on their way at once at the service. */
  mostAtOnce?: number;
  /** One way there or back: from, and up to so much more (ms). */
  latencyMs: [least: number, spread: number];
  jobMs: number;
  /** Jobs in flight at most. */
  concurrency: number;
  lastsMs: number;
  retryAfterMs?: number;
  rate?: typeof defaultSettings.rate;
}

export interface Account {
  taken: { submit: number[]; status: number[] };
  refused: { submit: number[]; status: number[] };
}

const unstopped = new AbortController().signal;
setMaxListeners(0, unstopped);

type Operation = 'submit' | 'status';
type Reply = { kind: 'taken' } | { kind: 'failure'; failure: Failure };

/** As the pipeline does it: `concurrency` lanes, a submission in one until it is taken, and then looked at three times. */
export async function load(options: LoadOptions): Promise<Account> {
  const { concurrency, jobMs, lastsMs, latencyMs, limits, mostAtOnce = Infinity, retryAfterMs } = options;
  const rate = options.rate ?? defaultSettings.rate;
  const clock = new VirtualClock(0);
  const random = seeded(options.seed);
  const account: Account = { taken: { submit: [], status: [] }, refused: { submit: [], status: [] } };
  let held = 0;
  let arrived = 0;
  const gates = {
    submit: new RequestThrottle(rate.submit, clock, () => held),
    status: new RequestThrottle(rate.status, clock),
  };
  const onTheWay = (): Promise<void> => clock.sleep(latencyMs[0] + latencyMs[1] * random(), unstopped);
  const request = async (operation: Operation): Promise<Reply> => {
    await onTheWay();
    const now = clock.elapsed();
    const isTooMuch =
      arrived >= mostAtOnce || (limits[operation] ?? []).some((isOneTooMany) => isOneTooMany(now));
    account[isTooMuch ? 'refused' : 'taken'][operation].push(now);
    arrived += 1;
    await onTheWay();
    arrived -= 1;
    if (!isTooMuch && operation === 'submit') held += 1;
    if (!isTooMuch) return { kind: 'taken' };
    return tooMuch(retryAfterMs);
  };
  const ask = async (operation: Operation): Promise<void> => {
    for (let tries = 1; clock.elapsed() < lastsMs; tries++) {
      const reply = await gates[operation].pass(unstopped, () => request(operation));
      if (reply?.kind === 'taken') return;
      const ownMs = fullJitterMs(tries, defaultSettings.retry, random());
      await clock.sleep(orRetryAfterMs(retryAfterMs, ownMs), unstopped);
    }
  };
  let inFlight = 0;
  const job = async (): Promise<void> => {
    await ask('submit');
    feed();
    for (let looks = 0; looks < 3; looks++) {
      await clock.sleep(jobMs / 3, unstopped);
      await ask('status');
    }
    held -= 1;
    inFlight -= 1;
    gates.submit.admitNext();
    feed();
  };
  const feed = (): void => {
    if (clock.elapsed() >= lastsMs) return;
    for (let room = Math.min(concurrency - inFlight, gates.submit.room()); room > 0; room--) {
      inFlight += 1;
      void job();
    }
  };
  const look = async (): Promise<void> => {
    while (clock.elapsed() < lastsMs) {
      feed();
      await clock.sleep(Math.min(60_000, gates.submit.pauseMs()), unstopped);
    }
  };
  void look();
  while (clock.elapsed() < lastsMs && clock.advance()) await new Promise((resolve) => setImmediate(resolve));
  return account;
}

/** Of a list of instants, those from `from` to before `to`. */
export function within(instants: number[], from: number, to: number): number {
  return instants.filter((at) => at >= from && at < to).length;
}

/** What a submission or a look resolves to where the service answers 429. */
export function tooMuch(retryAfterMs: number | undefined) {
  const failure = {
    kind: 'overloaded',
    text: '429',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  } as const;
  return { kind: 'failure', failure } as const;
}

/** Lets the requests of one operation through in the order in which they come, as many and as fast as the service accepts. */
import {
  allows,
  firstConcurrencyLimit,
  jobRules,
  requestRules,
  untilProbeMs,
  withRefused,
  withSending,
  withTaken,
  withUnanswered,
  type ConcurrencyLimit,
  type Sent,
} from '../core/concurrency-limit.ts';
import type { Failure } from '../core/failure.ts';
import {
  fullPace,
  isClose,
  paceAt,
  scatterOf,
  untilRoomMs,
  withAnswer,
  withOverload,
  withSent,
  withRate,
  type Pace,
  type RequestRate,
} from '../core/pacing.ts';
import type { Clock } from './ports.ts';

interface Passage {
  epoch: number;
  /** Whether it followed the one before as closely as the pace allows. */
  isClose: boolean;
  requests: Sent;
  jobs: Sent | undefined;
}

/** What waits is sent within this time at the present pace, or is better not asked for yet. */
const soonMs = 500;

export class RequestThrottle {
  readonly #whole: RequestRate;
  #rate: RequestRate;
  readonly #clock: Clock;
  /** Jobs that the service holds for us, where the operation brings it more of them. */
  readonly #held: (() => number) | undefined;
  #fullPerSecond: number;
  /** What sends each request, with the signal that makes it leave. */
  readonly #queue = new Map<(passage: Passage | undefined) => void, AbortSignal>();
  readonly #heeded = new WeakSet<AbortSignal>();
  #pace: Pace;
  #requests = firstConcurrencyLimit(0);
  #jobs: ConcurrencyLimit | undefined;
  #sending = 0;
  /** Aborts the wait for the next turn. */
  #alarm: AbortController | undefined;

  constructor(rate: RequestRate, clock: Clock, held?: () => number) {
    this.#whole = rate;
    this.#rate = rate;
    this.#clock = clock;
    this.#held = held;
    this.#pace = fullPace(rate, clock.elapsed());
    this.#fullPerSecond = this.#pace.perSecond;
  }

  /** Whether less is sent than might be, since the service said that it is too much. */
  get isSlowed(): boolean {
    const isCut = [this.#requests, this.#jobs].some(
      (it) => it !== undefined && it.epoch > 0 && !it.isGrowing,
    );
    return isCut || this.#pace.perSecond < this.#fullPerSecond;
  }

  /** Sends the request when its turn comes; undefined where `signal` aborts before. */
  async pass<Reply extends { kind: string; failure?: Failure }>(
    signal: AbortSignal,
    request: () => Promise<Reply>,
  ): Promise<Reply | undefined> {
    if (signal.aborted) return undefined;
    const passage = (this.#queue.size === 0 ? this.#tryPassage() : undefined) ?? (await this.#turn(signal));
    if (passage === undefined) return undefined;
    try {
      const reply = await request();
      this.#learn(passage, reply.failure);
      return reply;
    } finally {
      this.#sending -= 1;
      this.admitNext();
    }
  }

  /** So many programs send within the rate together, this one included. */
  shareAmong(programs: number): void {
    const { atOnce, perTenSeconds } = this.#whole;
    const rate = {
      atOnce: Math.max(1, Math.floor(atOnce / programs)),
      perTenSeconds: perTenSeconds / programs,
    };
    const now = this.#clock.elapsed();
    this.#pace = withRate(paceAt(this.#pace, this.#rate, now), this.#rate, rate);
    this.#rate = rate;
    this.#fullPerSecond = fullPace(rate, now).perSecond;
    this.admitNext();
  }

  /** The service has asked another program to wait. */
  slow(): void {
    this.#pace = withOverload(this.#pace, this.#rate, this.#clock.elapsed(), this.#pace.epoch);
  }

  /** How many more could be sent soon, on top of those that wait already. */
  room(): number {
    const now = this.#clock.elapsed();
    this.#pace = paceAt(this.#pace, this.#rate, now);
    const waiting = this.#queue.size;
    const soon = Math.ceil(this.#pace.room + (this.#pace.perSecond * soonMs) / 1000);
    const atOnce = Math.min(this.#requests.size, this.#rate.atOnce) - this.#sending;
    const jobs = this.#jobLimit();
    const free = Math.min(soon, atOnce, jobs === undefined ? Infinity : jobs.size - this.#concurrentJobs());
    return Math.max(0, free - waiting, waiting === 0 && this.#allows(now) ? 1 : 0);
  }

  /** Ms until there may be room though nothing is answered meanwhile. */
  pauseMs(): number {
    const now = this.#clock.elapsed();
    const probes = [this.#requests, this.#jobLimit()].map((it) => (it ? untilProbeMs(it, now) : Infinity));
    return Math.min(...probes.filter((ms) => ms > 0));
  }

  /** Sends what may be sent now: something has changed outside. */
  admitNext(): void {
    this.#dropAlarm();
    for (const send of this.#queue.keys()) {
      const passage = this.#tryPassage();
      if (passage === undefined) return this.#setAlarm();
      this.#queue.delete(send);
      send(passage);
    }
  }

  #turn(signal: AbortSignal): Promise<Passage | undefined> {
    this.#heed(signal);
    return new Promise((resolve) => {
      this.#queue.set(resolve, signal);
      if (this.#alarm === undefined) this.#setAlarm();
    });
  }

  /** One listener for all that wait: each more of a signal takes longer to add than the one before. */
  #heed(signal: AbortSignal): void {
    if (this.#heeded.has(signal)) return;
    this.#heeded.add(signal);
    const leave = (): void => {
      for (const [send, its] of this.#queue) {
        if (its === signal && this.#queue.delete(send)) send(undefined);
      }
      if (this.#queue.size === 0) this.#dropAlarm();
    };
    signal.addEventListener('abort', leave, { once: true });
  }

  #dropAlarm(): void {
    // Without a reason of its own each abort would make an error with a stack.
    this.#alarm?.abort('dropped');
    this.#alarm = undefined;
  }

  #setAlarm(): void {
    const now = this.#clock.elapsed();
    const waitMs = this.#allows(now) ? untilRoomMs(this.#pace) : this.pauseMs();
    if (waitMs === Infinity) return;
    this.#alarm = new AbortController();
    void this.#admitAfter(waitMs, this.#alarm.signal);
  }

  async #admitAfter(waitMs: number, dropped: AbortSignal): Promise<void> {
    await this.#clock.sleep(waitMs, dropped);
    if (!dropped.aborted) this.admitNext();
  }

  #tryPassage(): Passage | undefined {
    const now = this.#clock.elapsed();
    this.#pace = paceAt(this.#pace, this.#rate, now);
    if (untilRoomMs(this.#pace) > 0 || !this.#allows(now)) return undefined;
    const requests = withSending(this.#requests, this.#sending);
    const jobs = this.#jobs && withSending(this.#jobs, this.#concurrentJobs());
    const pace = { epoch: this.#pace.epoch, isClose: isClose(this.#pace) };
    this.#pace = withSent(this.#pace);
    this.#requests = requests.limit;
    this.#jobs = jobs?.limit;
    this.#sending += 1;
    return { ...pace, requests: requests.sent, jobs: jobs?.sent };
  }

  #allows(now: number): boolean {
    const jobs = this.#jobLimit();
    return (
      this.#sending < this.#rate.atOnce &&
      allows(this.#requests, this.#sending, now) &&
      (jobs === undefined || allows(jobs, this.#concurrentJobs(), now))
    );
  }

  /** Undefined where the operation brings the service no jobs. */
  #jobLimit(): ConcurrencyLimit | undefined {
    if (this.#held !== undefined) this.#jobs ??= firstConcurrencyLimit(this.#held());
    return this.#jobs;
  }

  #concurrentJobs(): number {
    return (this.#held?.() ?? 0) + this.#sending;
  }

  #learn(passage: Passage, failure: Failure | undefined): void {
    const { epoch, requests, jobs } = passage;
    const isTelling = passage.isClose && !requests.isProbe && jobs?.isProbe !== true;
    const now = this.#clock.elapsed();
    if (failure === undefined) {
      this.#pace = withAnswer(this.#pace, this.#rate, now, isTelling ? epoch : undefined);
      this.#requests = withTaken(this.#requests, requests, requestRules, now);
      this.#jobs = this.#jobs && jobs && withTaken(this.#jobs, jobs, jobRules, now);
    } else if (failure.kind === 'overloaded') {
      this.#learnOverload(passage, now);
    } else {
      this.#requests = withUnanswered(this.#requests, requests, now);
      this.#jobs = this.#jobs && jobs && withUnanswered(this.#jobs, jobs, now);
    }
  }

  /**
   * What was tried beyond one size says nothing of the other, nor of the pace. What was sent slowly was refused for the
   * number of jobs; for the rest the cause is unknown, and each limit is lowered until one of them proves right.
   */
  #learnOverload({ epoch, isClose: wasClose, requests, jobs }: Passage, now: number): void {
    const isProbe = requests.isProbe || jobs?.isProbe === true;
    const scatter = scatterOf(this.#pace, now);
    const isOfJobs = jobs !== undefined && (isProbe ? jobs.isProbe : !wasClose);
    if (this.#jobs !== undefined && jobs !== undefined && (isOfJobs || !isProbe))
      this.#jobs = withRefused(this.#jobs, jobs, jobRules, now, isOfJobs ? 1 : undefined, scatter);
    if (requests.isProbe || (!isProbe && !isOfJobs))
      this.#requests = withRefused(this.#requests, requests, requestRules, now, undefined, scatter);
    if (!isProbe && !isOfJobs) this.#pace = withOverload(this.#pace, this.#rate, now, epoch);
  }
}

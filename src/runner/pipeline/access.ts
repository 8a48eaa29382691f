/** Gate for requests to a service. A refusal of what has worked in this run pauses them until it is confirmed. */
import { formatDuration } from '../../lib/text/format.ts';
import { type Endpoint, endpointAddress } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import { type Operation, refusalIn, type Reply } from '../core/halting.ts';
import type { Clock, HealthReply, Ports } from './ports.ts';
import type { Stop } from './stop.ts';

interface AccessParts {
  clock: Clock;
  emit: Ports['emit'];
  stop: Stop;
  over: AbortSignal;
  liveness: Pick<EndpointLiveness, 'ask' | 'hasHealth'>;
  /** Time in ms after which refusals are believed if access has worked in this run (`halt.refused`). */
  refusedMs: number;
}

export interface AccessRequest {
  operation: Exclude<Operation, 'health'>;
  endpoint: Endpoint;
  /** The attempt that the request is about. If only its job is refused, the run goes on. */
  subject: object;
  /** Ends the wait for access: `stop.draining` or `stop.leaving`. */
  signal: AbortSignal;
  /** Called if the request has to wait. */
  onWait?: () => void;
}

export class Access {
  readonly #parts: AccessParts;
  readonly #endpoints = new Map<string, EndpointAccess>();
  /** Called when submissions may be sent again. */
  onOpen: () => void = () => undefined;

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  /**
   * Sends the request once access is open, and after each refusal that is not believed; undefined after an
   * abort. A returned refusal has already stopped the run.
   */
  pass<R extends Reply>(request: AccessRequest, send: () => Promise<R | undefined>): Promise<R | undefined> {
    return this.#accessTo(request.endpoint).pass(request, send);
  }

  /** True if the endpoint has accepted a submission or reported a status in this run. */
  hasWorked(endpoint: Endpoint): boolean {
    return this.#accessTo(endpoint).hasWorked;
  }

  /** True while refusals are being checked and nothing may be submitted to the endpoint. */
  isDoubted(endpoint: Endpoint): boolean {
    return this.#accessTo(endpoint).isDoubted;
  }

  #accessTo(endpoint: Endpoint): EndpointAccess {
    const address = endpointAddress(endpoint);
    const access =
      this.#endpoints.get(address) ?? new EndpointAccess(endpoint, this.#parts, () => this.onOpen());
    this.#endpoints.set(address, access);
    return access;
  }
}

/** `refused` includes refusals that are not counted. `nothing` means that the reply says nothing about access. */
type Verdict = 'answered' | 'refused' | 'nothing';
type ReportVerdict = (verdict: Verdict) => void;

interface Waiter extends Pick<AccessRequest, 'operation' | 'subject' | 'signal'> {
  go: (report: ReportVerdict | undefined) => void;
}

const ignoreVerdict: ReportVerdict = () => undefined;

class EndpointAccess {
  readonly #endpoint: Endpoint;
  readonly #parts: AccessParts;
  readonly #onOpen: () => void;
  /** Waiting requests in order of arrival. */
  readonly #waiting = new Set<Waiter>();
  readonly #inARow: Record<Operation, Refusals> = {
    submit: noRefusals,
    status: noRefusals,
    cancel: noRefusals,
    health: noRefusals,
  };
  /** Number of counted refusals. An answer is evidence only if its request was sent after the latest of them. */
  #refusals = 0;
  /** Value of `#refusals` when a result was last read. */
  #resultRead = -1;
  /** Value of `#refusals` when a job or submission was first refused. */
  readonly #firstRefused = new WeakMap<object, number>();
  #latest: Failure | undefined;
  #believed: Failure['kind'] | undefined;
  #isAsking = false;
  /** True if an answer other than a refusal has arrived since the doubt began. */
  #isReached = false;
  hasWorked = false;
  isDoubted = false;

  constructor(endpoint: Endpoint, parts: AccessParts, onOpen: () => void) {
    this.#endpoint = endpoint;
    this.#parts = parts;
    this.#onOpen = onOpen;
    const leave = (): void => this.#release(({ signal }) => signal.aborted);
    for (const signal of [parts.stop.draining, parts.stop.leaving])
      signal.addEventListener('abort', leave, { once: true });
  }

  async pass<R extends Reply>(
    request: AccessRequest,
    send: () => Promise<R | undefined>,
  ): Promise<R | undefined> {
    for (;;) {
      const report = this.#isOpen(request.operation) ? ignoreVerdict : await this.#turn(request);
      if (report === undefined) return undefined;
      let verdict: Verdict = 'nothing';
      try {
        const refusals = this.#refusals;
        const reply = await send();
        if (reply === undefined) return undefined;
        const failure = refusalIn(reply);
        if (failure === undefined) {
          if (isProof(reply)) verdict = this.#answered(request, reply, refusals);
          return reply;
        }
        if (this.#isOwn(request)) return { ...reply, failure: { ...failure, kind: 'poll-failed' } };
        verdict = 'refused';
        const certain = this.#refused(request, failure, refusals);
        if (certain !== undefined) return { ...reply, failure: certain };
      } finally {
        report(verdict);
      }
    }
  }

  #isOpen(operation: Operation): boolean {
    return !this.isDoubted || (operation !== 'submit' && this.#isClear(operation));
  }

  #isClear(operation: Operation): boolean {
    return this.#isReached && this.#inARow[operation].count === 0;
  }

  /** Resolves to a function for the outcome of the request; undefined if it must not be sent. */
  #turn({ operation, subject, signal, onWait }: AccessRequest): Promise<ReportVerdict | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    onWait?.();
    return new Promise((go) => this.#waiting.add({ operation, subject, signal, go }));
  }

  #release(isMeant: (waiter: Waiter) => boolean): void {
    for (const waiter of [...this.#waiting].filter(isMeant)) {
      this.#waiting.delete(waiter);
      waiter.go(waiter.signal.aborted ? undefined : ignoreVerdict);
    }
  }

  /** Records an accepted request. If results are refused, a running job's status proves no access to them. */
  #answered({ operation, subject }: AccessRequest, { kind }: Reply, refusals: number): Verdict {
    const isResult = kind === 'completed';
    const wasRefused = this.#firstRefused.delete(subject);
    this.hasWorked = true;
    if (refusals !== this.#refusals) return 'answered';
    if (isResult) this.#resultRead = refusals;
    if (operation !== 'status' || isResult || wasRefused) this.#inARow[operation] = noRefusals;
    return 'answered';
  }

  /** True if this job is refused again although another job's result was read. That is no reason to pause the run. */
  #isOwn({ operation, subject }: AccessRequest): boolean {
    return operation === 'status' && this.#resultRead >= (this.#firstRefused.get(subject) ?? Infinity);
  }

  /** Returns the failure that has stopped the run, or undefined if the request should be sent again. */
  #refused({ operation, subject }: AccessRequest, failure: Failure, refusals: number): Failure | undefined {
    if (!this.hasWorked || this.#believed === failure.kind) return this.#believe(operation, failure);
    // Concurrent requests count as one refusal.
    const isNews = refusals === this.#refusals;
    const certain = isNews ? this.#count(operation, failure) : undefined;
    if (!this.#firstRefused.has(subject)) this.#firstRefused.set(subject, this.#refusals);
    return certain;
  }

  #count(operation: Operation, failure: Failure): Failure | undefined {
    const { clock, refusedMs, stop } = this.#parts;
    const now = clock.elapsed();
    const inARow = withRefusal(this.#inARow[operation], now);
    this.#refusals += 1;
    this.#inARow[operation] = inARow;
    this.#latest = failure;
    if (isBelieved(inARow, now, refusedMs)) return this.#believe(operation, believed(failure, inARow, now));
    if (!this.isDoubted) this.#isReached = false;
    this.isDoubted = true;
    if (!this.#isAsking) this.#askAgain().catch((thrown: unknown) => stop.forThrown(thrown));
    return undefined;
  }

  /** Stops the run for the refusal. Jobs in flight are collected only if status requests are not refused. */
  #believe(operation: Operation, failure: Failure): Failure {
    const isForStatus = operation === 'health' ? this.#inARow.status.count > 0 : operation !== 'submit';
    this.#believed = failure.kind;
    this.isDoubted = false;
    this.#parts.stop.forFailure(failure, isForStatus || !this.hasWorked ? 'leave' : 'drain');
    return failure;
  }

  async #askAgain(): Promise<void> {
    const { clock, emit, over, refusedMs, stop } = this.#parts;
    const beganElapsed = clock.elapsed();
    this.#isAsking = true;
    for (let round = 1; this.isDoubted && this.#latest !== undefined; round++) {
      const { kind, text } = this.#latest;
      const waitMs = askAgainMs(round, refusedMs);
      emit({ type: 'access-refused', kind, text, waitMs });
      await clock.sleep(waitMs, over);
      if (over.aborted || stop.leaving.aborted) return;
      const isBack = await this.#isLetIn(round);
      const tookMs = clock.elapsed() - beganElapsed;
      if (isBack && this.#isReached) emit({ type: 'access-regained', afterMs: tookMs });
      if (isBack || isLongDoubt(tookMs, refusedMs)) this.isDoubted = false;
    }
    this.#isAsking = false;
    this.#release(() => true);
    this.#onOpen();
  }

  /** Sends one request at a time, by turns a refused one and another. True if access works again. */
  async #isLetIn(round: number): Promise<boolean> {
    const { liveness } = this.#parts;
    const health = await liveness.ask(this.#endpoint);
    if (health?.kind === 'answers') this.#isReached = true;
    if (health?.kind === 'answers') this.#inARow.health = noRefusals;
    const refusal = health && refusalIn(health);
    // A key may permit submissions but not health requests.
    if (refusal !== undefined && liveness.hasHealth(this.#endpoint)) {
      this.#count('health', refusal);
      return false;
    }
    for (const operation of ['status', 'cancel', 'submit'] as const) {
      const waiting = [...this.#waiting].filter((waiter) => waiter.operation === operation);
      const isFit = ({ subject }: Waiter): boolean => this.#firstRefused.has(subject) === (round % 2 === 1);
      const first = waiting.find(isFit) ?? waiting[0];
      if (first === undefined) continue;
      this.#waiting.delete(first);
      const verdict = await new Promise<Verdict>((report) => first.go(report));
      if (verdict === 'answered') this.#isReached = true;
      if (!this.#isClear(operation)) return false;
      this.#release((waiter) => waiter.operation === operation);
    }
    return true;
  }
}

/** Consecutive refusals of one operation. `since` is the time of the first, in monotonic ms. */
interface Refusals {
  count: number;
  since: number;
}

const noRefusals: Refusals = { count: 0, since: 0 };

const proofs: ReadonlySet<string> = new Set(['accepted', 'running', 'completed', 'ended', 'cancelled']);

/** True if a reply of this kind shows that key, account and endpoint are accepted. */
function isProof({ kind }: Reply): boolean {
  return proofs.has(kind);
}

function withRefusal({ count, since }: Refusals, now: number): Refusals {
  return { count: count + 1, since: count === 0 ? now : since };
}

const enoughRefusals = 3;

/** True if refusals have lasted for `lastMs` (`halt.refused`). Until then they are taken for an error. */
function isBelieved({ count, since }: Refusals, now: number, lastMs: number): boolean {
  return count >= enoughRefusals && now - since >= lastMs;
}

/** Returns the failure, with the number and duration of the refusals in its text. */
function believed(failure: Failure, { count, since }: Refusals, now: number): Failure {
  const times = `${count} times in a row within ${formatDuration(now - since)}`;
  return { ...failure, text: `${failure.text}; refused ${times}, after it had worked in this run` };
}

/** Returns the wait in ms before round `round`, from 1: for 30 s, it is 1, 2, 4, 8, 16 and then 30 s. */
function askAgainMs(round: number, lastMs: number): number {
  return Math.round(Math.min(lastMs, (lastMs / 30) * 2 ** (round - 1)));
}

/** True if refusals and silence have alternated for so long that ordinary requests should show the cause. */
function isLongDoubt(tookMs: number, lastMs: number): boolean {
  return tookMs >= 4 * lastMs;
}

type Ask = (endpoint: Endpoint) => Promise<HealthReply | undefined>;

/** Signs that an endpoint exists. Without one, a 404 may mean that the endpoint is gone and not the job. */
export class EndpointLiveness {
  readonly #clock: Pick<Clock, 'elapsed'>;
  readonly #askHealth: Ask;
  /** Time of the last sign of each endpoint, in monotonic ms. */
  readonly #signs = new Map<string, number>();
  /** Times at which the status, and the result, of a job was last read at each endpoint. */
  readonly #read = { status: new Map<string, number>(), result: new Map<string, number>() };
  /** Endpoints that have reported their health in this run. */
  readonly #healthy = new Set<string>();
  readonly #asking = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<HealthReply | undefined>>();

  /** `askHealth` resolves to undefined if the run is left. */
  constructor(clock: Pick<Clock, 'elapsed'>, askHealth: Ask) {
    this.#clock = clock;
    this.#askHealth = askHealth;
  }

  /** Records that the endpoint knew one of its jobs. */
  addStatus(endpoint: Endpoint): void {
    this.add(endpoint);
    this.#read.status.set(keyOf(endpoint), this.#clock.elapsed());
  }

  addResult(endpoint: Endpoint): void {
    this.#read.result.set(keyOf(endpoint), this.#clock.elapsed());
  }

  wasReadSince(what: 'status' | 'result', endpoint: Endpoint, elapsed: number): boolean {
    return (this.#read[what].get(keyOf(endpoint)) ?? -Infinity) >= elapsed;
  }

  /** Records that the endpoint accepted a job or reported its health. */
  add(endpoint: Endpoint): void {
    this.#signs.set(keyOf(endpoint), this.#clock.elapsed());
  }

  hasSignSince(endpoint: Endpoint, elapsed: number): boolean {
    return (this.#signs.get(keyOf(endpoint)) ?? -Infinity) >= elapsed;
  }

  hasHealth(endpoint: Endpoint): boolean {
    return this.#healthy.has(keyOf(endpoint));
  }

  /** Requests the endpoint's health with a new request, which concurrent callers share. */
  ask(endpoint: Endpoint): ReturnType<Ask> {
    const key = keyOf(endpoint);
    const planned = this.#next.get(key);
    if (planned !== undefined) return planned;
    const next = (this.#asking.get(key) ?? Promise.resolve()).then(() => {
      this.#next.delete(key);
      const asked = this.#askNow(endpoint);
      this.#asking.set(key, asked);
      return asked;
    });
    this.#next.set(key, next);
    return next;
  }

  async #askNow(endpoint: Endpoint): ReturnType<Ask> {
    const reply = await this.#askHealth(endpoint);
    if (reply?.kind === 'answers') {
      this.add(endpoint);
      this.#healthy.add(keyOf(endpoint));
    }
    return reply;
  }
}

function keyOf({ baseUrl, id, version }: Endpoint): string {
  return `${baseUrl} ${version} ${id}`;
}

/** Lets requests through to a service. A refusal of what has worked in this run pauses them, and is asked about again before it ends the run. */
import { endpointAddress, type Endpoint } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import {
  askAgainMs,
  believed,
  isBelieved,
  isLongDoubt,
  isProof,
  noRefusals,
  refusalIn,
  withRefusal,
  type Operation,
  type Refusals,
  type Reply,
} from '../core/refusals.ts';
import type { EndpointLiveness } from './endpoint-liveness.ts';
import type { Clock, Ports } from './ports.ts';
import type { Stop } from './stop.ts';

interface AccessParts {
  clock: Clock;
  emit: Ports['emit'];
  stop: Stop;
  /** Aborts when the run is over. */
  over: AbortSignal;
  liveness: Pick<EndpointLiveness, 'ask' | 'hasHealth'>;
  /** How long refusals of what has worked last until they are believed, in ms. */
  refusedMs: number;
}

export interface AccessRequest {
  operation: Exclude<Operation, 'health'>;
  endpoint: Endpoint;
  /** The attempt that the request is about: if its job alone is refused, the run goes on. */
  subject: object;
  /** Ends the wait for access: `stop.draining` or `stop.leaving`. */
  signal: AbortSignal;
  /** Called when the request has to wait. */
  onHeld?: () => void;
}

export class Access {
  readonly #parts: AccessParts;
  readonly #doors = new Map<string, Door>();
  /** Called when submissions may be sent again. */
  onOpen: () => void = () => undefined;

  constructor(parts: AccessParts) {
    this.#parts = parts;
  }

  /**
   * Sends the request when the service lets this run in, and again after each refusal that is not believed. Undefined if
   * `signal` aborts before. A refusal that is returned has stopped the run.
   */
  pass<R extends Reply>(request: AccessRequest, send: () => Promise<R | undefined>): Promise<R | undefined> {
    return this.#doorOf(request.endpoint).pass(request, send);
  }

  /** True if the endpoint has accepted a submission or told a status in this run. */
  hasWorked(endpoint: Endpoint): boolean {
    return this.#doorOf(endpoint).hasWorked;
  }

  /** True while nothing may be submitted there. */
  isDoubted(endpoint: Endpoint): boolean {
    return this.#doorOf(endpoint).isDoubted;
  }

  #doorOf(endpoint: Endpoint): Door {
    const address = endpointAddress(endpoint);
    const door = this.#doors.get(address) ?? new Door(endpoint, this.#parts, () => this.onOpen());
    this.#doors.set(address, door);
    return door;
  }
}

/** `refused`: counted or not. `nothing`: the reply says nothing of the access. */
type Verdict = 'answered' | 'refused' | 'nothing';
type Tell = (verdict: Verdict) => void;

interface Waiter extends Pick<AccessRequest, 'operation' | 'subject' | 'signal'> {
  go: (tell: Tell | undefined) => void;
}

const tellNobody: Tell = () => undefined;

/** The access to one endpoint. */
class Door {
  readonly #endpoint: Endpoint;
  readonly #parts: AccessParts;
  readonly #onOpen: () => void;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiter>();
  readonly #inARow: Record<Operation, Refusals> = {
    submit: noRefusals,
    status: noRefusals,
    cancel: noRefusals,
    health: noRefusals,
  };
  /** Number of refusals that counted. An answer is evidence only if its request was sent after the latest of them. */
  #refusals = 0;
  /** Number of refusals when a result was last read. */
  #resultRead = -1;
  /** Number of refusals when a job or submission was first refused. */
  readonly #firstRefused = new WeakMap<object, number>();
  #latest: Failure | undefined;
  #believed: Failure['kind'] | undefined;
  #isAsking = false;
  /** True if the present doubt has seen an answer that was no refusal. */
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
      const tell = this.#isOpen(request.operation) ? tellNobody : await this.#turn(request);
      if (tell === undefined) return undefined;
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
        tell(verdict);
      }
    }
  }

  #isOpen(operation: Operation): boolean {
    return !this.isDoubted || (operation !== 'submit' && this.#isClear(operation));
  }

  #isClear(operation: Operation): boolean {
    return this.#isReached && this.#inARow[operation].count === 0;
  }

  /** Resolves to whom to tell what came of the request, or to undefined if it is not to be sent. */
  #turn({ operation, subject, signal, onHeld }: AccessRequest): Promise<Tell | undefined> {
    if (signal.aborted) return Promise.resolve(undefined);
    onHeld?.();
    return new Promise((go) => this.#waiting.add({ operation, subject, signal, go }));
  }

  #release(isMeant: (waiter: Waiter) => boolean): void {
    for (const waiter of [...this.#waiting].filter(isMeant)) {
      this.#waiting.delete(waiter);
      waiter.go(waiter.signal.aborted ? undefined : tellNobody);
    }
  }

  /** If results are refused, the status of a job that still runs is no sign that they are not. */
  #answered({ operation, subject }: AccessRequest, { kind }: Reply, refusals: number): Verdict {
    const isResult = kind === 'completed';
    const wasRefused = this.#firstRefused.delete(subject);
    this.hasWorked = true;
    if (refusals !== this.#refusals) return 'answered';
    if (isResult) this.#resultRead = refusals;
    if (operation !== 'status' || isResult || wasRefused) this.#inARow[operation] = noRefusals;
    return 'answered';
  }

  /** True if this job is refused again after the result of another was read: that is no reason to pause the run. */
  #isOwn({ operation, subject }: AccessRequest): boolean {
    return operation === 'status' && this.#resultRead >= (this.#firstRefused.get(subject) ?? Infinity);
  }

  /** Returns the failure that has stopped the run, or undefined if the request is to be sent again. */
  #refused({ operation, subject }: AccessRequest, failure: Failure, refusals: number): Failure | undefined {
    if (!this.hasWorked || this.#believed === failure.kind) return this.#believe(operation, failure);
    // Requests that were on their way together are refused once.
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

  /** Jobs in flight are collected if their status was not refused. */
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

  /** Sends one request at a time, in turn one that was refused and another, and returns true if access is given again. */
  async #isLetIn(round: number): Promise<boolean> {
    const { liveness } = this.#parts;
    const health = await liveness.ask(this.#endpoint);
    if (health?.kind === 'answers') this.#isReached = true;
    if (health?.kind === 'answers') this.#inARow.health = noRefusals;
    const refusal = health && refusalIn(health);
    // A key may be allowed to submit and not to ask for the health.
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
      const verdict = await new Promise<Verdict>((tell) => first.go(tell));
      if (verdict === 'answered') this.#isReached = true;
      if (!this.#isClear(operation)) return false;
      this.#release((waiter) => waiter.operation === operation);
    }
    return true;
  }
}

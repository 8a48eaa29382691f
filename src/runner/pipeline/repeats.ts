/** Whether a submission whose answer was lost may be sent again: where the service knows it by its key, no second job comes of it. */
import type { Attempt, Endpoint } from '../core/attempt.ts';
import { isKnownStill, type Lost } from '../core/lost-submission.ts';
import type { Clock, HealthReply } from './ports.ts';

type Ask = (endpoint: Endpoint) => Promise<HealthReply | undefined>;

/** A service that has not said within about ten minutes what it knows is not waited for. */
const undecidedMs = 11 * 60_000;

export class Repeats {
  readonly #clock: Clock;
  readonly #askHealth: Ask;
  /** As long as it knows submissions, as it has shown; undefined where it has not. */
  #shownMs: number | undefined;
  /** Whether this run's own submissions have told it. */
  #hasLearned = false;
  #isTold = false;

  /** `askHealth` resolves to undefined where the run is left. */
  constructor(clock: Clock, askHealth: Ask) {
    this.#clock = clock;
    this.#askHealth = askHealth;
  }

  /** What the latest accepted submission has shown: another service may answer by now. */
  learn(shownMs: number | undefined): void {
    this.#hasLearned = true;
    this.#shownMs = shownMs;
  }

  /** To be taken before a submission is sent. */
  instant(): Omit<Lost, 'failure'> {
    return { sentAt: this.#clock.now(), sentElapsed: this.#clock.elapsed() };
  }

  /** Where nothing has shown it yet, the service is asked. One that does not answer may do so later: until then it is not given up. */
  async allow(attempt: Attempt, lost: Lost): Promise<boolean> {
    if (attempt.idempotency === undefined) return false;
    if (this.#knownMs(attempt) === undefined) await this.#ask(attempt.endpoint);
    const isUndecided = this.#knownMs(attempt) === undefined && !this.#hasLearned && !this.#isTold;
    if (isUndecided) return isKnownStill(lost, undecidedMs, this.#clock.now(), this.#clock.elapsed());
    return this.isKnown(attempt, lost);
  }

  /** At this moment. */
  isKnown(attempt: Attempt, lost: Lost): boolean {
    const knownMs = this.#knownMs(attempt);
    return knownMs !== undefined && isKnownStill(lost, knownMs, this.#clock.now(), this.#clock.elapsed());
  }

  #knownMs({ idempotency }: Attempt): number | undefined {
    const earlierMs = this.#hasLearned ? undefined : idempotency?.shownMs;
    return idempotency && (this.#shownMs ?? earlierMs);
  }

  /** Until it has answered once. */
  async #ask(endpoint: Endpoint): Promise<void> {
    if (this.#isTold) return;
    const reply = await this.#askHealth(endpoint);
    this.#isTold = reply !== undefined && reply.kind !== 'failure';
    if (reply?.kind === 'answers') this.#shownMs ??= reply.idempotencyMs;
  }
}

/** Lets the requests of one operation through, no more at once and no faster than the service bears. */
import pLimit from 'p-limit';
import type { Failure } from '../core/failure.ts';
import {
  fullPace,
  paceAt,
  untilRoomMs,
  withAnswer,
  withOverload,
  withSent,
  type Pace,
  type RateSettings,
} from '../core/pacing.ts';
import type { Clock } from './ports.ts';

export class Gate {
  readonly #settings: RateSettings;
  readonly #clock: Clock;
  readonly #limit;
  #pace: Pace;
  /** Turns are taken one after the other, in the order in which they were asked for. */
  #lastTurn: Promise<void> = Promise.resolve();

  constructor(settings: RateSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
    this.#limit = pLimit(settings.atOnce);
    this.#pace = fullPace(settings, clock.elapsed());
  }

  /** Whether requests are sent more slowly than they might be, since the service said that it is too much. */
  get isSlowed(): boolean {
    return this.#pace.perSecond < fullPace(this.#settings, 0).perSecond;
  }

  /** Sends the request when its turn comes; undefined where `signal` aborts before. */
  async pass<Reply extends { kind: string; failure?: Failure }>(
    signal: AbortSignal,
    request: () => Promise<Reply>,
  ): Promise<Reply | undefined> {
    return this.#limit(async () => {
      await this.#turn(signal);
      if (signal.aborted) return undefined;
      const reply = await request();
      this.#learn(reply.failure);
      return reply;
    });
  }

  #turn(signal: AbortSignal): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => this.#waitForRoom(signal));
    return this.#lastTurn;
  }

  async #waitForRoom(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#pace = paceAt(this.#pace, this.#settings, this.#clock.elapsed());
      const waitMs = untilRoomMs(this.#pace);
      if (waitMs === 0) {
        this.#pace = withSent(this.#pace);
        return;
      }
      await this.#clock.sleep(waitMs, signal);
    }
  }

  #learn(failure: Failure | undefined): void {
    const now = this.#clock.elapsed();
    if (failure?.kind === 'overloaded') this.#pace = withOverload(this.#pace, this.#settings, now);
    else if (failure === undefined) this.#pace = withAnswer(this.#pace, this.#settings, now);
  }
}

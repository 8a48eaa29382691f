/** Until when a run may submit: so that what it submits is expected to be done in time. */
import { shareOf, withObservation, type ObservedTimes } from '../core/observed-times.ts';
import type { Clock } from './ports.ts';
import type { BatchSettings } from './settings.ts';

/** This share of the jobs is done within the time that is left to the last ones. */
const expectedShare = 0.95;

export class Deadline {
  readonly #limits: BatchSettings['limits'];
  readonly #clock: Clock;
  readonly #random: () => number;
  /** Monotonic ms; `forMs` does not run before. */
  #beganElapsed = Infinity;
  /** Ages at which this run's jobs were done. */
  #ages: ObservedTimes = [];

  constructor(limits: BatchSettings['limits'], clock: Clock, random: () => number) {
    this.#limits = limits;
    this.#clock = clock;
    this.#random = random;
  }

  begin(): void {
    this.#beganElapsed = this.#clock.elapsed();
  }

  /** A job was done `ageMs` after its submission. */
  observe(ageMs: number): void {
    this.#ages = withObservation(this.#ages, ageMs, this.#random());
  }

  /** Ms until nothing more may be submitted. */
  leftMs(): number {
    const expectedMs = shareOf(this.#ages, expectedShare) ?? 0;
    return Math.max(0, Math.min(this.#forLeftMs(), this.#untilLeftMs()) - expectedMs);
  }

  get text(): string {
    const [name, what] =
      this.#untilLeftMs() < this.#forLeftMs() ? ['limits.until', 'The deadline'] : ['limits.for', 'The time'];
    return `${what} for submissions (\`${name}\`) has passed`;
  }

  #forLeftMs(): number {
    const { forMs = Infinity } = this.#limits;
    return this.#beganElapsed + forMs - this.#clock.elapsed();
  }

  #untilLeftMs(): number {
    const { untilAt = Infinity } = this.#limits;
    return untilAt - this.#clock.now();
  }
}

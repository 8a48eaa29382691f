/** Until when a run may submit: so that what it submits is expected to be done in time. */
import { shareOf, withObservation, type ObservedTimes } from '../core/observed-times.ts';
import type { Clock } from './ports.ts';
import type { PipelineConfig } from './pipeline-config.ts';

type LimitsOfTime = Pick<PipelineConfig['limits'], 'for' | 'until'>;

/** This share of the jobs is done within the time that is left to the last ones. */
const expectedShare = 0.95;

export class Deadline {
  readonly #forMs: number;
  /** Epoch ms. */
  readonly #untilAt: number;
  readonly #clock: Clock;
  readonly #random: () => number;
  /** Monotonic ms; `limits.for` does not run before. */
  #beganElapsed = Infinity;
  /** Ages at which this run's jobs were done. */
  #ages: ObservedTimes = [];

  constructor(limits: LimitsOfTime, clock: Clock, random: () => number) {
    this.#forMs = limits.for ?? Infinity;
    this.#untilAt = limits.until === undefined ? Infinity : nextHour(limits.until, clock.now());
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
    return this.#beganElapsed + this.#forMs - this.#clock.elapsed();
  }

  #untilLeftMs(): number {
    return this.#untilAt - this.#clock.now();
  }
}

/** Returns ms until nothing more may be submitted by a run that submits its first job at `now`; undefined without a limit. */
export function leftMsAt({ for: forMs = Infinity, until }: LimitsOfTime, now: number): number | undefined {
  const least = Math.min(forMs, until === undefined ? Infinity : nextHour(until, now) - now);
  return least === Infinity ? undefined : least;
}

/** Returns when the clock on the wall next shows `07:00`, epoch ms. */
function nextHour(text: string, now: number): number {
  const [hours = 0, minutes = 0] = text.split(':').map(Number);
  const at = new Date(now);
  at.setHours(hours, minutes, 0, 0);
  if (at.getTime() <= now) at.setDate(at.getDate() + 1);
  return at.getTime();
}

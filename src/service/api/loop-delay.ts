/** Measures the delay of the event loop, which delays every request. */
import { addTo, emptyHistogram, type Histogram } from '../jobs/job-durations.ts';

/** Upper bounds of the buckets, in seconds. */
export const loopDelaySeconds = [0.01, 0.05, 0.1, 0.2, 0.5, 1, 5, 30] as const;

const everyMs = 50;

export class LoopDelay {
  /** Delays since the start, measured every 50 ms. A longer block counts once, with its full length. */
  readonly histogram: Histogram = emptyHistogram(loopDelaySeconds);
  readonly #timer: NodeJS.Timeout;
  #lastAt = performance.now();

  constructor() {
    this.#timer = setInterval(() => this.#note(), everyMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #note(): void {
    const now = performance.now();
    addTo(this.histogram, loopDelaySeconds, (now - this.#lastAt - everyMs) / 1_000);
    this.#lastAt = now;
  }
}

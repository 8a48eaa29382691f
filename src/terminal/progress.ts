/** How far a run is, kept up to date from its events. */
import type { Cost } from '../core/spending.ts';
import type { Event } from '../pipeline/event.ts';

export interface Progress {
  /** Scenes of the manifest that can be rendered. */
  total: number;
  saved: number;
  failed: number;
  inFlight: number;
  /** Finished scenes a second, of late; undefined before the second one. */
  perSecond: number | undefined;
  leftMs: number | undefined;
  cost: Cost | undefined;
}

/** The rate is that of the last minutes: a night's speed changes. */
const windowMs = 5 * 60_000;
const mostMarks = 2_000;

export class ProgressCount {
  #total = 0;
  #saved = 0;
  #failed = 0;
  #inFlight = 0;
  #marks: number[] = [];
  #cost: Cost | undefined;
  readonly #elapsed: () => number;

  /** `elapsed`: monotonic ms. */
  constructor(elapsed: () => number) {
    this.#elapsed = elapsed;
  }

  count(event: Event): void {
    if ('cost' in event) this.#cost = event.cost;
    if (event.type === 'plan-made') {
      const { waiting, active, saved, failed } = event.counts;
      this.#total = waiting + active + saved + failed;
      this.#saved = saved;
      this.#failed = failed;
      this.#marks = [this.#elapsed()];
    } else if (event.type === 'recovered') {
      this.#inFlight += event.inFlight;
    } else if (event.type === 'scene-submitted') {
      this.#inFlight += 1;
    } else if (event.type === 'scene-saved') {
      this.#saved += 1;
      this.#inFlight -= 1;
      this.#mark();
    } else if (event.type === 'attempt-failed') {
      if (event.jobId !== undefined) this.#inFlight -= 1;
      if (event.next !== 'failed') return;
      this.#failed += 1;
      this.#mark();
    }
  }

  now(): Progress {
    const perSecond = this.#perSecond();
    const left = this.#total - this.#saved - this.#failed;
    const leftMs = perSecond === undefined ? undefined : (left / perSecond) * 1000;
    return {
      total: this.#total,
      saved: this.#saved,
      failed: this.#failed,
      inFlight: this.#inFlight,
      perSecond,
      leftMs,
      cost: this.#cost,
    };
  }

  #mark(): void {
    this.#marks.push(this.#elapsed());
    if (this.#marks.length > 2 * mostMarks) this.#marks = this.#marks.slice(-mostMarks);
  }

  #perSecond(): number | undefined {
    const now = this.#elapsed();
    const recent = this.#marks.filter((mark) => mark >= now - windowMs).slice(-mostMarks);
    const [first] = recent;
    if (first === undefined || recent.length < 3 || now <= first) return undefined;
    return (recent.length - 1) / ((now - first) / 1000);
  }
}

/** How long a batch was worked on: its runs, where they overlap once, without the pauses between them. */
import type { RunSpan } from '../core/batch-summary.ts';
import type { SceneRecord } from '../core/scene-record.ts';

export class RunTime {
  /** Oldest first. One that runs, or died without a word, is known up to what was last sent or saved in it. */
  readonly #spans: { from: number; to: number; isOpen: boolean }[];

  constructor(runs: RunSpan[]) {
    this.#spans = runs.map(({ startedAt: from, endedAt }) => ({
      from,
      to: endedAt ?? from,
      isOpen: endedAt === null,
    }));
  }

  add({ submittedAt, savedAt }: SceneRecord): void {
    for (const at of [submittedAt, savedAt]) {
      if (at === null) continue;
      const span = this.#spans[this.#begunBy(at) - 1];
      if (span?.isOpen) span.to = Math.max(span.to, at);
    }
  }

  ms(): number {
    let [sum, until] = [0, -Infinity];
    for (const { from, to } of this.#spans) {
      sum += Math.max(0, to - Math.max(from, until));
      until = Math.max(until, to);
    }
    return sum;
  }

  /** How many had begun. Halving: there may be ten thousand, for each of a million rows. */
  #begunBy(at: number): number {
    let [low, high] = [0, this.#spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#spans[middle]?.from ?? Infinity) <= at) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

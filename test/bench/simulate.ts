/** What a client could reach on the same draw: the service's queue and workers in a model without any latency. */
import type { Load } from './load.ts';
import { drawExecutionMs } from './random.ts';

/** When a job that was submitted and completed at these ms is collected. */
type Collecting = (submittedAt: number, completedAt: number) => number;

/** Knows of every completion at once. */
export const perfectKnowledge: Collecting = (_, completedAt) => completedAt;

export function fixedPolling(everyMs: number): Collecting {
  return (submittedAt, completedAt) =>
    submittedAt + Math.ceil((completedAt - submittedAt) / everyMs) * everyMs;
}

/** Ms from the first submission to the last collection. */
export function simulate({ work, scenes, inFlight, seed }: Load, collect: Collecting): number {
  if (work.kind !== 'workers' || work.changes !== undefined) throw new Error('no model of these workers');
  const draw = drawExecutionMs(work, seed);
  const slots = new Instants(inFlight);
  const workers = new Instants(work.workers);
  // A slot is free when its job was collected; jobs come in order, so that the queue is served in order as well.
  for (let i = 0; i < scenes; i++) {
    const submittedAt = slots.takeEarliest();
    const completedAt = Math.max(submittedAt, workers.takeEarliest()) + draw();
    workers.add(completedAt);
    slots.add(collect(submittedAt, completedAt));
  }
  return slots.latest();
}

/** So many instants from which something is free, ascending; 0 at first. */
class Instants {
  readonly #ascending: number[];

  constructor(count: number) {
    this.#ascending = Array.from({ length: count }, () => 0);
  }

  takeEarliest(): number {
    return this.#ascending.shift() ?? 0;
  }

  add(at: number): void {
    const index = this.#ascending.findLastIndex((each) => each <= at) + 1;
    this.#ascending.splice(index, 0, at);
  }

  latest(): number {
    return this.#ascending.at(-1) ?? 0;
  }
}

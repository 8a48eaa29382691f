/**
 * Computes the best possible time for the same execution times: a model of the service's queue and workers without
 * latency.
 */
import type { Load } from './load.ts';
import { drawExecutionMs } from './random.ts';

/** Returns when a job is collected, from its instants of submission and completion in ms. */
type Collecting = (submittedAt: number, completedAt: number) => number;

/** The client knows of every completion at once. */
export const perfectKnowledge: Collecting = (_, completedAt) => completedAt;

export function fixedPolling(everyMs: number): Collecting {
  return (submittedAt, completedAt) =>
    submittedAt + Math.ceil((completedAt - submittedAt) / everyMs) * everyMs;
}

/** Returns the ms from the first submission to the last collection. */
export function simulate({ work, scenes, inFlight, seed }: Load, collect: Collecting): number {
  if (work.kind !== 'workers' || work.changes !== undefined) throw new Error('no model of these workers');
  const draw = drawExecutionMs(work, seed);
  const slots = new Instants(inFlight);
  const workers = new Instants(work.workers);
  // A slot is free after its job was collected. Jobs are submitted in order, so the queue is served in order as well.
  for (let i = 0; i < scenes; i++) {
    const submittedAt = slots.takeEarliest();
    const completedAt = Math.max(submittedAt, workers.takeEarliest()) + draw();
    workers.add(completedAt);
    slots.add(collect(submittedAt, completedAt));
  }
  return slots.latest();
}

/** Instants from which each slot or worker is free, ascending. 0 at first. */
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

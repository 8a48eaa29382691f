/** How many workers of a cluster there should be: which places to start, and which of those that wait to cancel. Pure. */
import type { ClusterTask } from './cluster-workload.ts';

export interface ClusterDemand {
  /** Jobs that wait, and those that its workers are at. */
  queued: number;
  running: number;
  min: number;
  max: number;
  tasks: readonly ClusterTask[];
  /** Of those that run, the ids that take no more jobs, or are not heard of. */
  useless: ReadonlySet<string>;
}

export function clusterChange({ queued, running, min, max, tasks, useless }: ClusterDemand): {
  start: number[];
  cancel: ClusterTask[];
} {
  const active = tasks.filter(({ id, state }) => state !== 'ending' && !useless.has(id));
  const wanted = Math.max(min, Math.min(max, queued + running));
  const missing = Math.max(0, Math.min(wanted - active.length, max - tasks.length));
  const taken = new Set(tasks.map(({ place }) => place));
  const free = Array.from({ length: max }, (_, place) => place).filter((place) => !taken.has(place));
  const waiting = active
    .filter(({ state }) => state === 'waiting')
    .toSorted((one, other) => other.place - one.place);
  return { start: free.slice(0, missing), cancel: waiting.slice(0, Math.max(0, active.length - wanted)) };
}

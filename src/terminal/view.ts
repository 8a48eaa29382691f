/** What every way of showing a run has in common. */
import type { Listener } from '../runner/pipeline/ports.ts';

export interface ViewOptions {
  json: boolean;
  quiet: boolean;
  /** What follows `nightrender retry` for this batch. */
  file: string;
  /** What follows `nightrender run`. */
  runArguments: string;
  /** The output folder as people should read it. */
  shownDir: string;
  /** Where pictures go, as people should read it. */
  shownImages: string;
  /** True if nobody sends a bill for the jobs. */
  isFree?: boolean;
  now: () => number;
  /** Monotonic ms. */
  elapsed: () => number;
}

export interface RunView {
  emit: Listener;
  /** Stops whatever still draws. */
  close(): void;
}

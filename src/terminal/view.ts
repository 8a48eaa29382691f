/** The interface and options that all views of a run share. */
import type { Listener } from '../runner/pipeline/ports.ts';

export interface ViewOptions {
  json: boolean;
  quiet: boolean;
  file: string;
  runArguments: string;
  /** Output folder as it is shown to users. */
  shownDir: string;
  /** Place of the pictures as it is shown to users. */
  shownImages: string;
  /** True if nobody sends a bill for the jobs. */
  isFree?: boolean;
  now: () => number;
  /** Monotonic ms. */
  elapsed: () => number;
}

export interface RunView {
  emit: Listener;
  close(): void;
}

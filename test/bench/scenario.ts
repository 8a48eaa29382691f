/** A scenario: a load, how often it is run, and what is to be reached under it. */
import type { Load } from './load.ts';
import type { Comparison } from './measures.ts';
import type { Target } from './target.ts';

export interface Scenario {
  name: string;
  load: Load;
  /** What changes with `--quick`. */
  quick: Partial<Load>;
  /** Measured, and before them those that do not count. */
  rounds: number;
  warmUps: number;
  run(scenario: Scenario, options: RunOptions): Promise<Outcome>;
}

export interface RunOptions {
  /** Where a CPU profile of our side is left. */
  profile: string | undefined;
}

export interface Outcome {
  comparisons: Comparison[];
  targets: Target[];
  /** All that was measured, for those who compute something else from it. */
  details: unknown;
}

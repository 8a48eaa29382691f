/** A scenario: a load, the number of rounds, and the targets. */
import type { Load } from './load.ts';
import type { Comparison } from './measures.ts';
import type { Target } from './target.ts';

export interface Scenario {
  name: string;
  load: Load;
  /** Parts of the load that `--quick` changes. */
  quick: Partial<Load>;
  /** Number of measured rounds, and of rounds before them that do not count. */
  rounds: number;
  warmUps: number;
  run(scenario: Scenario, options: RunOptions): Promise<Outcome>;
}

export interface RunOptions {
  /** Folder for a CPU profile of our side. */
  profile: string | undefined;
}

export interface Outcome {
  comparisons: Comparison[];
  targets: Target[];
  /** All measurements, for people who want to compute something else. */
  details: unknown;
}

/** A scenario of the kill tests: the runs and commands of a batch, and the behaviour of the service. */
import type { PutBackChoice } from '../../../../src/runner/core/retry-policy.ts';
import type { Event } from '../../../../src/runner/pipeline/event.ts';
import type { ManifestScenes } from '../../../../src/runner/pipeline/ports.ts';
import type { PipelineConfig } from '../../../../src/runner/pipeline/pipeline-config.ts';
import type { Stop } from '../../../../src/runner/pipeline/stop.ts';
import type { Behaviour } from '../../../fakes/fake-service.ts';
import type { World } from '../../../fakes/world.ts';

export interface Scenario {
  name: string;
  behaviour?: Behaviour;
  steps: Step[];
  /** Interval at which a second kill is tried in the resumed run, in half calls. */
  everyNthInResume: number;
  /**
   * Minimum number of kills in all and in resumed runs. It reveals a change that makes the test try fewer
   * places.
   */
  atLeast: { deaths: number; inResume: number };
  /** Number of additional jobs that these kills explain, besides one for each unanswered submission. */
  moreJobs?: (deaths: number) => number;
}

/** One run or command, and the runs that resume it. */
export interface Step {
  what: 'run' | 'cancel' | 'verify' | 'retry';
  manifest?: ManifestScenes;
  settings?: Partial<PipelineConfig>;
  choice?: PutBackChoice;
  /** Wall time since the previous step, in ms. */
  afterMs?: number;
  /** Time after which the run is abandoned, as if killed, in ms. */
  until?: number;
  onEvent?: (event: Event, stop: Stop) => void;
  /** Called before this step. */
  before?: (world: World) => unknown;
  /** Called after this step. Returns a sentence for each condition that does not hold. */
  wrong?: (world: World, deaths: number) => string[];
  /** True if the step only prepares the state for others, so no kill is tried in it. */
  isSetup?: true;
  /** Step after a kill of this one: the same step again (default), or the next step. */
  afterDeath?: 'again' | 'on';
}

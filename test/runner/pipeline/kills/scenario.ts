/** What a scenario of the kill tests is: the starts of the program in a night, and the service they meet. */
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
  /** A second death is tried at every so manieth half call of what resumes it. */
  everyNthInResume: number;
  /** Deaths that it takes at least, and how many of them in a resume: so that no change makes the net wider unseen. */
  atLeast: { deaths: number; inResume: number };
  /** Jobs that deaths explain beyond those of a world without any, besides one for each unanswered submission. */
  moreJobs?: (deaths: number) => number;
}

/** One start of the program, and those that resume it. */
export interface Step {
  what: 'run' | 'cancel' | 'verify' | 'retry';
  manifest?: ManifestScenes;
  settings?: Partial<PipelineConfig>;
  choice?: PutBackChoice;
  /** Wall time since the step before. */
  afterMs?: number;
  /** The run is left, as if killed, after so much time. */
  until?: number;
  onEvent?: (event: Event, stop: Stop) => void;
  /** What the world does before this step. */
  before?: (world: World) => unknown;
  /** What holds when it has ended, in a sentence for each thing that does not. */
  wrong?: (world: World, deaths: number) => string[];
  /** It only makes what the others find. */
  isSetup?: true;
  /** What follows its death: the same again (where left out), or the next step. */
  afterDeath?: 'again' | 'on';
}

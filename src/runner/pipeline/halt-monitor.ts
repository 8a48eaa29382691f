/** Stops a run that would go on paying for nothing: attempts keep failing, the service does not answer, refuses every scene or gives one id to many jobs. */
import type { Failure } from '../core/failure.ts';
import { haltReason, noAttempts, unreachableReason, type HaltRules, type Tally } from '../core/halting.ts';
import type { Clock, Checkpoint } from './ports.ts';
import type { Operation, Reachability } from './reachability.ts';
import type { Stop } from './stop.ts';
import { type Attempt, endpointAddress, type JobAtService, type SubmittedJob } from '../core/attempt.ts';

export class HaltMonitor {
  readonly #rules: HaltRules;
  readonly #stop: Stop;
  readonly #reachability: Reachability;
  readonly #clock: Clock;
  readonly #abandoned: AbortSignal;
  #tally: Tally = noAttempts;

  constructor(
    rules: HaltRules,
    stop: Stop,
    reachability: Reachability,
    clock: Clock,
    abandoned: AbortSignal,
  ) {
    this.#rules = rules;
    this.#stop = stop;
    this.#reachability = reachability;
    this.#clock = clock;
    this.#abandoned = abandoned;
  }

  countSaved(): void {
    this.#tally = { ...this.#tally, saved: this.#tally.saved + 1, inARow: 0 };
  }

  countFailed(failure: Failure): void {
    const { saved, failed, inARow } = this.#tally;
    this.#tally = { saved, failed: failed + 1, inARow: inARow + 1, last: failure };
    const reason = haltReason(this.#tally, this.#rules);
    if (reason !== undefined) this.#stop.halt(reason);
  }

  /** A request was not answered. Without status requests nothing can be collected, so that the run leaves. */
  countSilence(operation: Operation, words: string): void {
    if (this.#abandoned.aborted) return;
    this.#reachability.silent(operation);
    const now = this.#clock.elapsed();
    const state = this.#reachability.of(operation);
    const reason = unreachableReason(operation, state, now, this.#rules, words);
    if (reason !== undefined) this.#stop.halt(reason, operation === 'submit' ? 'drain' : 'leave');
  }
}

/** So many different scenes are no chance. */
const enoughRefused = 5;

/** Submissions that are refused before any was accepted: then the input is wrong for every scene, not for one. */
export class FirstRefusals {
  readonly #checkpoint: Pick<Checkpoint, 'hasAccepted'>;
  readonly #stop: Stop;
  readonly #scenes = new Set<string>();
  /** Undefined until it was read. */
  #hasAccepted: boolean | undefined;

  constructor(checkpoint: Pick<Checkpoint, 'hasAccepted'>, stop: Stop) {
    this.#checkpoint = checkpoint;
    this.#stop = stop;
  }

  /** True if scenes wait because of such a refusal. */
  get hasAny(): boolean {
    return this.#scenes.size > 0;
  }

  countAccepted(): void {
    this.#hasAccepted = true;
    this.#scenes.clear();
  }

  /** True if the scene waits, since the refusal may be one for all scenes; a second refusal of the same scene is its own. */
  async isForAll({ sceneId }: Attempt, { text }: Failure): Promise<boolean> {
    this.#hasAccepted ??= await this.#checkpoint.hasAccepted();
    if (this.#hasAccepted || this.#scenes.has(sceneId)) return false;
    this.#scenes.add(sceneId);
    if (this.#scenes.size === enoughRefused)
      this.#stop.halt(
        `the service has refused the first ${enoughRefused} scenes and accepted none, so that what \`input\` sends may be wrong for all of them; the latest: ${text}`,
      );
    return true;
  }
}

/** One may be an accident of the network; a service that does so again gives one id to many. */
const maxSharedInARow = 2;

/** Job ids that the service gave to two submissions: whose picture such a job brings is unknown. */
export class SharedIds {
  readonly #stop: Stop;
  readonly #shared = new Set<string>();
  #inARow = 0;

  constructor(stop: Stop) {
    this.#stop = stop;
  }

  add({ endpoint }: Attempt, jobId: string, failure: Failure): void {
    this.#shared.add(jobAddress({ endpoint, jobId }));
    this.#inARow += 1;
    if (this.#inARow === maxSharedInARow) this.#stop.halt(failure.text);
  }

  /** A submission was answered with an id of its own. */
  endRow(): void {
    this.#inARow = 0;
  }

  has(job: SubmittedJob): boolean {
    return job.isShared === true || this.#shared.has(jobAddress(job));
  }
}

function jobAddress({ endpoint, jobId }: JobAtService): string {
  return `${endpointAddress(endpoint)}/${jobId}`;
}

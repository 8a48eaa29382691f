/** Halts a run that would pay in vain: failing attempts, silence, refusals of every scene, or shared job ids. */
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

  /** Counts an unanswered request. Without status requests nothing can be collected, so the run leaves. */
  countSilence(operation: Operation, words: string): void {
    if (this.#abandoned.aborted) return;
    this.#reachability.silent(operation);
    const now = this.#clock.elapsed();
    const state = this.#reachability.stateOf(operation);
    const reason = unreachableReason(operation, state, now, this.#rules, words);
    if (reason !== undefined) this.#stop.halt(reason, operation === 'submit' ? 'drain' : 'leave');
  }
}

/** Number of different refused scenes that are no coincidence. */
const enoughRefused = 5;

/** Detects refusals before any submission was accepted: the input is then wrong for all scenes, not for one. */
export class FirstRefusals {
  readonly #checkpoint: Pick<Checkpoint, 'hasAccepted'>;
  readonly #stop: Stop;
  readonly #scenes = new Set<string>();
  /** Undefined until it is read. */
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

  /**
   * True if the scene has to wait because the refusal may apply to all scenes. A second refusal of the same
   * scene is its own.
   */
  async isForAll({ sceneId }: Attempt, { text }: Failure): Promise<boolean> {
    this.#hasAccepted ??= await this.#checkpoint.hasAccepted();
    if (this.#hasAccepted || this.#scenes.has(sceneId)) return false;
    this.#scenes.add(sceneId);
    if (this.#scenes.size === enoughRefused)
      this.#stop.halt(
        `the service has refused the first ${enoughRefused} scenes and accepted none, so \`input\` may be wrong for all of them; the latest: ${text}`,
      );
    return true;
  }
}

/** Number of consecutive shared ids that halt the run. One may be an accident of the network. */
const maxSharedInARow = 2;

/** Job ids that the service gave to two submissions. It is unknown whose picture such a job returns. */
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

  /** Records that a submission got an id of its own. */
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

/** Stops a run that would pay for nothing, after repeated failures, refusals or shared job ids, and while the service is unreachable. */
import {
  type Attempt,
  endpointAddress,
  type JobAtService,
  type SubmittedJob,
  type Held,
} from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import {
  haltReason,
  type HaltRules,
  isBlind,
  isLost,
  noAttempts,
  noSilence,
  type ReachabilityState,
  silentSinceLost,
  type Tally,
  unreachableReason,
  withSilence,
  type HeldResults,
  isHeld,
  isOfEveryJob,
  isTimeout,
  settingFor,
  losesResult,
} from '../core/halting.ts';
import { type Backoff, backoffMs } from '../core/retry-policy.ts';
import type { Checkpoint, Clock, Ports, KeptAs } from './ports.ts';
import type { Stop } from './stop.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import type { Job, JobFacts } from './poll-scheduler.ts';
import { sceneNameOf } from '../core/naming.ts';

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

  /** True if the scene waits because the refusal may be for all. A second one of a scene is its own. */
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

type Operation = 'submit' | 'status';

/** Tracks whether the service answers, and limits submissions while it does not. */
export class Reachability {
  readonly #elapsed: () => number;
  readonly #random: () => number;
  readonly #waits: Backoff;
  #states: Record<Operation, ReachabilityState> = { submit: noSilence, status: noSilence };
  /**
   * Maximum number of concurrent submissions. It is 1 until the first is accepted and while contact is lost,
   * and doubles with each later answer. Thus a service whose jobs cannot be polled is paid for only one job.
   */
  #window = 1;
  /** Undefined until the service has answered a submission. */
  #hasAccepted: boolean | undefined;
  #nextSubmission = 0;

  constructor(waits: Backoff, elapsed: () => number, random: () => number) {
    this.#waits = waits;
    this.#elapsed = elapsed;
    this.#random = random;
  }

  stateOf(operation: Operation): ReachabilityState {
    return this.#states[operation];
  }

  /** Records a readable answer, whatever it says. `isAccepted`: it accepts a submission. */
  answered(operation: Operation, isAccepted = false): void {
    this.#states[operation] = noSilence;
    if (operation !== 'submit') return;
    this.#hasAccepted = isAccepted || this.#hasAccepted === true;
    if (this.#hasAccepted) this.#window = this.#window > maxWindow ? Infinity : this.#window * 2;
    this.#nextSubmission = 0;
  }

  /** Records that no readable answer came. */
  silent(operation: Operation): void {
    const now = this.#elapsed();
    const state = withSilence(this.#states[operation], now);
    this.#states[operation] = state;
    if (operation !== 'submit' || !isLost(state)) return;
    this.#window = 1;
    this.#nextSubmission = now + backoffMs(silentSinceLost(state), this.#waits, this.#random());
  }

  /** True if submissions are currently not answered. */
  isOutage(): boolean {
    return isLost(this.#states.submit);
  }

  /** True if the service answers and has not yet accepted any submission. */
  get isRefusing(): boolean {
    return this.#hasAccepted === false && this.#states.submit === noSilence;
  }

  /**
   * Returns how many submissions may be sent on top of `sending`. `isProbe`: no other job could show that
   * the service is back.
   */
  allowedSubmissions(sending: number, isProbe: boolean): number {
    const now = this.#elapsed();
    if (this.#nextSubmission > now) return 0;
    if (isBlind(this.#states.status, now)) return isProbe ? 1 : 0;
    return Math.max(0, this.#window - sending);
  }

  /** Returns the time in ms until submissions may be sent again. */
  pauseMs(): number {
    const now = this.#elapsed();
    const blindMs = isBlind(this.#states.status, now) ? blindPauseMs : 0;
    return Math.max(0, blindMs, this.#nextSubmission - now);
  }
}

/** Window size beyond which submissions are no longer limited. */
const maxWindow = 64;
/** Interval at which submissions are reconsidered while status requests are not answered. */
const blindPauseMs = 5_000;

type HoldPorts = Pick<Ports, 'checkpoint' | 'service' | 'answers' | 'clock' | 'emit'>;

type HoldRules = Pick<PipelineConfig, 'outputDigest' | 'halt' | 'concurrency' | 'timeouts' | 'keepsMs'>;

/** Results that wait for a setting. Keeps their answers, and halts the run before more is paid in vain. */
export class Holds {
  readonly #ports: HoldPorts;
  readonly #config: HoldRules;
  readonly #stop: Stop;
  readonly #abandoned: AbortSignal;
  /** True if a picture of the batch was saved with the current settings. Undefined until it is read. */
  #isAnyFound: boolean | undefined;
  readonly #results = new Map<string, HeldResults>();
  /** True while one job at a time shows whether a timeout was changed. */
  isProbing = false;
  /** Number of paid jobs of this run whose results are lost. */
  lostResults = 0;
  #elsewhere: string | undefined;
  /** Number of consecutive outputs without any value that `scenes.until` needs. */
  #undecided = 0;
  /** Number of consecutive held results by kind, with nothing saved between them. */
  readonly #inARow = new Map<FailureKind, number>();

  constructor(ports: HoldPorts, config: HoldRules, stop: Stop, abandoned: AbortSignal) {
    this.#ports = ports;
    this.#config = config;
    this.#stop = stop;
    this.#abandoned = abandoned;
  }

  /** Number of jobs whose results wait. They are paid for and occupy no slot. */
  get count(): number {
    return this.results.reduce((sum, { count }) => sum + count, 0);
  }

  /** Number of held results whose pictures are available only as long as their host keeps them. */
  get addresses(): number {
    return this.results.reduce((sum, one) => sum + one.addresses, 0);
  }

  get results(): HeldResults[] {
    return [...this.#results.values()];
  }

  /** Counts a saved picture. It proves the settings right if it has a value that `scenes.until` needs. */
  async countSaved(isUndecided: boolean): Promise<void> {
    this.#inARow.clear();
    this.isProbing = false;
    if (isUndecided || (await this.#readFound())) return;
    this.#isAnyFound = true;
    await this.#ports.checkpoint.recordFoundWith(this.#config.outputDigest);
  }

  /** True if enough outputs in a row lack values for `scenes.until`. `held`: a job that already waits. */
  isValuePlaceWrong(isUndecided: boolean, { held }: Job): boolean {
    this.#undecided = isUndecided ? this.#undecided + 1 : 0;
    return isUndecided && (held?.kind === 'value-not-found' || this.#undecided >= enoughUndecided);
  }

  /** True if a setting is at fault for the failure of a finished job. */
  async isHeld({ endpoint }: Job, failure: Failure): Promise<boolean> {
    const { checkpoint } = this.#ports;
    return isHeld(failure, {
      isAnyFound: await this.#readFound(),
      hasEndedOtherwise:
        isOfEveryJob(failure.kind) &&
        (await checkpoint.hasEndedOtherwise(endpoint, this.#config.timeouts.execution)),
    });
  }

  /** Leaves attempt and scene, and keeps the answer. `hasAddresses`: it refers to pictures by URL. */
  async hold(job: Job, failure: Failure, facts: JobFacts, hasAddresses: boolean): Promise<void> {
    const { attempt } = job;
    const { checkpoint, clock, emit } = this.#ports;
    const { kind, text } = failure;
    const now = clock.now();
    // A kept answer that was not read may be damaged, and a new one has more recent URLs.
    const kept = isTimeout(kind) || job.isReadFromKept ? undefined : await this.#keep(job);
    const answer = typeof kept === 'object' ? kept.answer : job.held?.answer;
    const held: Held = {
      kind,
      text,
      completedAt: job.held?.completedAt ?? facts.completedAt ?? now,
      ...(answer !== undefined && { answer }),
    };
    const status = facts.status ?? job.status;
    await checkpoint.recordStatus(attempt, { status, isExecuting: false, at: now, held });
    if (isTimeout(kind) && kind !== 'job-overdue' && job.held?.kind !== kind) this.countLost(kind);
    this.#count(held, hasAddresses || failure.isByAddress === true);
    const setting = settingFor(kind);
    emit({ type: 'result-held', ...sceneNameOf(attempt), jobId: job.jobId, kind, text, setting });
    // An earlier run saw this job end, which proves nothing about the scenes that wait.
    const isAgain = kind === 'default-timeout' && job.held?.kind === kind;
    if (!isAgain) await this.#stopIfVain(held, kept === 'full');
  }

  countLost(kind: FailureKind): void {
    if (losesResult(kind)) this.lostResults += 1;
  }

  /** Records that the answer is kept on another machine, which `text` names. */
  leaveElsewhere(text: string): void {
    this.#elsewhere = text;
    this.#ports.emit({ type: 'warning', text });
  }

  /** Halts the run when nothing else is left to do, because settings or the other machine are needed. */
  end(): void {
    const [first] = this.results;
    const text = first === undefined ? this.#elsewhere : `${countOf(first)} ${first.setting}`;
    if (text !== undefined) this.#stop.halt(text);
  }

  async #readFound(): Promise<boolean> {
    this.#isAnyFound ??= (await this.#ports.checkpoint.foundWith()) === this.#config.outputDigest;
    return this.#isAnyFound;
  }

  #keep(job: Job): Promise<KeptAs | 'full' | undefined> {
    const { answers, service } = this.#ports;
    return answers.keep(job.attempt, (write) => service.copyResult(job, write, this.#abandoned));
  }

  #count({ kind, completedAt, answer }: Held, hasAddresses: boolean): void {
    const setting = settingFor(kind);
    const keptUntil = completedAt + this.#config.keepsMs;
    const before = this.#results.get(setting) ?? {
      setting,
      kind,
      count: 0,
      kept: 0,
      addresses: 0,
      keptUntil,
    };
    this.#results.set(setting, {
      setting,
      kind,
      count: before.count + 1,
      kept: before.kept + (answer === undefined || isTimeout(kind) ? 0 : 1),
      addresses: before.addresses + (hasAddresses ? 1 : 0),
      keptUntil: Math.min(before.keptUntil, keptUntil),
    });
  }

  async #stopIfVain({ kind, text }: Held, isFull: boolean): Promise<void> {
    const inARow = (this.#inARow.get(kind) ?? 0) + 1;
    this.#inARow.set(kind, inARow);
    if (isFull) {
      return this.#stop.halt(
        `an answer that waits for a setting cannot be kept, because the disk is full or \`limits.kept\` is reached; it waits because ${text}`,
      );
    }
    const { halt, concurrency } = this.#config;
    // A timeout that ends every job is at fault even if pictures were found before it was set.
    const isVain =
      isOfEveryJob(kind) ||
      !(await this.#readFound()) ||
      inARow >= halt.consecutive ||
      this.addresses >= concurrency;
    if (isVain) this.#stop.halt(text);
  }
}

/** Number of consecutive outputs without values. A single output may lack them by chance. */
const enoughUndecided = 3;

function countOf({ count }: HeldResults): string {
  return count === 1 ? '1 result waits for' : `${count.toLocaleString('en')} results wait for`;
}

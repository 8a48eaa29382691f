/** The jobs in flight: those whose state is unclear, those whose result does not come, and results that wait for a setting. */
import { type Attempt, type Held, jobAddress, type SubmittedJob } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import {
  type HeldResults,
  isHeld,
  isOfEveryJob,
  isTimeout,
  losesResult,
  settingFor,
} from '../core/halting.ts';
import { sceneNameOf } from '../core/naming.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import type { Job, JobFacts } from './poll-scheduler.ts';
import type { KeptAs, Ports } from './ports.ts';
import type { Stop } from './stop.ts';

/** Counts the jobs in flight, and lists those whose state is unclear or whose result does not come. */
export class JobsInFlight {
  /** Number of attempts being submitted or followed. */
  count = 0;
  /** Jobs unknown to the service while it is unclear whether the job or the endpoint is gone. They occupy no slot. */
  readonly uncertain = new Set<Job>();
  /** Jobs whose status could not be read several times in a row. */
  readonly unreadable = new Set<Job>();
  /** Finished jobs whose results could not be obtained so far. At most `concurrency` of this run occupy no slot. */
  readonly late = new Set<Job>();
  /** Number of jobs of this run that became late since a result last came. */
  #lateInARow = 0;
  /** True if a job became late and no result came since, so that the host may be down for all. */
  #isHostDoubted = false;
  /** Completed jobs whose output may come a moment later. They occupy no slot. */
  readonly awaited = new Set<Job>();
  /** Lost submissions whose jobs may be listed later. They occupy no slot. */
  readonly sought = new Set<Attempt>();
  /** Number of consecutive jobs that were completed and stayed without an output. */
  #emptyInARow = 0;
  /** True if an unreadable or late job was given up to test the service, because no other job could show whether it works. */
  hasGivenUpAsTest = false;
  /** True while it is being decided whether to give up one uncertain job, so that no other job is given up. */
  isGivingUpOne = false;
  /** Called when an uncertain, late, awaited or sought job frees its slot. */
  onSlotFreed: () => void = () => undefined;
  readonly #onSought = new Map<Attempt, () => void>();

  markUncertain(job: Job): void {
    if (this.uncertain.has(job)) return;
    this.uncertain.add(job);
    this.onSlotFreed();
  }

  markSought(attempt: Attempt): void {
    if (this.sought.has(attempt)) return;
    this.sought.add(attempt);
    this.#onSought.get(attempt)?.();
    this.onSlotFreed();
  }

  untilSought(attempt: Attempt): Promise<void> {
    return new Promise((resolve) => this.#onSought.set(attempt, resolve));
  }

  /**
   * Notes that a completed job has no output yet. Returns how long to wait for it, in ms. Undefined
   * if it was awaited long enough, or if recent jobs stayed without one.
   */
  startAwaiting(job: Job): number | undefined {
    const waitMs = outputWaitsMs[job.emptyAnswers];
    if (waitMs === undefined || this.#emptyInARow >= maxEmptyInARow) {
      this.#emptyInARow += 1;
      return undefined;
    }
    job.emptyAnswers += 1;
    this.awaited.add(job);
    this.onSlotFreed();
    return waitMs;
  }

  /** Notes that the result of a job does not come, which casts doubt on its host, and frees the job's slot. */
  markLate(job: Job): void {
    if (this.late.has(job)) return;
    this.late.add(job);
    this.#isHostDoubted = true;
    if (!job.isResumed) this.#lateInARow += 1;
    this.onSlotFreed();
  }

  /** Records that no download of a result failed. */
  resultCame(): void {
    this.#isHostDoubted = false;
    this.#lateInARow = 0;
  }

  /** True if a job became late and no result came since. */
  get isHostInDoubt(): boolean {
    return this.#isHostDoubted && this.late.size > 0;
  }

  /**
   * Returns how many jobs may be submitted. `others`: number of jobs in flight that are neither late nor unclear. While
   * the host is in doubt, jobs go one at a time, and none after `enoughLate` late ones in a row.
   */
  allowedBesideLate(others: number, concurrency: number): number {
    const own = [...this.late].filter(({ isResumed }) => !isResumed).length;
    // If an earlier run left late jobs, one of this run is enough. Otherwise each start during an outage would pay for `enoughLate`.
    const maxLate = own < this.late.size ? 1 : enoughLate;
    if (this.isHostInDoubt) return this.#lateInARow < maxLate ? Math.max(0, 1 - others) : 0;
    return Math.max(0, concurrency - others - Math.max(0, own - concurrency));
  }

  /** Returns the results that are left to the next run because a file of theirs could not be downloaded. */
  resultsOfLate(keepsMs: number): HeldResults[] {
    const left = [...this.late].flatMap(({ held }) => (held?.kind === 'download-failed' ? [held] : []));
    if (left.length === 0) return [];
    return [
      {
        setting: settingFor('download-failed'),
        kind: 'download-failed',
        count: left.length,
        kept: left.filter(({ answer }) => answer !== undefined).length,
        addresses: left.length,
        keptUntil: Math.min(...left.map(({ completedAt }) => completedAt + keepsMs)),
      },
    ];
  }

  /** Records that the service returns outputs with its answers. */
  outputCame(): void {
    this.#emptyInARow = 0;
  }

  /** Removes the job from the lists of jobs, because it is over or left. */
  end(job: Job): void {
    this.forget(job);
    this.late.delete(job);
  }

  /** Removes the job from the lists of unclear jobs, because the service knows it or it is settled. */
  forget(job: Job): void {
    this.awaited.delete(job);
    this.uncertain.delete(job);
    this.unreadable.delete(job);
  }
}

/** Some services report COMPLETED a moment before they have stored the output. */
const outputWaitsMs = [1_000, 3_000, 10_000];
/** Number of consecutive jobs without output after which the run stops waiting for outputs. */
const maxEmptyInARow = 3;

/** Number of late jobs in a row after which the host is to blame, and not one file. */
const enoughLate = 2;

type HoldPorts = Pick<Ports, 'checkpoint' | 'service' | 'answers' | 'clock' | 'emit'>;

type HoldRules = Pick<PipelineConfig, 'outputDigest' | 'halt' | 'concurrency' | 'timeouts' | 'keepsMs'>;

/** Results that wait for a setting. Keeps their answers, and halts the run before more jobs are paid for in vain. */
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

  /** Counts a saved picture. It proves the settings right unless it lacks the values that `scenes.until` needs. */
  async countSaved(isUndecided: boolean): Promise<void> {
    this.#inARow.clear();
    this.isProbing = false;
    if (isUndecided || (await this.#readFound())) return;
    this.#isAnyFound = true;
    await this.#ports.checkpoint.recordFoundWith(this.#config.outputDigest);
  }

  /** Counts an output. True if enough outputs in a row lack values for `scenes.until`. `held`: a job that already waits. */
  isValuePlaceWrong(isUndecided: boolean, { held }: Job): boolean {
    this.#undecided = isUndecided ? this.#undecided + 1 : 0;
    return isUndecided && (held?.kind === 'value-not-found' || this.#undecided >= enoughUndecided);
  }

  /** True if a setting is at fault for the failure of a finished or overdue job. */
  async isHeld({ endpoint }: Job, failure: Failure): Promise<boolean> {
    const { checkpoint } = this.#ports;
    return isHeld(failure, {
      isAnyFound: await this.#readFound(),
      hasEndedOtherwise:
        isOfEveryJob(failure.kind) &&
        (await checkpoint.hasEndedOtherwise(endpoint, this.#config.timeouts.execution)),
    });
  }

  /** Leaves the attempt and its scene open, and keeps the answer. `hasAddresses`: it refers to pictures by URL. */
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

  /** Call when nothing else is left to do. Halts the run if settings or the other machine are needed. */
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
        `the answers of finished jobs can no longer be kept until a setting is fixed, because the disk is full or \`limits.kept\` is reached; the latest: ${text}`,
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

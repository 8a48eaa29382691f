/** Keeps results that wait for a setting, and stops the run before more jobs are paid for in vain. */
import type { Held } from '../core/attempt.ts';
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
import type { Job, JobFacts } from './poll-scheduler.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import type { KeptAs, Ports } from './ports.ts';
import type { Stop } from './stop.ts';

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
    await this.#stopIfVain(held, kept === 'full');
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
    this.#inARow.set(kind, (this.#inARow.get(kind) ?? 0) + 1);
  }

  async #stopIfVain({ kind, text }: Held, isFull: boolean): Promise<void> {
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
      (this.#inARow.get(kind) ?? 0) >= halt.consecutive ||
      this.addresses >= concurrency;
    if (isVain) this.#stop.halt(text);
  }
}

/** Number of consecutive outputs without values. A single output may lack them by chance. */
const enoughUndecided = 3;

function countOf({ count }: HeldResults): string {
  return count === 1 ? '1 result waits for' : `${count.toLocaleString('en')} results wait for`;
}

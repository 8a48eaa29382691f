/** Results that wait for a setting: keeps their answers, and stops the run before more are paid for in vain. */
import { isHeld, isTimeout, losesResult, settingFor, type HeldResults } from '../core/holding.ts';
import type { Held } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import { sceneNameOf } from '../core/prompt.ts';
import type { Job, JobFacts } from './job.ts';
import type { KeptAs, Ports } from './ports.ts';
import type { PipelineConfig } from './pipeline-config.ts';
import type { Stop } from './stop.ts';

type HoldPorts = Pick<Ports, 'checkpoint' | 'service' | 'answers' | 'clock' | 'emit'>;
type HoldRules = Pick<PipelineConfig, 'outputDigest' | 'halt' | 'concurrency' | 'timeouts' | 'keepsMs'>;

export class Holds {
  readonly #ports: HoldPorts;
  readonly #config: HoldRules;
  readonly #stop: Stop;
  readonly #abandoned: AbortSignal;
  /** True if a picture of the batch was saved with the present settings; undefined until that was read. */
  #isAnyFound: boolean | undefined;
  readonly #results = new Map<string, HeldResults>();
  /** True while one job at a time shows whether a time-out was changed. */
  isProbing = false;
  /** Paid jobs of this run whose results are lost. */
  lostResults = 0;
  #elsewhere: string | undefined;
  /** Outputs in a row without any value that decides on seeds. */
  #undecided = 0;
  /** Held one after the other with nothing saved between them, by kind. */
  readonly #inARow = new Map<FailureKind, number>();

  constructor(ports: HoldPorts, config: HoldRules, stop: Stop, abandoned: AbortSignal) {
    this.#ports = ports;
    this.#config = config;
    this.#stop = stop;
    this.#abandoned = abandoned;
  }

  /** Number of jobs whose results wait: paid for, and in no slot. */
  get count(): number {
    return this.results.reduce((sum, { count }) => sum + count, 0);
  }

  /** Number of these that live only as long as the host of their pictures keeps them. */
  get addresses(): number {
    return this.results.reduce((sum, one) => sum + one.addresses, 0);
  }

  /** Of this run, by setting. */
  get results(): HeldResults[] {
    return [...this.#results.values()];
  }

  /** A picture was saved. The settings are right for this service if it also brought a value, where values decide on seeds. */
  async countSaved(isUndecided: boolean): Promise<void> {
    this.#inARow.clear();
    this.isProbing = false;
    if (isUndecided || (await this.#readFound())) return;
    this.#isAnyFound = true;
    await this.#ports.checkpoint.recordFoundWith(this.#config.outputDigest);
  }

  /** True if so many outputs in a row have no value that decides on seeds that its place is wrong. `held`: one that waits for that. */
  isValuePlaceWrong(isUndecided: boolean, { held }: Job): boolean {
    this.#undecided = isUndecided ? this.#undecided + 1 : 0;
    return isUndecided && (held?.kind === 'value-not-found' || this.#undecided >= enoughUndecided);
  }

  /** True if the failure of a job that is over is the fault of a setting. */
  async isHeld({ endpoint }: Job, failure: Failure): Promise<boolean> {
    const { checkpoint } = this.#ports;
    return isHeld(failure, {
      isAnyFound: await this.#readFound(),
      hasEndedOtherwise:
        isTimeout(failure.kind) &&
        (await checkpoint.hasEndedOtherwise(endpoint, this.#config.timeouts.execution)),
    });
  }

  /** Leaves attempt and scene as they are and keeps the answer. `hasAddresses`: it names pictures by address. */
  async hold(job: Job, failure: Failure, facts: JobFacts, hasAddresses: boolean): Promise<void> {
    const { attempt } = job;
    const { checkpoint, clock, emit } = this.#ports;
    const { kind, text } = failure;
    const now = clock.now();
    // An answer that was not read may be damaged or gone, and what the service says now has addresses that are not as old.
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
    if (kind === 'job-timed-out') this.countLost(kind);
    this.#count(held, hasAddresses || failure.isByAddress === true);
    const setting = settingFor(kind);
    emit({ type: 'result-held', ...sceneNameOf(attempt), jobId: job.jobId, kind, text, setting });
    this.#stopIfVain(held, kept === 'full');
  }

  countLost(kind: FailureKind): void {
    if (losesResult(kind)) this.lostResults += 1;
  }

  /** The answer of a result is on another machine; `text` says where. */
  leaveElsewhere(text: string): void {
    this.#elsewhere = text;
    this.#ports.emit({ type: 'warning', text });
  }

  /** Nothing else is left to do: the run ends for want of the settings, or of the other machine. */
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

  #stopIfVain({ kind, text }: Held, isFull: boolean): void {
    if (isFull) {
      return this.#stop.halt(
        `an answer that waits for a setting cannot be kept: the disk is full, or \`limits.kept\` is reached; it waits because ${text}`,
      );
    }
    const { halt, concurrency } = this.#config;
    // A time-out that ends every job says nothing of pictures that were found before it was set.
    const isVain =
      isTimeout(kind) ||
      this.#isAnyFound !== true ||
      (this.#inARow.get(kind) ?? 0) >= halt.consecutive ||
      this.addresses >= concurrency;
    if (isVain) this.#stop.halt(text);
  }
}

/** An output may lack its values by chance. */
const enoughUndecided = 3;

function countOf({ count }: HeldResults): string {
  return count === 1 ? '1 result waits for' : `${count.toLocaleString('en')} results wait for`;
}

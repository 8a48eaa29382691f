/** A stand-in for the service within a test, in virtual time. It implements the port `RenderService`. */
import type { Endpoint, JobAtService, StatedCost } from '../../src/runner/core/attempt.ts';
import type { Failure } from '../../src/runner/core/failure.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { FileKind, FoundPicture } from '../../src/runner/core/picture.ts';
import type {
  CancelReply,
  HealthReply,
  KeptAnswer,
  LostSubmission,
  RenderService,
  ShownIdempotency,
  StatusReply,
  SubmitReply,
  WriteChunk,
} from '../../src/runner/pipeline/ports.ts';
import { Jobs, sceneOf, type Course, type Job } from './service-jobs.ts';

export interface JobPlan extends Partial<Course> {
  /** Price that the end of the job states if the settings read prices (`FakeService.pricesAt`). */
  cost?: number;
  /** True if the end of the job states no times. */
  isUntimed?: boolean;
  /** Failure with which the job ends instead of pictures. */
  failure?: Failure;
  pictures?: FoundPicture[];
  /** Failure that answers the submission instead of acceptance. */
  reply?: Failure;
  /** Place of the picture in the output. It is found only if the settings look there (`FakeService.place`). */
  place?: string;
  /** Number of first COMPLETED answers that have no output yet. */
  emptyAnswers?: number;
  /** True if the submission is accepted but its answer is lost. */
  isAnswerLost?: boolean;
  /** Id of another job that the answer states instead of the job's own. */
  answeredAs?: string;
}

/** Decides how a job goes. `nth` counts submissions of this scene from 1, accepted or refused. */
export type Behaviour<Plan extends JobPlan = JobPlan> = (
  scene: string,
  nth: number,
  input: JsonObject,
) => Plan;

export type FakeJob = Job<JobPlan & Course>;

const cancelled: Failure = { kind: 'job-cancelled', text: 'CANCELLED: the service gave no reason' };

const noOutput: Failure = { kind: 'no-output', text: 'the job COMPLETED without output' };
const notFound: Failure = { kind: 'picture-not-found', text: 'no picture was found in the output' };

const anotherBody: Failure = { kind: 'input-refused', text: 'the key was used for another body' };
const unanswered: Failure = { kind: 'unanswered', text: 'a proxy says 502' };

/** Answers that replace those of the fake. Undefined leaves the fake's own. Instants are in the fake's time. */
export interface Instead {
  submit?: (scene: string, input: JsonObject) => SubmitReply | undefined;
  status?: (jobId: string) => StatusReply | undefined;
  cancel?: (jobId: string) => CancelReply | undefined;
  health?: () => HealthReply | undefined;
}

export class FakeService<Plan extends JobPlan = JobPlan> implements RenderService {
  /** Returns the present in epoch ms. */
  now: () => number;
  instead: Instead = {};
  /** Decides how jobs go that are submitted from now on. */
  behaviour: Behaviour<Plan>;
  /**
   * True if the service ignores idempotency keys, and the client searches its list of jobs for lost submissions.
   * `knowsKeysMs` is then how long it lists them.
   */
  findsLost = false;
  /** True if a job is in the list only after its end. */
  listsOnlyEnded = false;
  /** True if the list cannot be read. */
  isListUnreadable = false;
  /** Place where the present settings look for pictures. */
  place = 'image';
  /** Value of `pricing.at` in the present settings. */
  pricesAt: string | undefined;
  /** Number of COMPLETED answers by job id. */
  readonly completedAnswers = new Map<string, number>();
  /** Requests of all kinds, in order. */
  readonly log: string[] = [];
  /** Number of refused submissions of each scene. */
  readonly #refused = new Map<string, number>();
  readonly #jobs = new Jobs<Plan & Course>({ now: () => this.now() });

  constructor(now: () => number, behaviour: Behaviour<Plan>) {
    this.now = now;
    this.behaviour = behaviour;
  }

  get jobs(): readonly Job<Plan & Course>[] {
    return this.#jobs.all;
  }

  /** Adds a job that another service has accepted. */
  protected addJob(job: Job<Plan & Course>): void {
    this.#jobs.add(job);
  }

  /** How long the service recognizes a submission by its idempotency key. Undefined if it ignores keys. */
  set knowsKeysMs(ms: number | undefined) {
    this.#jobs.knowsKeysMs = ms;
  }

  async submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal?: AbortSignal,
    idempotencyKey?: string,
    lost?: LostSubmission,
  ): Promise<SubmitReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'not-reached', text: 'cut short' } };
    const scene = sceneOf(input);
    this.log.push(`submit ${scene}`);
    const instead = this.instead.submit?.(scene, input);
    if (instead !== undefined) return instead;
    const shown = idempotencyKey === undefined ? {} : this.#shown();
    if (this.findsLost && lost !== undefined) return this.#find(input, lost, shown);
    const known = this.findsLost ? undefined : this.#jobs.known(input, idempotencyKey);
    if (known === 'another body') return { kind: 'failure', failure: anotherBody };
    if (known !== undefined) return { kind: 'accepted', jobId: known.id, status: 'IN_QUEUE', ...shown };
    const refused = this.#refused.get(scene) ?? 0;
    const plan = this.behaviour(scene, this.submissionsOf(scene) + refused + 1, input);
    if (plan.reply !== undefined) {
      this.#refused.set(scene, refused + 1);
      return { kind: 'failure', failure: plan.reply };
    }
    const whole = { queueMs: 1_000, executionMs: 4_000, ...plan };
    const job = this.#jobs.accept(endpoint, input, whole, idempotencyKey);
    if (plan.isAnswerLost === true) return { kind: 'failure', failure: unanswered };
    return { kind: 'accepted', jobId: plan.answeredAs ?? job.id, status: 'IN_QUEUE', ...shown };
  }

  /** Finds a lost submission by its input, as in a list of jobs. */
  async #find(input: JsonObject, lost: LostSubmission, shown: ShownIdempotency): Promise<SubmitReply> {
    if (this.isListUnreadable) return { kind: 'not-listed', text: 'the list cannot be read' };
    const found: string[] = [];
    for (const job of this.jobs)
      if (job.input === input || JSON.stringify(job.input) === JSON.stringify(input))
        if (job.submittedAt >= lost.sentAt && !(await lost.isTaken(job.id)))
          if (!this.listsOnlyEnded || this.#jobs.stateOf(job) === 'ended') found.push(job.id);
    const [jobId, ...others] = found;
    if (this.listsOnlyEnded && jobId === undefined && this.now() - lost.sentBy < lost.overWithinMs)
      return { kind: 'not-listed', text: 'the list has none yet' };
    return jobId === undefined || others.length > 0
      ? { kind: 'not-found', text: 'the list has none' }
      : { kind: 'accepted', jobId, status: 'IN_QUEUE', ...shown };
  }

  async status(
    { jobId }: JobAtService,
    signal?: AbortSignal,
    _onMemoryWait?: () => void,
    kept?: KeptAnswer,
  ): Promise<StatusReply> {
    if (kept !== undefined) return this.#readKept(kept);
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
    this.log.push(`status ${jobId}`);
    const job = this.#jobs.polled(jobId);
    const instead = this.instead.status?.(jobId);
    if (instead !== undefined) return instead;
    if (job === undefined) return { kind: 'missing', text: 'job not found' };
    const { queueMs: delayTimeMs, executionMs: executionTimeMs, failure } = job.plan;
    const status = this.#jobs.stateOf(job);
    switch (status) {
      case 'CANCELLED':
        return { kind: 'ended', status, failure: cancelled, ...this.#costOf(job.plan) };
      case 'IN_QUEUE':
        return { kind: 'running', status, isExecuting: false };
      case 'IN_PROGRESS':
        return { kind: 'running', status, isExecuting: true, delayTimeMs };
      case 'ended': {
        const times = {
          ...(job.plan.isUntimed !== true && { delayTimeMs, executionTimeMs }),
          ...this.#costOf(job.plan),
        };
        if (failure !== undefined) return { kind: 'ended', status: 'FAILED', failure, ...times };
        const { emptyAnswers = 0, place = this.place } = job.plan;
        const answers = (this.completedAnswers.get(jobId) ?? 0) + 1;
        this.completedAnswers.set(jobId, answers);
        if (answers <= emptyAnswers)
          return { kind: 'ended', status: 'COMPLETED', failure: noOutput, ...times };
        if (place !== this.place) return { kind: 'ended', status: 'COMPLETED', failure: notFound, ...times };
        return { kind: 'completed', status: 'COMPLETED', pictures: this.picturesOf(job), ...times };
      }
    }
  }

  #costOf({ cost: amount }: JobPlan): { cost?: StatedCost } {
    const at = this.pricesAt;
    return at === undefined ? {} : { cost: { at, ...(amount !== undefined && { amount }) } };
  }

  async copyResult({ jobId }: JobAtService, write: WriteChunk): Promise<boolean> {
    this.log.push(`copy ${jobId}`);
    const job = this.#jobs.find(jobId);
    if (job === undefined) return false;
    const { place, cost } = job.plan;
    await write(Buffer.from(JSON.stringify({ jobId, place, cost, pictures: this.picturesOf(job) })));
    return true;
  }

  #readKept(kept: KeptAnswer): StatusReply {
    const {
      jobId,
      place = this.place,
      pictures,
      ...plan
    } = JSON.parse(Buffer.from(kept as Uint8Array).toString()) as JobPlan & {
      jobId: string;
      pictures: FoundPicture[];
    };
    this.log.push(`kept ${jobId}`);
    const told = this.#costOf(plan);
    if (place !== this.place) return { kind: 'ended', status: 'COMPLETED', failure: notFound, ...told };
    return { kind: 'completed', status: 'COMPLETED', pictures, ...told };
  }

  /** Returns the pictures of a completed job. */
  protected picturesOf({ id, plan }: Job<Plan & Course>): FoundPicture[] {
    return plan.pictures ?? [pictureOf(id)];
  }

  async cancel({ jobId }: JobAtService, signal?: AbortSignal): Promise<CancelReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
    this.log.push(`cancel ${jobId}`);
    const instead = this.instead.cancel?.(jobId);
    if (instead !== undefined) return instead;
    const job = this.#jobs.find(jobId);
    if (job === undefined) return { kind: 'unsupported', text: 'job not found' };
    this.#jobs.cancel(job);
    return { kind: 'cancelled' };
  }

  async health(_endpoint: Endpoint, signal?: AbortSignal): Promise<HealthReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
    this.log.push('health');
    return this.instead.health?.() ?? { kind: 'answers', ...this.#shown() };
  }

  #shown(): ShownIdempotency {
    const { knowsKeysMs } = this.#jobs;
    return knowsKeysMs === undefined ? {} : { idempotencyMs: knowsKeysMs };
  }

  submissionsOf(scene: string): number {
    return this.#jobs.acceptedOf(scene);
  }
}

/** Returns a file that is no picture. Its content names its label. */
export function fileOf(label: string, kind: FileKind, content = `${label} of a job`): FoundPicture {
  return { base64: Buffer.from(content).toString('base64'), named: { label, kind } };
}

/** Returns a picture whose content names its job. */
export function pictureOf(jobId: string): FoundPicture {
  return { base64: Buffer.from(`picture of ${jobId}`).toString('base64'), seed: '12345678901234567890' };
}

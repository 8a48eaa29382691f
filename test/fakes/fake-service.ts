/** A job service in memory, in virtual time, that keeps the account: what was submitted, what was collected. */
import type { Endpoint } from '../../src/runner/core/attempt.ts';
import type { Failure } from '../../src/runner/core/failure.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { FileKind } from '../../src/runner/core/named-file.ts';
import type { FoundPicture } from '../../src/runner/core/picture.ts';
import type {
  CancelReply,
  Clock,
  HealthReply,
  RenderService,
  ShownIdempotency,
  StatusReply,
  SubmitReply,
} from '../../src/runner/pipeline/ports.ts';

export interface FakeJob {
  id: string;
  /** The scene's text: the account is kept by it. */
  scene: string;
  endpoint: Endpoint;
  submittedAt: number;
  completesAt: number;
  executionMs: number;
  polls: number;
}

export type Behaviour = (scene: string, nth: number) => Partial<JobPlan>;

export interface JobPlan {
  queueMs: number;
  executionMs: number;
  /** How the job ends instead of with pictures. */
  failure: Failure;
  pictures: FoundPicture[];
  /** What the submission is answered, instead of being accepted. */
  reply: Failure;
  /** It is accepted, and the answer gets lost on the way. */
  isAnswerLost: boolean;
}

const cancelled: Failure = { kind: 'job-cancelled', text: 'CANCELLED: the service gave no reason' };

const unanswered: Failure = { kind: 'unanswered', text: 'a proxy says 502' };

export const retentionMs = 30 * 60_000;

/** Answers that take the place of the fake's own wherever they give one; times are the fake's. */
export interface Instead {
  submit?: (scene: string) => SubmitReply | undefined;
  status?: (jobId: string) => StatusReply | undefined;
  cancel?: (jobId: string) => CancelReply | undefined;
  health?: () => HealthReply | undefined;
}

export class FakeService implements RenderService {
  instead: Instead = {};
  /** How long it knows a submission by its key; undefined where it takes no notice of keys. */
  knowsKeysMs: number | undefined;
  readonly #keyed = new Map<string, FakeJob>();
  /** How jobs go that are submitted from now on. */
  behaviour: Behaviour;
  readonly jobs: FakeJob[] = [];
  /** Requests of either kind, in order. */
  readonly log: string[] = [];
  readonly #clock: () => Clock;
  readonly #plans = new Map<string, Partial<JobPlan>>();
  readonly #cancelled = new Set<string>();

  constructor(clock: () => Clock, behaviour: Behaviour = () => ({})) {
    this.#clock = clock;
    this.behaviour = behaviour;
  }

  async submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal?: AbortSignal,
    idempotencyKey?: string,
  ): Promise<SubmitReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'not-reached', text: 'cut short' } };
    const scene = typeof input['scene'] === 'string' ? input['scene'] : '';
    this.log.push(`submit ${scene}`);
    const instead = this.instead.submit?.(scene);
    if (instead !== undefined) return instead;
    const shown = idempotencyKey === undefined ? {} : this.#shown();
    const known = this.#known(idempotencyKey);
    if (known !== undefined) return { kind: 'accepted', jobId: known.id, status: 'IN_QUEUE', ...shown };
    const plan = this.behaviour(scene, this.submissionsOf(scene) + this.#refused(scene) + 1);
    if (plan.reply !== undefined) {
      this.log.push(`refused ${scene}`);
      return { kind: 'failure', failure: plan.reply };
    }
    const at = this.#clock().now();
    const id = `job-${this.jobs.length + 1}`;
    const executionMs = plan.executionMs ?? 4_000;
    const completesAt = at + (plan.queueMs ?? 1_000) + executionMs;
    const job = { id, scene, endpoint, submittedAt: at, completesAt, executionMs, polls: 0 };
    this.jobs.push(job);
    if (idempotencyKey !== undefined) this.#keyed.set(idempotencyKey, job);
    this.#plans.set(id, plan);
    if (plan.isAnswerLost === true) return { kind: 'failure', failure: unanswered };
    return { kind: 'accepted', jobId: id, status: 'IN_QUEUE', ...shown };
  }

  async status(_endpoint: Endpoint, jobId: string, signal?: AbortSignal): Promise<StatusReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
    this.log.push(`status ${jobId}`);
    const instead = this.instead.status?.(jobId);
    if (instead !== undefined) return instead;
    const job = this.jobs.find(({ id }) => id === jobId);
    const plan = this.#plans.get(jobId);
    const now = this.#clock().now();
    if (job === undefined || plan === undefined || now >= job.completesAt + retentionMs) {
      return { kind: 'missing', text: 'job not found' };
    }
    job.polls += 1;
    if (this.#cancelled.has(jobId)) return { kind: 'ended', status: 'CANCELLED', failure: cancelled };
    const executionTimeMs = plan.executionMs ?? 4_000;
    if (now < job.completesAt - executionTimeMs)
      return { kind: 'running', status: 'IN_QUEUE', isExecuting: false };
    const delayTimeMs = plan.queueMs ?? 1_000;
    if (now < job.completesAt)
      return { kind: 'running', status: 'IN_PROGRESS', isExecuting: true, delayTimeMs };
    const times = { delayTimeMs, executionTimeMs };
    if (plan.failure !== undefined)
      return { kind: 'ended', status: 'FAILED', failure: plan.failure, ...times };
    return {
      kind: 'completed',
      status: 'COMPLETED',
      pictures: plan.pictures ?? [pictureOf(job.id)],
      ...times,
    };
  }

  async cancel(_endpoint: Endpoint, jobId: string, signal?: AbortSignal): Promise<CancelReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
    this.log.push(`cancel ${jobId}`);
    const instead = this.instead.cancel?.(jobId);
    if (instead !== undefined) return instead;
    const job = this.jobs.find(({ id }) => id === jobId);
    const now = this.#clock().now();
    if (job === undefined || now >= job.completesAt + retentionMs)
      return { kind: 'unsupported', text: 'job not found' };
    if (now < job.completesAt) this.#cancelled.add(jobId);
    return { kind: 'cancelled' };
  }

  async health(_endpoint: Endpoint, signal?: AbortSignal): Promise<HealthReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
    this.log.push('health');
    return this.instead.health?.() ?? { kind: 'answers', ...this.#shown() };
  }

  #shown(): ShownIdempotency {
    return this.knowsKeysMs === undefined ? {} : { idempotencyMs: this.knowsKeysMs };
  }

  /** The job of a submission that came before, while it is kept. */
  #known(key = ''): FakeJob | undefined {
    const { knowsKeysMs = 0 } = this;
    const job = this.#keyed.get(key);
    return job && this.#clock().now() < job.submittedAt + knowsKeysMs ? job : undefined;
  }

  planOf({ id }: FakeJob): Partial<JobPlan> {
    return this.#plans.get(id) ?? {};
  }

  wasCancelled({ id }: FakeJob): boolean {
    return this.#cancelled.has(id);
  }

  submissionsOf(scene: string): number {
    return this.jobs.filter((job) => job.scene === scene).length;
  }

  #refused(scene: string): number {
    return this.log.filter((line) => line === `refused ${scene}`).length;
  }
}

/** A file besides pictures, which tells whose it is. */
export function fileOf(label: string, kind: FileKind, content = `${label} of a job`): FoundPicture {
  return { base64: Buffer.from(content).toString('base64'), named: { label, kind } };
}

/** A picture that tells which job made it. */
export function pictureOf(jobId: string): FoundPicture {
  return { base64: Buffer.from(`picture of ${jobId}`).toString('base64'), seed: '12345678901234567890' };
}

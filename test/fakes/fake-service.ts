/** A job service in memory, in virtual time, that keeps the account: what was submitted, what was collected. */
import type { Endpoint } from '../../src/core/attempt.ts';
import type { Failure } from '../../src/core/failure.ts';
import type { JsonObject } from '../../src/core/json.ts';
import type { FoundPicture } from '../../src/core/picture.ts';
import type {
  CancelReply,
  Clock,
  HealthReply,
  RenderService,
  StatusReply,
  SubmitReply,
} from '../../src/pipeline/ports.ts';

export interface FakeJob {
  id: string;
  /** The scene's text: the account is kept by it. */
  scene: string;
  endpoint: Endpoint;
  submittedAt: number;
  completesAt: number;
  polls: number;
  cancelledAt?: number;
}

export type Behaviour = (scene: string, nth: number) => Partial<JobPlan>;

interface JobPlan {
  queueMs: number;
  executionMs: number;
  /** How the job ends instead of with pictures. */
  failure: Failure;
  pictures: FoundPicture[];
  /** What the submission is answered, instead of being accepted. */
  reply: Failure;
}

export const retentionMs = 30 * 60_000;

export class FakeService implements RenderService {
  readonly jobs: FakeJob[] = [];
  /** Requests of every kind, in order. */
  readonly log: string[] = [];
  readonly #clock: () => Clock;
  readonly #behaviour: Behaviour;
  readonly #plans = new Map<string, Partial<JobPlan>>();

  constructor(clock: () => Clock, behaviour: Behaviour = () => ({})) {
    this.#clock = clock;
    this.#behaviour = behaviour;
  }

  async submit(endpoint: Endpoint, input: JsonObject, signal?: AbortSignal): Promise<SubmitReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'not-reached', text: 'cut short' } };
    const scene = typeof input['scene'] === 'string' ? input['scene'] : '';
    this.log.push(`submit ${scene}`);
    const plan = this.#behaviour(scene, this.submissionsOf(scene) + this.#refused(scene) + 1);
    if (plan.reply !== undefined) {
      this.log.push(`refused ${scene}`);
      return { kind: 'failure', failure: plan.reply };
    }
    const at = this.#clock().now();
    const id = `job-${this.jobs.length + 1}`;
    const completesAt = at + (plan.queueMs ?? 1_000) + (plan.executionMs ?? 4_000);
    this.jobs.push({ id, scene, endpoint, submittedAt: at, completesAt, polls: 0 });
    this.#plans.set(id, plan);
    return { kind: 'accepted', jobId: id, status: 'IN_QUEUE' };
  }

  async status(_endpoint: Endpoint, jobId: string, signal?: AbortSignal): Promise<StatusReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
    this.log.push(`status ${jobId}`);
    const job = this.#find(jobId);
    const plan = this.#plans.get(jobId);
    if (job === undefined || plan === undefined) return { kind: 'missing', text: 'job not found' };
    const now = this.#clock().now();
    job.polls += 1;
    if (job.cancelledAt !== undefined) {
      const failure = { kind: 'job-cancelled', text: 'CANCELLED: the service gave no reason' } as const;
      return { kind: 'ended', status: 'CANCELLED', failure };
    }
    const executionTimeMs = plan.executionMs ?? 4_000;
    if (now < job.completesAt - executionTimeMs)
      return { kind: 'running', status: 'IN_QUEUE', isExecuting: false };
    if (now < job.completesAt) return { kind: 'running', status: 'IN_PROGRESS', isExecuting: true };
    const times = { delayTimeMs: plan.queueMs ?? 1_000, executionTimeMs };
    if (plan.failure !== undefined)
      return { kind: 'ended', status: 'FAILED', failure: plan.failure, ...times };
    return {
      kind: 'completed',
      status: 'COMPLETED',
      pictures: plan.pictures ?? [pictureOf(job.id)],
      ...times,
    };
  }

  /** A job that is over stays as it is. */
  async cancel(_endpoint: Endpoint, jobId: string, signal?: AbortSignal): Promise<CancelReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
    this.log.push(`cancel ${jobId}`);
    const job = this.#find(jobId);
    if (job === undefined) return { kind: 'unsupported', text: 'job not found' };
    const now = this.#clock().now();
    if (now < job.completesAt) job.cancelledAt ??= now;
    return { kind: 'cancelled' };
  }

  async health(_endpoint: Endpoint, signal?: AbortSignal): Promise<HealthReply> {
    if (signal?.aborted) return { kind: 'failure', failure: { kind: 'poll-failed', text: 'cut short' } };
    this.log.push('health');
    return { kind: 'answers' };
  }

  submissionsOf(scene: string): number {
    return this.jobs.filter((job) => job.scene === scene).length;
  }

  /** Undefined once its result was deleted. */
  #find(jobId: string): FakeJob | undefined {
    const job = this.jobs.find(({ id }) => id === jobId);
    const endsAt = job?.cancelledAt ?? job?.completesAt ?? 0;
    return this.#clock().now() < endsAt + retentionMs ? job : undefined;
  }

  #refused(scene: string): number {
    return this.log.filter((line) => line === `refused ${scene}`).length;
  }
}

/** A picture that tells which job made it. */
export function pictureOf(jobId: string): FoundPicture {
  return { base64: Buffer.from(`picture of ${jobId}`).toString('base64'), seed: '12345678901234567890' };
}

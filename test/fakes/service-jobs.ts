/** The jobs of all stand-ins for services. They wait, run, end and are forgotten as a test plans. */
import type { Endpoint } from '../../src/runner/core/attempt.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';

/** Times of a job. The rest of a plan is specific to each stand-in. */
export interface Course {
  /** Time in the queue. Infinity for a job that never starts. */
  queueMs: number;
  /** Time of execution. Infinity for a job that never ends. */
  executionMs: number;
  /** Time from submission until the service forgets the job, if that is before its end. */
  lostAfterMs?: number;
}

export interface Job<Plan extends Course = Course> {
  id: string;
  endpoint: Endpoint;
  input: JsonObject;
  /** The scene's text. Tests find their jobs by it. */
  scene: string;
  plan: Plan;
  /** Instants in epoch ms. A test may change them. */
  submittedAt: number;
  startsAt: number;
  completesAt: number;
  /** Instant at which the job is forgotten, if it is not kept as long as others. */
  forgottenAt?: number;
  isCancelled: boolean;
  /** Number of status requests for this job. */
  polls: number;
}

export type JobState = 'IN_QUEUE' | 'IN_PROGRESS' | 'CANCELLED' | 'ended';

export const retentionMs = 30 * 60_000;

export interface JobsOptions {
  now: () => number;
  /** How long an ended job is kept. Default: 30 minutes. */
  retentionMs?: number;
  idOf?: (number: number) => string;
}

export class Jobs<Plan extends Course> {
  readonly #all: Job<Plan>[] = [];
  /** How long the service recognizes a submission by its idempotency key. Undefined if it ignores keys. */
  knowsKeysMs: number | undefined;
  readonly #keyed = new Map<string, Job<Plan>>();
  readonly #byId = new Map<string, Job<Plan>>();
  /** Number of accepted submissions of each scene. */
  readonly #accepted = new Map<string, number>();
  readonly #options: Required<JobsOptions>;

  /** All jobs in the order of their submission. */
  get all(): readonly Job<Plan>[] {
    return this.#all;
  }

  constructor(options: JobsOptions) {
    this.#options = { retentionMs, idOf: (number) => `job-${number}`, ...options };
  }

  accept(endpoint: Endpoint, input: JsonObject, plan: Plan, key?: string): Job<Plan> {
    const submittedAt = this.#options.now();
    const startsAt = submittedAt + plan.queueMs;
    const job: Job<Plan> = {
      id: this.#options.idOf(this.#all.length + 1),
      endpoint,
      input,
      scene: sceneOf(input),
      plan,
      submittedAt,
      startsAt,
      completesAt: startsAt + plan.executionMs,
      ...(plan.lostAfterMs !== undefined && { forgottenAt: submittedAt + plan.lostAfterMs }),
      isCancelled: false,
      polls: 0,
    };
    this.add(job);
    if (key !== undefined) this.#keyed.set(key, job);
    return job;
  }

  /** Adds a job that another service has accepted. */
  add(job: Job<Plan>): void {
    this.#all.push(job);
    this.#byId.set(job.id, job);
    this.#accepted.set(job.scene, this.acceptedOf(job.scene) + 1);
  }

  /** Forgets a job, as if it had never arrived. */
  remove(jobId: string): void {
    const job = this.#byId.get(jobId);
    if (job === undefined) return;
    this.#byId.delete(jobId);
    this.#all.splice(this.#all.indexOf(job), 1);
    this.#accepted.set(job.scene, this.acceptedOf(job.scene) - 1);
  }

  acceptedOf(scene: string): number {
    return this.#accepted.get(scene) ?? 0;
  }

  /**
   * Returns the job that an earlier submission with this key created, or "another body" if its input was different.
   * Undefined if the key is unknown or expired.
   */
  known(input: JsonObject, key = ''): Job<Plan> | 'another body' | undefined {
    const job = this.#keyed.get(key);
    if (job === undefined || this.#options.now() >= job.submittedAt + (this.knowsKeysMs ?? 0))
      return undefined;
    return JSON.stringify(job.input) === JSON.stringify(input) ? job : 'another body';
  }

  /** Returns the job. Undefined if it never existed or is forgotten. */
  find(jobId: string): Job<Plan> | undefined {
    const job = this.#byId.get(jobId);
    const forgottenAt = job && (job.forgottenAt ?? job.completesAt + this.#options.retentionMs);
    return forgottenAt === undefined || this.#options.now() >= forgottenAt ? undefined : job;
  }

  /** Counts a status request, and returns the job like `find`. */
  polled(jobId: string): Job<Plan> | undefined {
    const job = this.#byId.get(jobId);
    if (job !== undefined) job.polls += 1;
    return this.find(jobId);
  }

  stateOf({ isCancelled, startsAt, completesAt }: Job): JobState {
    const now = this.#options.now();
    if (isCancelled) return 'CANCELLED';
    if (now >= completesAt) return 'ended';
    return now < startsAt ? 'IN_QUEUE' : 'IN_PROGRESS';
  }

  /** Cancels a job that has not ended. */
  cancel(job: Job): void {
    if (this.stateOf(job) === 'ended') return;
    job.isCancelled = true;
    job.completesAt = Math.min(job.completesAt, this.#options.now());
  }
}

/** Moves start and end of a job, as if the clock of the service differed from ours by `ms`. */
export function moveJob(job: Job, ms: number): void {
  job.startsAt += ms;
  job.completesAt += ms;
}

export function sceneOf({ scene }: JsonObject): string {
  return typeof scene === 'string' ? scene : '';
}

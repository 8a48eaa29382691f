/** The jobs of the one stand-in of the service: they wait, run, end and are forgotten as a test plans them. */
import type { Endpoint } from '../../src/runner/core/attempt.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';

/** How a job goes; the rest of a plan is between a test and the door through which it asks. */
export interface Course {
  /** Infinity for one that never starts. */
  queueMs: number;
  /** Infinity for one that never ends. */
  executionMs: number;
  /** When it is forgotten, where that is before its end. */
  lostAfterMs?: number;
}

export interface Job<Plan extends Course = Course> {
  id: string;
  endpoint: Endpoint;
  input: JsonObject;
  /** The scene's text, by which tests know their jobs. */
  scene: string;
  plan: Plan;
  /** Instants, which a test may move. */
  submittedAt: number;
  startsAt: number;
  completesAt: number;
  /** Where it is not kept as long as the others. */
  forgottenAt?: number;
  isCancelled: boolean;
  /** Requests for its status. */
  polls: number;
}

export type JobState = 'IN_QUEUE' | 'IN_PROGRESS' | 'CANCELLED' | 'ended';

export const retentionMs = 30 * 60_000;

export interface JobsOptions {
  now: () => number;
  /** Of what has ended. */
  retentionMs?: number;
  idOf?: (number: number) => string;
}

export class Jobs<Plan extends Course> {
  readonly all: Job<Plan>[] = [];
  /** How long it knows a submission by its key; undefined where it takes no notice of keys. */
  knowsKeysMs: number | undefined;
  readonly #keyed = new Map<string, Job<Plan>>();
  readonly #options: Required<JobsOptions>;

  constructor(options: JobsOptions) {
    this.#options = { retentionMs, idOf: (number) => `job-${number}`, ...options };
  }

  accept(endpoint: Endpoint, input: JsonObject, plan: Plan, key?: string): Job<Plan> {
    const submittedAt = this.#options.now();
    const startsAt = submittedAt + plan.queueMs;
    const job: Job<Plan> = {
      id: this.#options.idOf(this.all.length + 1),
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
    this.all.push(job);
    if (key !== undefined) this.#keyed.set(key, job);
    return job;
  }

  /** The job of a submission that came before under its key, while that is known; of another input, none may come. */
  known(input: JsonObject, key = ''): Job<Plan> | 'another body' | undefined {
    const job = this.#keyed.get(key);
    if (job === undefined || this.#options.now() >= job.submittedAt + (this.knowsKeysMs ?? 0))
      return undefined;
    return JSON.stringify(job.input) === JSON.stringify(input) ? job : 'another body';
  }

  /** Undefined where it was never there or is forgotten. */
  find(jobId: string): Job<Plan> | undefined {
    const job = this.all.find(({ id }) => id === jobId);
    const forgottenAt = job && (job.forgottenAt ?? job.completesAt + this.#options.retentionMs);
    return forgottenAt === undefined || this.#options.now() >= forgottenAt ? undefined : job;
  }

  /** What is found of a job whose status is asked for. */
  polled(jobId: string): Job<Plan> | undefined {
    const job = this.all.find(({ id }) => id === jobId);
    if (job !== undefined) job.polls += 1;
    return this.find(jobId);
  }

  stateOf({ isCancelled, startsAt, completesAt }: Job): JobState {
    const now = this.#options.now();
    if (isCancelled) return 'CANCELLED';
    if (now >= completesAt) return 'ended';
    return now < startsAt ? 'IN_QUEUE' : 'IN_PROGRESS';
  }

  /** What has ended stays as it is. */
  cancel(job: Job): void {
    if (this.stateOf(job) === 'ended') return;
    job.isCancelled = true;
    job.completesAt = Math.min(job.completesAt, this.#options.now());
  }
}

/** The service has a clock of its own: by it, the job starts and ends so much later. */
export function moveJob(job: Job, ms: number): void {
  job.startsAt += ms;
  job.completesAt += ms;
}

export function sceneOf({ scene }: JsonObject): string {
  return typeof scene === 'string' ? scene : '';
}

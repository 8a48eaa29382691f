/** The bench service's jobs: who works on them when, and the account of what was asked about them. */
import { logNormal, seededRandom } from './random.ts';
import type { Scenario } from './scenario.ts';
import { mean, median, percentile } from './statistics.ts';

/** What a side asked of the service, as the service saw it; instants and durations in ms. */
export interface Account {
  submissions: number;
  /** Different inputs among the submissions. */
  scenes: number;
  statusRequests: number;
  /** Requests that were answered with an error. */
  refused: number;
  completed: number;
  /** Jobs whose COMPLETED was handed out. */
  collected: number;
  /** Submitted and not yet collected, at most. */
  mostInFlight: number;
  /** From the first submission to the last time a job was first handed out as COMPLETED. */
  spanMs: number;
  /** From completion to the first time COMPLETED was handed out. */
  lagMs: { mean: number; median: number; p95: number };
  /** User and system time of the service itself, which shares the machine with the side that is measured. */
  serviceCpuMs: number;
}

export interface Job {
  id: string;
  number: number;
  input: unknown;
  executionMs: number;
  /** Instants on the service's monotonic clock; undefined for what has not happened yet. */
  submittedAt: number;
  startedAt?: number;
  completedAt?: number;
  collectedAt?: number;
}

export class JobBook {
  readonly #work: Scenario['work'];
  readonly #random: () => number;
  readonly #jobs = new Map<string, Job>();
  readonly #inputs = new Set<string>();
  readonly #queue: Job[] = [];
  #busyWorkers = 0;
  #statusRequests = 0;
  #refused = 0;
  #inFlight = 0;
  #mostInFlight = 0;

  constructor({ work, seed }: Scenario) {
    this.#work = work;
    this.#random = seededRandom(seed);
  }

  submit(input: unknown): Job {
    const number = this.#jobs.size + 1;
    const job: Job = {
      id: `job-${number}`,
      number,
      input,
      executionMs: this.#drawExecutionMs(),
      submittedAt: performance.now(),
    };
    this.#jobs.set(job.id, job);
    this.#inputs.add(JSON.stringify(input));
    this.#inFlight += 1;
    this.#mostInFlight = Math.max(this.#mostInFlight, this.#inFlight);
    this.#queue.push(job);
    this.#startWaiting();
    return job;
  }

  /** The job as a status request sees it; the first look at a completed one collects it. */
  look(id: string): Job | undefined {
    this.#statusRequests += 1;
    const job = this.#jobs.get(id);
    if (job?.completedAt !== undefined && job.collectedAt === undefined) {
      job.collectedAt = performance.now();
      this.#inFlight -= 1;
    }
    return job;
  }

  countRefused(): void {
    this.#refused += 1;
  }

  account(): Account {
    const jobs = [...this.#jobs.values()];
    const collections = jobs.flatMap(({ collectedAt }) => collectedAt ?? []);
    const lags = jobs.flatMap(({ completedAt, collectedAt }) =>
      completedAt === undefined || collectedAt === undefined ? [] : collectedAt - completedAt,
    );
    const { user, system } = process.cpuUsage();
    return {
      submissions: jobs.length,
      scenes: this.#inputs.size,
      statusRequests: this.#statusRequests,
      refused: this.#refused,
      completed: jobs.filter((job) => job.completedAt !== undefined).length,
      collected: collections.length,
      mostInFlight: this.#mostInFlight,
      spanMs: collections.reduce((a, b) => Math.max(a, b), 0) - (jobs[0]?.submittedAt ?? 0),
      lagMs: { mean: mean(lags), median: median(lags), p95: percentile(lags, 0.95) },
      serviceCpuMs: (user + system) / 1_000,
    };
  }

  /** Drawn in the order of submission, so that both sides meet the same times. */
  #drawExecutionMs(): number {
    return this.#work.kind === 'instant' ? 0 : logNormal(this.#random, this.#work.medianMs, this.#work.sigma);
  }

  #startWaiting(): void {
    const workers = this.#work.kind === 'instant' ? Infinity : this.#work.workers;
    while (this.#busyWorkers < workers) {
      const job = this.#queue.shift();
      if (job === undefined) return;
      this.#start(job);
    }
  }

  #start(job: Job): void {
    job.startedAt = performance.now();
    if (this.#work.kind === 'instant') {
      job.completedAt = job.startedAt;
      return;
    }
    this.#busyWorkers += 1;
    setTimeout(() => {
      job.completedAt = performance.now();
      this.#busyWorkers -= 1;
      this.#startWaiting();
    }, job.executionMs);
  }
}

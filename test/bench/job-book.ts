/** The jobs of the bench service, and the requests about them. */
import type { Load } from './load.ts';
import { Traffic } from './traffic.ts';
import { Workers } from './workers.ts';

export interface Job {
  id: string;
  number: number;
  /** Input of the submission, as JSON. */
  input: string;
  executionMs: number;
  /** Instants on the service's monotonic clock. Undefined until they happen. */
  submittedAt: number;
  startedAt?: number;
  completedAt?: number;
  collectedAt?: number;
}

export class JobStore {
  readonly jobs = new Map<string, Job>();
  /** Different inputs among the submissions. */
  readonly inputs = new Set<string>();
  readonly workers: Workers;
  readonly traffic: Traffic;
  readonly #mostQueuedPerWorker: number;
  statusRequests = 0;
  /** Requests that were answered with an error other than 429. */
  refused = 0;
  mostInFlight = 0;
  #inFlight = 0;

  constructor(load: Load) {
    this.workers = new Workers(load);
    this.traffic = new Traffic(load.bears?.requests);
    this.#mostQueuedPerWorker = load.bears?.queuedPerWorker ?? Infinity;
  }

  /** Returns undefined if the queue is full. */
  submit(input: string): Job | undefined {
    if (this.workers.queuedPerWorker >= this.#mostQueuedPerWorker) return undefined;
    const number = this.jobs.size + 1;
    const job: Job = { id: `job-${number}`, number, input, executionMs: 0, submittedAt: performance.now() };
    this.jobs.set(job.id, job);
    this.inputs.add(input);
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    this.workers.take(job);
    return job;
  }

  /** Returns the job as a status request sees it. The first request after completion collects the job. */
  look(id: string): Job | undefined {
    this.statusRequests += 1;
    const job = this.jobs.get(id);
    if (job?.completedAt !== undefined && job.collectedAt === undefined) {
      job.collectedAt = performance.now();
      this.#inFlight -= 1;
    }
    return job;
  }
}

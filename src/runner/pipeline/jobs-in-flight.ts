/** How many jobs are in flight, and which of them the service no longer reports on. */
import type { Job } from './job.ts';

export class JobsInFlight {
  /** Attempts being submitted or followed. */
  count = 0;
  /** Of these, jobs that the service has accepted. */
  held = 0;
  /** Jobs unknown to the service while it is unclear whether the job or the endpoint is gone. */
  readonly uncertain = new Set<Job>();
  /** Jobs whose latest status could not be read. */
  readonly unreadable = new Set<Job>();
  /** Completed jobs whose output may come a moment later: they hold no slot. */
  readonly awaited = new Set<Job>();
  /** Jobs in a row that were completed and stayed without an output. */
  #emptyInARow = 0;
  /** Whether an unreadable job was given up with only the endpoint's health as a sign of life. */
  hasGivenUpLast = false;
  /** Whether giving up one uncertain job is being decided, so that the others are kept. */
  isGivingUpOne = false;
  /** Called when an uncertain or awaited job frees its slot. */
  onUncertain: () => void = () => undefined;

  markUncertain(job: Job): void {
    if (this.uncertain.has(job)) return;
    this.uncertain.add(job);
    this.onUncertain();
  }

  /** How long to wait for the output of a job that is completed without one; undefined if it has been waited for enough. */
  awaitOutput(job: Job): number | undefined {
    const waitMs = outputWaitsMs[job.emptyAnswers];
    if (waitMs === undefined || this.#emptyInARow >= maxEmptyInARow) {
      this.#emptyInARow += 1;
      return undefined;
    }
    job.emptyAnswers += 1;
    this.awaited.add(job);
    this.onUncertain();
    return waitMs;
  }

  /** The service hands in outputs with its answers. */
  countOutput(): void {
    this.#emptyInARow = 0;
  }

  /** The service knows the job, or it is settled. */
  forget(job: Job): void {
    this.awaited.delete(job);
    this.uncertain.delete(job);
    this.unreadable.delete(job);
  }
}

/** Some services say COMPLETED a moment before they have stored the output. */
const outputWaitsMs = [1_000, 3_000, 10_000];
/** A service that never has one is not waited for again and again. */
const maxEmptyInARow = 3;

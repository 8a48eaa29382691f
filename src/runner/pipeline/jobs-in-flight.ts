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
  /** Whether an unreadable job was given up with only the endpoint's health as a sign of life. */
  hasGivenUpLast = false;
  /** Whether giving up one uncertain job is being decided, so that the others are kept. */
  isGivingUpOne = false;
  /** Called when an uncertain job frees its slot. */
  onUncertain: () => void = () => undefined;

  markUncertain(job: Job): void {
    if (this.uncertain.has(job)) return;
    this.uncertain.add(job);
    this.onUncertain();
  }

  /** The service knows the job, or it is settled. */
  forget(job: Job): void {
    this.uncertain.delete(job);
    this.unreadable.delete(job);
  }
}

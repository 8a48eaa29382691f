/** Job ids that the service gave to two submissions: whose picture such a job brings is unknown. */
import { endpointAddress, type Attempt, type JobAtService, type SubmittedJob } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import type { Stop } from './stop.ts';

/** One may be an accident of the network; a service that does so again gives one id to many. */
const maxSharedInARow = 2;

export class SharedIds {
  readonly #stop: Stop;
  readonly #shared = new Set<string>();
  #inARow = 0;

  constructor(stop: Stop) {
    this.#stop = stop;
  }

  add({ endpoint }: Attempt, jobId: string, failure: Failure): void {
    this.#shared.add(jobAddress({ endpoint, jobId }));
    this.#inARow += 1;
    if (this.#inARow === maxSharedInARow) this.#stop.halt(failure.text);
  }

  /** A submission was answered with an id of its own. */
  endRow(): void {
    this.#inARow = 0;
  }

  has(job: SubmittedJob): boolean {
    return job.isShared === true || this.#shared.has(jobAddress(job));
  }
}

function jobAddress({ endpoint, jobId }: JobAtService): string {
  return `${endpointAddress(endpoint)}/${jobId}`;
}

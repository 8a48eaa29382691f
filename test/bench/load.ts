/** The work that a side must do, and the behaviour of the service meanwhile. */

export interface Load {
  scenes: number;
  /** Maximum number of jobs in flight, for both sides. */
  inFlight: number;
  /** Approximate size of every picture. */
  pictureBytes: number;
  work: Work;
  /** Limits beyond which the service answers 429 without Retry-After. Default: no limits. */
  bears?: Bearable;
  /** Seed of the execution times and the picture. */
  seed: number;
  /** True if the peer does the same work: ids and pictures durable, every pixel decoded, thumbnails. */
  isPeerCareful?: boolean;
  /** Lines of our pipeline.yaml that differ from the defaults. They are shown with the results. */
  settings: string[];
}

export type Work =
  /** A job is complete before its submission is answered. */
  | { kind: 'instant' }
  /** All jobs complete at the same moment, after all scenes were submitted. */
  | { kind: 'at once' }
  /** This number of jobs run at once, and others wait in a queue. Execution times are log-normal. */
  | { kind: 'workers'; workers: number; medianMs: number; sigma: number; changes?: WorkerChange[] };

export interface WorkerChange {
  /** Time since the first submission. */
  atMs: number;
  workers: number;
  /** Period after the change in which the work done is compared with what this number of workers could do. */
  judgedMs: number;
}

export interface Bearable {
  /** Limit for requests of all kinds. `burst`: number that may come at once. */
  requests?: { perSecond: number; burst: number };
  /** Number of jobs that may wait for each worker. */
  queuedPerWorker?: number;
}

export function describeLoad({
  scenes,
  inFlight,
  pictureBytes,
  work,
  bears,
  isPeerCareful,
  seed,
}: Load): string {
  const parts = [
    `${count(scenes)} scenes`,
    `${inFlight} in flight`,
    `pictures of about ${count(pictureBytes)} bytes`,
    describeWork(work),
    ...(bears?.requests === undefined ? [] : [`${bears.requests.perSecond} requests a second, else 429`]),
    ...(bears?.queuedPerWorker === undefined
      ? []
      : [`${bears.queuedPerWorker} queued job a worker, else 429`]),
    ...(isPeerCareful === true ? ['a loop that does the same work'] : []),
    `seed ${seed}`,
  ];
  return parts.join(', ');
}

function describeWork(work: Work): string {
  switch (work.kind) {
    case 'instant':
      return 'instant service';
    case 'at once':
      return 'all completing at the same moment';
    case 'workers': {
      const changes = (work.changes ?? []).map(({ atMs, workers }) => `, ${workers} after ${atMs / 1_000} s`);
      const times = `log-normal execution times (median ${work.medianMs} ms, sigma ${work.sigma})`;
      return `${work.workers} workers${changes.join('')}, ${times}`;
    }
  }
}

function count(number: number): string {
  return number.toLocaleString('en-US');
}

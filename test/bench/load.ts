/** What a side is given to do, and how the service behaves meanwhile. */

export interface Load {
  scenes: number;
  /** Jobs in flight at most, on either side. */
  inFlight: number;
  /** About the size of every picture. */
  pictureBytes: number;
  work: Work;
  /** What the service answers with 429, without a word of when to come back; left out, it bears everything. */
  bears?: Bearable;
  /** Of the execution times and the picture. */
  seed: number;
  /** Whether the peer does the same work: ids and pictures durable, every pixel decoded, thumbnails. */
  isPeerCareful?: boolean;
  /** Lines of our pipeline.yaml that are not defaults; they are shown with the results. */
  settings: string[];
}

export type Work =
  /** A job has completed by the time its submission is answered. */
  | { kind: 'instant' }
  /** All jobs complete at the same moment, once all scenes are submitted. */
  | { kind: 'at once' }
  /** So many jobs at once, the others queue; execution times are log-normal. */
  | { kind: 'workers'; workers: number; medianMs: number; sigma: number; changes?: WorkerChange[] };

export interface WorkerChange {
  /** From the first submission. */
  atMs: number;
  workers: number;
  /** For so long from then on, what is worked is held against what so many workers could do. */
  judgedMs: number;
}

export interface Bearable {
  /** Requests of all kinds; so many may come at once. */
  requests?: { perSecond: number; burst: number };
  /** Jobs that may queue for each worker. */
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

/** What both sides are given to do, and how the service behaves meanwhile. */

export interface Scenario {
  name: string;
  scenes: number;
  /** Jobs in flight at most, on either side. */
  inFlight: number;
  /** About the size of every picture. */
  pictureBytes: number;
  work: Work;
  /** Of the execution times and the picture. */
  seed: number;
  /** Lines of our pipeline.yaml that are not defaults; they are shown with the results. */
  settings: string[];
}

export type Work =
  /** A job has completed by the time its submission is answered. */
  | { kind: 'instant' }
  /** So many jobs at once, the others queue; execution times are log-normal. */
  | { kind: 'workers'; workers: number; medianMs: number; sigma: number };

/** In the order in which they are run. */
export const scenarios: readonly Scenario[] = [
  {
    name: 'overhead',
    scenes: 2_000,
    inFlight: 64,
    pictureBytes: 1_000,
    work: { kind: 'instant' },
    seed: 1,
    // With the default of 250 ms it is this wait that is measured (64 in flight would make at most 256 jobs a second),
    // and with the default rate the limit of 100 submissions a second.
    settings: [
      'polling: {shortest: 1ms}',
      'rate: {submit: {atOnce: 200, perTenSeconds: 1000000}, status: {atOnce: 400, perTenSeconds: 1000000}}',
    ],
  },
  {
    name: 'short jobs',
    scenes: 300,
    inFlight: 75,
    pictureBytes: 1_000,
    work: { kind: 'workers', workers: 50, medianMs: 800, sigma: 0.35 },
    seed: 1,
    settings: [],
  },
];

export function describeScenario({ scenes, inFlight, pictureBytes, work, seed }: Scenario): string {
  const service =
    work.kind === 'instant'
      ? 'instant service'
      : `${work.workers} workers, log-normal execution times (median ${work.medianMs} ms, sigma ${work.sigma})`;
  return `${scenes} scenes, ${inFlight} in flight, pictures of about ${pictureBytes} bytes, ${service}, seed ${seed}`;
}

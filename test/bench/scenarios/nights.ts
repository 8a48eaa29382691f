/**
 * A night on a small scale, and one with short jobs. Measures with how few requests a client can still finish as early
 * as possible.
 */
import { comparing } from '../compare-sides.ts';
import type { Load } from '../load.ts';
import { medianOf, requestsPerJob, type Results } from '../measures.ts';
import type { Result } from '../run-side.ts';
import type { Scenario } from '../scenario.ts';
import { perfectKnowledge, simulate } from '../simulate.ts';
import { target, type Target } from '../target.ts';

/** Nights by sigma of the execution times, jobs in flight, and highest number of requests as a share of the peer's. */
export const nights: Scenario[] = [
  night(0.35, 75, 0.55),
  night(0.35, 200, 0.32),
  night(0.1, 75, 0.3),
  night(1, 75, 1),
];

function night(sigma: number, inFlight: number, maxRequests: number): Scenario {
  return {
    name: `night ${sigma === 1 ? '1.0' : sigma}/${inFlight}`,
    load: {
      scenes: 600,
      inFlight,
      pictureBytes: 1_000,
      work: { kind: 'workers', workers: 50, medianMs: 8_000, sigma },
      seed: 1,
      settings: [],
    },
    quick: { scenes: 200 },
    rounds: 1,
    warmUps: 0,
    run: comparing({
      turns: 'at once',
      judge: (results, load) => [
        requestsTarget(results, load, maxRequests),
        lagTarget(results),
        finishTarget(results, load, 1.03),
      ],
    }),
  };
}

export const shortJobs: Scenario = {
  name: 'short jobs',
  load: {
    scenes: 600,
    inFlight: 75,
    pictureBytes: 1_000,
    work: { kind: 'workers', workers: 50, medianMs: 800, sigma: 0.35 },
    seed: 1,
    settings: [],
  },
  quick: { scenes: 300 },
  rounds: 3,
  warmUps: 0,
  run: comparing({ turns: 'at once', judge: (results, load) => [finishTarget(results, load, 1.05)] }),
};

function requestsTarget({ ours, peer }: Results, load: Load, atMost: number): Target {
  const [our, their] = [ours, peer].map((results) =>
    medianOf(results, (result) => requestsPerJob(result, load)),
  );
  const share = (100 * (our ?? 0)) / (their ?? 0);
  const shown = { unit: ' %', digits: 0, from: our?.toFixed(1) ?? '', peer: their?.toFixed(1) ?? '' };
  return target('status requests a job, of the peer’s', { atMost: 100 * atMost }, share, shown);
}

function lagTarget({ ours, peer }: Results): Target {
  const lag = (result: Result): number => result.service.lagMs.mean;
  const [our, their] = [medianOf(ours, lag), medianOf(peer, lag)];
  return target('mean lag to the peer', { atMost: 1 }, our / their, {
    unit: ' ×',
    digits: 2,
    from: `${our.toFixed(0)} ms`,
    peer: `${their.toFixed(0)} ms`,
  });
}

function finishTarget({ ours, peer }: Results, load: Load, atMost: number): Target {
  const bestMs = simulate(load, perfectKnowledge);
  const [our, their] = [ours, peer].map((results) => medianOf(results, ({ service }) => service.spanMs));
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  return target('time to finish to the best possible', { atMost }, (our ?? 0) / bestMs, {
    unit: ' ×',
    digits: 3,
    from: `${seconds(our ?? 0)} of ${seconds(bestMs)}`,
    peer: `${((their ?? 0) / bestMs).toFixed(3)} ×`,
  });
}

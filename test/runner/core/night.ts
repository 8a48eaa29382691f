/**
 * Simulates a run for tests of forecasts: workers take jobs of varying length, some jobs fail, and the number
 * of workers changes.
 */
import { FinishedScenes } from '../../../src/runner/core/forecast.ts';
import { logNormal, seededRandom } from '../../bench/random.ts';

export interface Night {
  seed: number;
  scenes: number;
  medianMs: number;
  sigma: number;
  /** Number of workers at a time (ms since the start). */
  workersAt: (at: number) => number;
  /** Share of attempts that fail. They are repeated after `retryMs`. */
  failing?: number;
  retryMs?: number;
  /**
   * Number of jobs that wait at the service besides those that execute. If set, the service does not report
   * execution times.
   */
  queued?: number;
}

export interface Forecast {
  /** Share of completed scenes, in percent. */
  done: number;
  at: number;
  /** Predicted total time divided by the real one. */
  ratio: number;
}

/** Returns the forecasts at each 5 % of the work. */
export function forecasts(night: Night): Forecast[] {
  const random = seededRandom(night.seed);
  const running: { endsAt: number; tookMs: number }[] = [];
  const retries: number[] = [];
  const predicted: { done: number; at: number; totalMs: number }[] = [];
  let waiting = night.scenes;
  const finished = new FinishedScenes(0);
  let saved = 0;
  let now = 0;
  while (saved < night.scenes) {
    while (retries[0] !== undefined && retries[0] <= now) {
      retries.shift();
      waiting += 1;
    }
    while (waiting > 0 && running.length < night.workersAt(now)) {
      waiting -= 1;
      const tookMs = logNormal(random, night.medianMs, night.sigma);
      running.push({ endsAt: now + tookMs, tookMs });
      running.sort((a, b) => a.endsAt - b.endsAt);
    }
    const next = Math.min(running[0]?.endsAt ?? Infinity, retries[0] ?? Infinity, now + stepMs(now));
    now = next;
    const job = running[0];
    if (job === undefined || job.endsAt > now) continue;
    running.shift();
    finished.addJobTime(job.tookMs + (night.queued === undefined ? 0 : queueMs(night)));
    if (random() < (night.failing ?? 0)) {
      retries.push(now + (night.retryMs ?? 0));
      continue;
    }
    saved += 1;
    finished.add(now);
    if (saved % Math.round(night.scenes / 20) !== 0 || saved === night.scenes) continue;
    const inFlight = Math.min(night.scenes - saved, running.length + (night.queued ?? 0));
    const leftMs = finished.leftMs(now, night.scenes - saved, inFlight);
    predicted.push({
      done: Math.round((saved / night.scenes) * 100),
      at: now,
      totalMs: now + (leftMs ?? NaN),
    });
  }
  return predicted.map(({ done, at, totalMs }) => ({ done, at, ratio: totalMs / now }));
}

/** Returns the ms until the next full second, because the number of workers may change while no job ends. */
function stepMs(now: number): number {
  return 1_000 - (now % 1_000) || 1_000;
}

/** Returns how long the workers need for the jobs that are queued before a new one, in ms. */
function queueMs({ queued = 0, workersAt, medianMs, sigma }: Night): number {
  return (queued / workersAt(0)) * medianMs * Math.exp(sigma ** 2 / 2);
}

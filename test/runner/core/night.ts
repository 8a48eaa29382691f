/** A night in numbers: workers that take jobs of uneven length, with what changes, fails and pauses. */
import {
  noneFinished,
  timeLeftMs,
  withFinished,
  withJobTime,
  type Finished,
} from '../../../src/runner/core/forecast.ts';
import { logNormal, seededRandom } from '../../bench/random.ts';

export interface Night {
  seed: number;
  scenes: number;
  medianMs: number;
  sigma: number;
  /** At an instant (ms since the beginning). */
  workersAt: (at: number) => number;
  /** Share of attempts that fail and are made again after `retryMs`. */
  failing?: number;
  retryMs?: number;
  /** So many wait at the service beside those that execute, and it does not tell how long each executed. */
  queued?: number;
}

export interface Forecast {
  /** Of the scenes, in percent. */
  done: number;
  at: number;
  /** Predicted whole time over the true one. */
  ratio: number;
}

/** What was predicted at each 5 % of the work. */
export function forecasts(night: Night): Forecast[] {
  const random = seededRandom(night.seed);
  const running: { endsAt: number; tookMs: number }[] = [];
  const retries: number[] = [];
  const predicted: { done: number; at: number; totalMs: number }[] = [];
  let waiting = night.scenes;
  let finished: Finished = noneFinished(0);
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
    finished = withJobTime(finished, job.tookMs + (night.queued === undefined ? 0 : queueMs(night)));
    if (random() < (night.failing ?? 0)) {
      retries.push(now + (night.retryMs ?? 0));
      continue;
    }
    saved += 1;
    finished = withFinished(finished, now);
    if (saved % Math.round(night.scenes / 20) !== 0 || saved === night.scenes) continue;
    const inFlight = Math.min(night.scenes - saved, running.length + (night.queued ?? 0));
    const leftMs = timeLeftMs(finished, now, night.scenes - saved, inFlight);
    predicted.push({
      done: Math.round((saved / night.scenes) * 100),
      at: now,
      totalMs: now + (leftMs ?? NaN),
    });
  }
  return predicted.map(({ done, at, totalMs }) => ({ done, at, ratio: totalMs / now }));
}

/** Workers may come while nothing ends. */
function stepMs(now: number): number {
  return 1_000 - (now % 1_000) || 1_000;
}

/** As long as the workers need for those before it. */
function queueMs({ queued = 0, workersAt, medianMs, sigma }: Night): number {
  return (queued / workersAt(0)) * medianMs * Math.exp(sigma ** 2 / 2);
}

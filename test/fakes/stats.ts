/** The stats of a night in which a little of everything happened. */
import { type RunStats, type SlotState, slotStates } from '../../src/runner/core/run-stats.ts';

export function timeMs(spent: Partial<Record<SlotState, number>>): RunStats['timeMs'] {
  const none = Object.fromEntries(slotStates.map((state) => [state, 0])) as RunStats['timeMs'];
  return { ...none, ...spent };
}

export const stats: RunStats = {
  tookMs: 28_800_000,
  concurrency: 64,
  jobs: { submitted: 9_400, resumed: 12 },
  requests: { submissions: 9_870, status: 40_000 },
  requestsPerJob: { submissions: 1.05, status: 4.25 },
  lagMs: { jobs: 9_300, p50: 210, p95: 1_430 },
  lagAtMostMs: { jobs: 100, p50: 900, p95: 2_500 },
  lostTo429: {
    answers: { submissions: 470, status: 30 },
    backOffMs: 2_304_000,
    slowedMs: 864_000,
    looksMs: 4_100,
  },
  pictures: { files: 9_400, bytes: 14_100_000_000, bytesPerSecond: 489_583 },
  timeMs: timeMs({
    inFlight: 21_456_000,
    nothingLeft: 4_032_000,
    load: 2_304_000,
    slowed: 864_000,
    disk: 130_000,
    rate: 14_000,
  }),
};

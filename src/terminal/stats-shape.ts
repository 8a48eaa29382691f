/** The numbers of a run as a schema. */
import { z } from 'zod';
import { slotStates } from '../runner/core/slot-usage.ts';
import type { RunStats } from '../runner/core/run-stats.ts';

const count = z.int().min(0);
const percentiles = z.looseObject({ jobs: count, p50: z.number(), p95: z.number() }).nullable();
const perOperation = <Value extends z.ZodType>(value: Value) =>
  z.looseObject({ submissions: value, status: value });

export const statsShape = {
  tookMs: count,
  concurrency: count,
  jobs: z.looseObject({ submitted: count, resumed: count }),
  requests: perOperation(count),
  requestsPerJob: perOperation(z.number().nullable()),
  lagMs: percentiles,
  lagAtMostMs: percentiles,
  lostTo429: z.looseObject({
    answers: perOperation(count),
    backOffMs: count,
    slowedMs: count,
    looksMs: count,
  }),
  pictures: z.looseObject({ files: count, bytes: count, bytesPerSecond: z.number().nullable() }),
  timeMs: z.looseObject(Object.fromEntries(slotStates.map((state) => [state, count]))),
} satisfies Record<keyof RunStats, z.ZodType>;

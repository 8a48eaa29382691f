/** Schemas of the JSON lines that read-only commands print. */
import { z } from 'zod';
import { type RunStats, slotStates } from '../runner/core/run-stats.ts';

const count = z.int().min(0);
const text = z.string();
const instant = text.describe('in UTC');
const anything = z.record(text, z.unknown());
/** Number of scenes in each state. */
export const counts = z.looseObject({
  waiting: count,
  active: count,
  saved: count,
  failed: count,
  withdrawn: count,
  unneeded: count.optional().describe('seeds that `scenes.until` does without'),
  invalid: count,
});
const endpoint = z.looseObject({ baseUrl: text, id: text, version: text });

const repeated = z
  .looseObject({ rows: count, isSkipped: z.boolean() })
  .optional()
  .describe('rows that repeat a prompt of another row, and whether they are left out (`skipRepeatedRows`)');

const heldSeeds = count
  .optional()
  .describe('seeds that are sent only if those before them fall short (`scenes.until`)');

/** Changes that the manifest makes to the batch. */
export const changesShape = {
  added: count,
  changed: count,
  unchanged: count,
  withdrawn: count,
  repeated,
  heldSeeds,
};

const upTo = count.describe('the most scenes that may be added as the batch before gets its results');

/** A stage whose source batch has no results yet. */
export const laterPlanShape = { program: text, file: text, manifest: z.array(text), upTo, exitCode: count };

export const planShape = {
  program: text,
  file: text.describe('the pipeline.yaml, as it was given'),
  manifest: z.array(text),
  endpoint,
  proxy: text.nullable().describe('the proxy on the way to the endpoint, without its password'),
  dir: text,
  isRunning: z.boolean().describe('true if a run holds the batch at this moment'),
  asked: anything.nullable().describe('the requested preview: `share`, `limit`'),
  files: z.array(z.looseObject({ label: text, kind: text })).describe('`output.files`'),
  upTo: upTo.optional(),
  changes: z.looseObject(changesShape),
  counts,
  part: counts.nullable().describe('of the scenes of the preview'),
  setAside: z.looseObject({
    inFlight: count,
    intended: count,
    failed: z.array(z.looseObject({ kind: text, scenes: count })),
    badRows: z.array(z.looseObject({ source: text, problem: text })),
  }),
  requests: z.array(
    z.looseObject({
      scene: text,
      attempt: count,
      method: text,
      url: text,
      body: anything.describe('files are given as path, sha256 and bytes'),
      file: text.describe('of its first picture, relative to the folder images'),
      taken: text.nullable(),
    }),
  ),
  forecast: z.looseObject({
    scenes: count,
    isPriced: z.boolean(),
    cost: z.looseObject({ amount: z.number(), perScene: z.number(), currency: text }).nullable(),
    time: z.looseObject({ fromMs: count, toMs: count }).nullable(),
    ground: anything.describe('the times and costs of earlier runs'),
    cuts: z.array(anything).describe('limits that end the run before all is rendered'),
  }),
  atMost: z
    .looseObject({ scenes: count, cost: z.number().nullable() })
    .nullable()
    .describe('the same if every seed is needed (`scenes.until`)'),
  warnings: z.array(text),
  remarks: z.array(text).describe('notes on the list'),
  warning: text.nullable().describe('a warning about the folder'),
  lacking: text.nullable().describe('the `output.files` that saved scenes lack'),
  misnamed: text.nullable().describe('saved pictures that `output.name` would name otherwise now'),
  foundAt: text
    .nullable()
    .describe('the path of the latest picture that was found in an output of unknown shape'),
  check: z
    .looseObject({
      ending: text,
      text,
      workers: z.record(text, count).optional(),
      price: z.looseObject({ amount: z.number(), unit: text, currency: text }).optional(),
      warning: text.optional().describe('`pricing` differs from that price'),
    })
    .nullable()
    .describe('the answer of the service (`--check`)'),
  obstacle: text.nullable().describe('reason for which a run could not write; null if it could'),
  exitCode: count,
};

export const pictureTotals = z.looseObject({
  files: count,
  bytes: count,
  clips: count.optional().describe('clips among them'),
  labelled: count.optional().describe('pictures with words as labelled boxes'),
  ignored: count.optional().describe('pictures that leave words out'),
  unjudged: count.optional().describe('results of the run without a value that `scenes.until` needs'),
  odd: count.optional().describe('pictures with a list or an object at the place of a value'),
  cut: count.optional().describe('pictures whose output was longer than the part that is kept'),
});

export const statusShape = {
  dir: text,
  isRunning: z.boolean(),
  summary: z.looseObject({
    scenes: counts,
    pictures: pictureTotals,
    files: z.looseObject({ files: count, bytes: count }).optional().describe('of `output.files`'),
    attempts: z.record(text, count),
    cost: anything.nullable(),
    failures: z.array(z.looseObject({ kind: text, attempts: count, lastText: text })),
    held: z
      .array(z.looseObject({ kind: text, results: count, kept: count, lastText: text }))
      .describe('jobs in flight whose results wait for a setting'),
    part: anything.nullable(),
    lastRun: anything.nullable(),
  }),
  lacking: text.optional().describe('the `output.files` that saved scenes lack'),
  words: z
    .array(z.looseObject({ word: text, jobs: count }))
    .describe('the latest statuses of the jobs in flight'),
  pace: anything.nullable().describe('of a live run'),
  latestPicture: text.nullable(),
  lastTrouble: z
    .looseObject({ sceneId: text, prompt: text.optional(), kind: text, text, at: instant })
    .nullable(),
};

export const storyShape = {
  id: text,
  isRunning: z.boolean(),
  invalid: z.array(z.looseObject({ source: text, problem: text })),
  versions: z
    .array(
      z.looseObject({
        state: text,
        fingerprint: text,
        source: text,
        columns: anything,
        input: anything,
        failureKind: text.nullable(),
        failureText: text.nullable(),
        dueAt: instant.nullable(),
        ahead: count,
        deaths: count,
        attempts: z.array(anything),
        next: text.describe('the fields that decide its next step'),
      }),
    )
    .describe('every input that the id ever had, the current one first'),
};

export const pictureShape = {
  file: text,
  format: text,
  width: count,
  height: count,
  bytes: count,
  sha256: text,
  provenance: anything.nullable(),
  from: z.enum(['embedded', 'sidecar']).nullable(),
  isOfThisPicture: z.boolean().nullable(),
  texts: z.array(z.looseObject({ keyword: text, text })),
};

export const keyShape = {
  id: text,
  name: text,
  kind: z.enum(['client', 'worker', 'admin']),
  endpoints: z.array(text).nullable().describe('ids of its endpoints; null for all'),
  createdAt: instant,
  lastUsedAt: instant.nullable(),
  lastUsedFrom: text.nullable().describe('address of the client at that time'),
  revokedAt: instant.nullable(),
  expiresAt: instant.nullable().describe('the key is not accepted from then on; null without limit'),
  quotaMs: count.nullable().describe('execution time a day; null without limit'),
  price: z.number().nullable().describe('USD for a second of execution'),
  hasOwnJobsOnly: z.boolean().describe('true if it sees and cancels only the jobs that it submitted'),
  isReadOnly: z.boolean().describe('true if it changes nothing'),
  limits: z
    .looseObject({
      requestsPerSecond: count.nullable(),
      maxQueued: count.nullable(),
      maxQueuedBytes: count.nullable(),
      maxHeld: count.nullable(),
    })
    .describe('requests per second, jobs and bytes in the queue, requests in progress; null without limit'),
};

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
  moreJobs: z
    .looseObject({ slots: count, beganWithinMs: count, concurrency: count })
    .optional()
    .describe('the `concurrency` that may finish sooner, if all slots were in use and jobs began at once'),
} satisfies Record<keyof RunStats, z.ZodType>;

/** Every key of pipeline.yaml, with its default. A message says what was expected. */
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../lib/text/json.ts';
import { endpoint } from './endpoint-schema.ts';
import { limits, pricing } from './limits-schema.ts';
import { notifyTarget } from './notify-schema.ts';
import { formats, output } from './output-schema.ts';
import { count, flag, path, duration, durationWithin, longestWait } from '../../lib/yaml/scalar-schemas.ts';
import { columns, scenes } from './scene-schema.ts';

const paths = 'a path or a list of paths; - is standard input';

const retry = z.strictObject({
  attempts: count(1, 100, 'failed attempts after which a scene has failed')
    .default(3)
    .describe('failed attempts after which a scene has failed'),
  submissions: count(1, 1000, 'submissions of one scene, whatever became of them')
    .default(10)
    .describe('submissions of one scene, whatever became of them: what it can be billed at most'),
  firstWait: duration.prefault('2s').describe('the wait before a second attempt; waits double from here'),
  longestWait: duration.prefault('2m').describe('the longest wait before another attempt'),
  unanswered: z
    .enum(['resubmit', 'hold'], 'resubmit or hold')
    .default('resubmit')
    .describe(
      'what becomes of a scene whose job may run and bill: `hold` fails it until `retry --held` puts it back',
    ),
});

const polling = z.strictObject({
  lag: z
    .number('a share of the execution time, from 0.001 to 1')
    .min(0.001, 'a share of the execution time, from 0.001 to 1')
    .max(1, 'a share of the execution time, from 0.001 to 1')
    .default(0.05)
    .describe(
      'how long a finished result lies at the service on average, as a share of the execution time: twice as much halves the requests',
    ),
  shortest: durationWithin('1ms', '15m')
    .prefault('250ms')
    .describe('the shortest time between two looks at a job'),
  longest: durationWithin('1ms', '15m')
    .prefault('30s')
    .describe('the longest time between two looks at a job'),
});

const halt = z.strictObject({
  consecutive: count(1, 1_000_000, 'failed attempts in a row')
    .default(20)
    .describe(
      'failed attempts in a row that stop the run, jobs that the service loses within 30 minutes too',
    ),
  percent: count(1, 100, 'percent of the finished attempts')
    .default(50)
    .describe("share of the run's finished attempts that failed and stop it; 100 never does"),
  minimum: count(1, 1_000_000, 'finished attempts before halt.percent counts')
    .default(50)
    .describe('finished attempts before `percent` counts'),
  unreachable: durationWithin('1s', longestWait)
    .prefault('30m')
    .describe('a service that has not answered for this long stops the run'),
});

const rateOf = (atOnce: number, perTenSeconds: number) =>
  z
    .strictObject({
      atOnce: count(1, 100_000, 'requests on their way at once')
        .default(atOnce)
        .describe('requests on their way at once'),
      perTenSeconds: count(1, 1_000_000, 'requests in ten seconds')
        .default(perTenSeconds)
        .describe('requests in ten seconds'),
    })
    .prefault({});

const rate = z.strictObject({
  submit: rateOf(200, 1_000).describe('submissions'),
  status: rateOf(400, 2_000).describe('status requests'),
});

const timeouts = z.strictObject({
  request: durationWithin('1ms', longestWait)
    .prefault('30s')
    .describe('one HTTP request, from sending to the last byte; each 16 kB of the answer add a second'),
  queue: durationWithin('1ms', longestWait)
    .prefault('1h')
    .describe('a job that has not begun by then has failed'),
  execution: durationWithin('1ms', longestWait)
    .prefault('30m')
    .describe('a job that has not ended by then has failed'),
});

const check = z.strictObject({
  blank: flag.describe('a picture of one colour or transparent throughout is a failed attempt'),
  minSide: count(1, 1_000_000, 'pixels of the shorter side of a picture')
    .optional()
    .describe('pixels that the shorter side of a picture has at least'),
});

const every = 'never, or a duration from 1s to 20d, such as 5m';

const report = z.strictObject({
  every: z
    .union([z.literal('never'), durationWithin('1s', longestWait)], every)
    .prefault('5m')
    .describe('how often the report is written during a run, where that is quick; never: at its end alone'),
  thumbnails: z
    .boolean('true or false')
    .default(true)
    .describe('whether a small WebP of each picture is made for the gallery of the report'),
});

const shutdown = z.strictObject({
  grace: duration
    .prefault('10s')
    .describe('what is arriving when the run is stopped has this long to arrive'),
});

const terminal = z.strictObject({
  json: flag.describe('one JSON object a line on stdout'),
  quiet: flag.describe('warnings and errors only'),
  // A program that closes a database's file loses its locks on it.
  log: path
    .refine((name) => !/\.sqlite(-wal|-shm)?$/i.test(name), 'the path of a log, which is no database')
    .optional()
    .describe('a file to which every event is appended as a JSON line, relative to this file'),
  stats: flag.describe('at the end, say what the run needed and what held it back'),
});

/** The keys that hold keys. */
export const sections = {
  scenes,
  endpoint,
  output,
  retry,
  polling,
  halt,
  rate,
  timeouts,
  pricing,
  limits,
  check,
  report,
  shutdown,
  terminal,
};

const configShape = z.strictObject({
  manifest: z
    .union([path, z.array(path, paths).min(1, paths)], paths)
    .describe('the list of scenes: a path or a list of paths, relative to this file; `-` is standard input'),
  endpoint: endpoint.describe('the job service'),
  // YAML gives JSON here; a record of zod would lose keys such as __proto__ without a word.
  input: z
    .custom<JsonObject>(isFilled, 'what each job is sent: at least one key with its value')
    .meta({ type: 'object', minProperties: 1 })
    .optional()
    .describe('what each job is sent: `{{ column }}` is replaced, other keys are sent as they are'),
  columns: columns.prefault({}).describe('the types of columns that are not text'),
  scenes: scenes.optional().describe('what every row of the manifest is multiplied by'),
  concurrency: count(1, 10_000, 'jobs in flight').default(16).describe('jobs in flight'),
  output: output.describe('where pictures go'),
  retry: retry.prefault({}).describe('attempts and submissions of a scene'),
  polling: polling
    .prefault({})
    .describe('when jobs are looked at, planned from what the jobs of this run took'),
  halt: halt.prefault({}).describe('what stops a run'),
  rate: rate.prefault({}).describe('what the service allows; it is slowed down further while it answers 429'),
  timeouts: timeouts.prefault({}).describe('how long a request and a job may take'),
  pricing: pricing
    .optional()
    .describe('what the work costs, so that it can be shown and limited; without it, neither'),
  limits: limits.prefault({}).describe('what a run may take'),
  check: check.prefault({}).describe('a picture that is whole but not as asked for is a failed attempt'),
  report: report.prefault({}).describe('the result files'),
  shutdown: shutdown.prefault({}).describe('how a run is stopped'),
  terminal: terminal.prefault({}).describe('what a run shows'),
  notify: z
    .array(notifyTarget, 'a list of targets such as [{ping: https://…}]')
    .default([])
    .describe('who is told of a run: monitors, chats, commands'),
  skipBadRows: flag.describe('true renders the good rows and reports the bad ones as invalid'),
  allowFewer: flag.describe(
    'true goes on where more than a third of the scenes is gone from the list and none came',
  ),
});

export const configSchema = configShape.superRefine(checkCost);

/** For a file whose `scenes` have lists of their own, of which scenes can be made without a row. */
export const manifestOptionalSchema = configShape.partial({ manifest: true }).superRefine(checkCost);

function checkCost(
  { limits: { cost }, pricing: price }: Pick<z.output<typeof configShape>, 'limits' | 'pricing'>,
  context: z.RefinementCtx,
): void {
  if (cost === undefined || price !== undefined) return;
  const message = 'pricing.perSecond as well: without a price nobody knows what was spent';
  context.addIssue({ code: 'custom', path: ['limits', 'cost'], message });
}

/** What the report is told, with nothing of the rest looked at. */
export const reportPartSchema = z.looseObject({
  report: report.prefault({}),
  output: z.looseObject({ formats, metadata: output.shape.metadata }),
});

export type RawConfig = z.output<typeof manifestOptionalSchema>;

function isFilled(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0;
}

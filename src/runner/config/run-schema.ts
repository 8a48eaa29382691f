/** The keys of pipeline.yaml for how a run works: attempts, polling, halts, rates, times, costs, limits and output. */
import { z } from 'zod';
import {
  count,
  duration,
  durationWithin,
  flag,
  longestWait,
  money,
  path,
  sizeWithin,
} from '../../lib/yaml/scalar-schemas.ts';

export const retry = z.strictObject({
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

export const polling = z.strictObject({
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

export const halt = z.strictObject({
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

export const rate = z.strictObject({
  submit: rateOf(200, 1_000).describe('submissions'),
  status: rateOf(400, 2_000).describe('status requests'),
});

export const timeouts = z.strictObject({
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

export const pricing = z.strictObject({
  perSecond: money('the price of a second of execution, a number above 0').describe(
    'the price of a second of execution, as the service tells it',
  ),
  currency: z
    .string('a currency such as USD')
    .min(1, 'a currency such as USD')
    .max(12)
    .default('USD')
    .describe('the currency of the price'),
});

const untilExpected = 'an hour of the day such as "07:00"';

export const limits = z.strictObject({
  for: duration
    .optional()
    .describe('submit nothing that is not expected to be done this long after the first submission'),
  until: z
    .string(untilExpected)
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, untilExpected)
    .optional()
    .describe('submit nothing that is not expected to be done by this hour, such as "07:00", local time'),
  cost: money('an amount above 0, in the currency of `pricing`')
    .optional()
    .describe(
      'in the currency of `pricing`, for the whole batch: submit nothing once this is spent or on its way',
    ),
  jobs: count(1, 1_000_000_000, 'submissions of the batch')
    .optional()
    .describe('submissions of the whole batch'),
  body: sizeWithin('1kB', '500MB').prefault('64MB').describe('the largest answer that is read'),
  memory: sizeWithin('1MB', '100GB')
    .prefault('64MB')
    .describe('what large answers take together: others wait; one that is larger comes through alone'),
  pixels: count(1, 1_000_000_000, 'pixels of one picture')
    .default(100_000_000)
    .describe('the largest picture that is decoded'),
});

export const check = z.strictObject({
  blank: flag.describe('a picture of one colour or transparent throughout is a failed attempt'),
  minSide: count(1, 1_000_000, 'pixels of the shorter side of a picture')
    .optional()
    .describe('pixels that the shorter side of a picture has at least'),
});

const every = 'never, or a duration from 1s to 20d, such as 5m';

export const report = z.strictObject({
  every: z
    .union([z.literal('never'), durationWithin('1s', longestWait)], every)
    .prefault('5m')
    .describe('how often the report is written during a run, where that is quick; never: at its end alone'),
  thumbnails: z
    .boolean('true or false')
    .default(true)
    .describe('whether a small WebP of each picture is made for the gallery of the report'),
});

export const shutdown = z.strictObject({
  grace: duration
    .prefault('10s')
    .describe('what is arriving when the run is stopped has this long to arrive'),
});

export const terminal = z.strictObject({
  json: flag.describe('one JSON object a line on stdout'),
  quiet: flag.describe('warnings and errors only'),
  // A program that closes a database's file loses its locks on it.
  log: path
    .refine((name) => !/\.sqlite(-wal|-shm)?$/i.test(name), 'the path of a log, which is no database')
    .optional()
    .describe('a file to which every event is appended as a JSON line, relative to this file'),
  stats: flag.describe('at the end, say what the run needed and what held it back'),
});

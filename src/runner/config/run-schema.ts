/** The keys of pipeline.yaml for how a run works, such as attempts, polling, rates, costs, limits and notices. */
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
import type { NoticeTarget, NoticeRules } from '../core/ending.ts';

export const retry = z.strictObject({
  attempts: count(1, 100, 'failed attempts after which a scene fails')
    .default(3)
    .describe('failed attempts after which a scene fails'),
  submissions: count(1, 1000, 'submissions of one scene, whatever their outcome')
    .default(10)
    .describe('submissions of one scene, whatever their outcome; it cannot be billed more often'),
  firstWait: duration
    .prefault('2s')
    .describe('the wait before the second attempt; it doubles with each further attempt'),
  longestWait: duration.prefault('2m').describe('the longest wait before another attempt'),
  unanswered: z
    .enum(['resubmit', 'hold'], 'resubmit or hold')
    .default('resubmit')
    .describe('after a submission without an answer: `hold` sets the scene aside until `retry --held`'),
});

export const polling = z.strictObject({
  lag: z
    .number('a share of the execution time, from 0.001 to 1')
    .min(0.001, 'a share of the execution time, from 0.001 to 1')
    .max(1, 'a share of the execution time, from 0.001 to 1')
    .default(0.05)
    .describe('average delay of results, as a share of execution time; twice as much halves the requests'),
  shortest: durationWithin('1ms', '15m')
    .prefault('10ms')
    .describe('the shortest time between two polls of a job; short jobs are polled when they are done'),
  longest: durationWithin('1ms', '15m')
    .prefault('30s')
    .describe('the longest time between two polls of a job'),
});

export const halt = z.strictObject({
  consecutive: count(1, 1_000_000, 'failed attempts in a row')
    .default(20)
    .describe('failed attempts in a row that stop the run; jobs lost within 30 minutes count'),
  percent: count(1, 100, 'percent of the finished attempts')
    .default(50)
    .describe('percentage of failed among finished attempts that stops the run; 100 never does'),
  minimum: count(1, 1_000_000, 'finished attempts before halt.percent counts')
    .default(50)
    .describe('finished attempts before `percent` counts'),
  unreachable: durationWithin('1s', longestWait)
    .prefault('30m')
    .describe('stops the run if the service has not answered for this long'),
  refused: durationWithin('1s', '30m')
    .prefault('30s')
    .describe('stops the run if key, account or endpoint worked and are then refused for this long'),
});

const rateOf = (atOnce: number, perTenSeconds: number) =>
  z
    .strictObject({
      atOnce: count(1, 100_000, 'concurrent requests').default(atOnce).describe('concurrent requests'),
      perTenSeconds: count(1, 1_000_000, 'requests per ten seconds')
        .default(perTenSeconds)
        .describe('requests per ten seconds'),
    })
    .prefault({});

export const rate = z.strictObject({
  submit: rateOf(200, 1_000).describe('submissions'),
  status: rateOf(400, 2_000).describe('status requests'),
});

export const timeouts = z.strictObject({
  request: durationWithin('1ms', longestWait)
    .prefault('30s')
    .describe('one HTTP request to its last byte; each 4 kB sent and 16 kB received add a second'),
  queue: durationWithin('1ms', longestWait).prefault('1h').describe('a job not started by then fails'),
  execution: durationWithin('1ms', longestWait).prefault('30m').describe('a job not finished by then fails'),
});

const priceExpected = 'the path of one price, such as output.cost or output[0].cost';

export const pricing = z.strictObject({
  at: z
    .string(priceExpected)
    .max(200, priceExpected)
    // The negative lookahead leaves one way to read a name. Other ways would take years for a path that is wrong.
    .regex(/^(\[\d+\]|\.?[^.[\]\p{Cc}]+(?![^.[\]]))+$/u, priceExpected)
    .optional()
    .describe('the path of the price in the answer about a job, such as `output.cost`'),
  perSecond: money('the price of a second of execution, a number above 0')
    .optional()
    .describe('the price of a second of execution, as the service states it; prices add up'),
  perPicture: money('the price of a picture, a number above 0').optional().describe('the price of a picture'),
  perMegapixel: money('the price of a million pixels, a number above 0')
    .optional()
    .describe('the price of a million pixels of a picture'),
  perSecondOfVideo: money('the price of a second of a clip, a number above 0')
    .optional()
    .describe('the price of a second that a clip lasts, also of sound'),
  expect: durationWithin('1ms', longestWait)
    .optional()
    .describe('expected execution time of a job, used until a job of the batch has shown it'),
  currency: z
    .string('a currency such as USD')
    .min(1, 'a currency such as USD')
    .max(12)
    .default('USD')
    .describe('the currency of the price'),
});

const untilExpected = 'a time of day from "00:00" to "23:59"';

export const limits = z.strictObject({
  for: duration
    .optional()
    .describe('submit only what is expected to finish within this time of the first submission'),
  until: z
    .string(untilExpected)
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, untilExpected)
    .optional()
    .describe('submit only what is expected to finish by this local time of day, such as "07:00"'),
  cost: money('an amount above 0, in the currency of `pricing`')
    .optional()
    .describe('the most that the whole batch may cost, in the currency of `pricing`'),
  jobs: count(1, 1_000_000_000, 'submissions of the batch')
    .optional()
    .describe('submissions of the whole batch'),
  body: sizeWithin('1kB', '500MB').prefault('64MB').describe('the largest response that is read'),
  download: sizeWithin('1kB', '1000GB').prefault('2GB').describe('the largest clip that is downloaded'),
  kept: sizeWithin('1MB', '10000GB').prefault('2GB').describe('disk space for kept answers (`help resume`)'),
  memory: sizeWithin('1MB', '100GB')
    .prefault('64MB')
    .describe('memory for all large responses; one that does not fit is requested later'),
  pixels: count(1, 1_000_000_000, 'pixels of one picture')
    .default(100_000_000)
    .describe('the largest picture that is decoded'),
});

export const check = z.strictObject({
  blank: flag.describe('a picture of a single colour, or fully transparent, is a failed attempt'),
  decode: flag.describe('every frame of a clip is decoded with `ffmpeg`, which must be installed'),
  minSide: count(1, 1_000_000, 'pixels of the shorter side of a picture')
    .optional()
    .describe('the minimum size of the shorter side of a picture, in pixels'),
});

const every = 'never, or a duration from 1s to 20d, such as 5m';

export const report = z.strictObject({
  every: z
    .union([z.literal('never'), durationWithin('1s', longestWait)], every)
    .transform((ms) => (ms === 'never' ? undefined : ms))
    .prefault('5m')
    .describe('the time between two reports of a run, if writing is fast; `never`: only at the end'),
  thumbnails: z
    .boolean('true or false')
    .default(true)
    .describe('true makes a small JPEG of each picture for the gallery'),
  bom: z
    .boolean('true or false')
    .default(false)
    .describe('true begins results.csv with a byte order mark, so that Excel reads its accents'),
  separator: z
    .enum([',', ';', '\t'], '"," or ";" or "\\t"')
    .default(',')
    .describe('the separator of results.csv; `;` is for spreadsheets in languages with decimal commas'),
});

export const shutdown = z.strictObject({
  grace: duration.prefault('10s').describe('the time that arriving results may take when the run is stopped'),
});

export const terminal = z.strictObject({
  json: flag.describe('one JSON object per line on stdout'),
  quiet: flag.describe('warnings and errors only'),
  // If a program closes the file of a database, it loses its locks on the database.
  log: path
    .refine((name) => !/\.sqlite(-wal|-shm)?$/i.test(name), 'the path of a log file, not of a database')
    .optional()
    .describe('a log file, relative to this file; each event is appended as a JSON line'),
  stats: flag.describe('at the end, show the resources that the run used and what limited it'),
});

const address = z
  .string('an http(s) URL')
  .refine((text) => /^https?:\/\//i.test(text) && URL.canParse(text), 'an http(s) URL');

const occasionExpected = 'start, finish, halt, {failures: 50} or {stall: 30m}';

const occasion = z.union(
  [
    z.enum(['start', 'finish', 'halt']),
    z
      .strictObject({
        failures: count(1, 1_000_000, 'failed attempts of the run').optional(),
        stall: durationWithin('1s', longestWait).optional(),
      })
      .refine((given) => Object.keys(given).length === 1, occasionExpected)
      .meta({ minProperties: 1, maxProperties: 1 }),
  ],
  occasionExpected,
);

const oneExpected = 'exactly one of ping, slack, webhook and command';

export const notifyTarget = z
  .strictObject({
    ping: address
      .describe(
        'A check of a monitor such as healthchecks: notified of the start, of success (exit code 0) and of failure.',
      )
      .optional(),
    slack: address.describe('An incoming webhook of Slack, or of a compatible chat.').optional(),
    webhook: address.describe('Receives each notice as JSON.').optional(),
    command: z
      .string('a command')
      .min(1, 'a command')
      .describe(
        'Run by the shell in the folder of pipeline.yaml; gets each notice as JSON on standard input.',
      )
      .optional(),
    on: z
      .array(occasion, 'a list such as [halt, finish, {stall: 30m}]')
      .min(1, 'a list such as [halt, finish, {stall: 30m}]')
      .describe('The events it is notified of: start, finish, halt, {failures: 50}, {stall: 30m}.')
      .optional(),
  })
  .superRefine(({ ping, slack, webhook, command }, context) => {
    const given = [ping, slack, webhook, command].filter((to) => to !== undefined);
    if (given.length !== 1) context.addIssue({ code: 'custom', message: oneExpected });
  })
  .meta({ oneOf: ['ping', 'slack', 'webhook', 'command'].map((key) => ({ required: [key] })) });

/** Target of notices with its rules. */
export const notice = notifyTarget.transform(noticeTarget);

type Target = z.output<typeof notifyTarget>;

function noticeTarget(target: Target): NoticeTarget {
  for (const kind of ['ping', 'slack', 'webhook', 'command'] as const) {
    const to = target[kind];
    if (to !== undefined) return { kind, to, rules: rulesOf(target.on ?? defaults[kind]) };
  }
  throw new Error('a target without an address was let in');
}

type Occasions = NonNullable<Target['on']>;

/** A monitor that receives no start cannot tell how long a run took. */
const defaults: Record<NoticeTarget['kind'], Occasions> = {
  ping: ['start', 'finish'],
  slack: ['finish'],
  webhook: ['start', 'finish'],
  command: ['finish'],
};

function rulesOf(on: Occasions): NoticeRules {
  const rules: NoticeRules = {
    isStart: on.includes('start'),
    isFinish: on.includes('finish'),
    isHalt: on.includes('halt'),
  };
  for (const each of on) {
    if (typeof each === 'string') continue;
    if (each.failures !== undefined) rules.failures = each.failures;
    if (each.stall !== undefined) rules.stallMs = each.stall;
  }
  return rules;
}

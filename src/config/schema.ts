/** Every key of pipeline.yaml, with its default. A message says what was expected. */
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../core/json.ts';
import { host } from './hosts.ts';
import { duration, durationWithin, longestWait, sizeWithin } from './quantities.ts';

const count = (least: number, most: number, what: string) => {
  const expected = `${what}, a whole number from ${least} to ${most}`;
  return z.int(expected).min(least, expected).max(most, expected);
};

const path = z.string('a path').min(1, 'a path');
const paths = 'a path or a list of paths; - is standard input';

const endpoint = z.strictObject({
  baseUrl: z.string('`local` or an http(s) URL').superRefine((text, context) => {
    const message = baseUrlExpected(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  }),
  id: z
    .string('the id of the endpoint')
    .regex(/^[A-Za-z0-9_-]{1,128}$/, 'the id of the endpoint (letters, digits, - and _)'),
  version: z.enum(['v1', 'v2'], 'v1 or v2').default('v2'),
  apiKey: z
    .string('the key, as ${NAME} of an environment variable')
    .min(1, 'a key that is not empty')
    .optional(),
  freshness: duration.prefault('150s'),
});

const output = z.strictObject({
  dir: path,
  name: z
    .string('a template such as "{{ id }}.png"')
    .min(1, 'a template such as "{{ id }}.png"')
    .default('{{ id }}.png'),
  image: z.string('the path of the picture in the output, such as images[0].data').optional(),
  hosts: z.array(host, 'a list of host names such as [cdn.example.com]').default([]),
});

const retry = z.strictObject({
  attempts: count(1, 100, 'failed attempts after which a scene has failed').default(3),
  submissions: count(1, 1000, 'submissions of one scene, whatever became of them').default(10),
  firstWait: duration.prefault('2s'),
  longestWait: duration.prefault('2m'),
  unanswered: z.enum(['resubmit', 'hold'], 'resubmit or hold').default('resubmit'),
});

const polling = z.strictObject({
  lag: z
    .number('a share of the execution time, from 0.001 to 1')
    .min(0.001, 'a share of the execution time, from 0.001 to 1')
    .max(1, 'a share of the execution time, from 0.001 to 1')
    .default(0.05),
  shortest: durationWithin('1ms', '15m').prefault('250ms'),
  longest: durationWithin('1ms', '15m').prefault('30s'),
});

const halt = z.strictObject({
  consecutive: count(1, 1_000_000, 'failed attempts in a row').default(20),
  percent: count(1, 100, 'percent of the finished attempts').default(50),
  minimum: count(1, 1_000_000, 'finished attempts before halt.percent counts').default(50),
  unreachable: durationWithin('1s', longestWait).prefault('30m'),
});

const rateOf = (atOnce: number, perTenSeconds: number) =>
  z
    .strictObject({
      atOnce: count(1, 100_000, 'requests on their way at once').default(atOnce),
      perTenSeconds: count(1, 1_000_000, 'requests in ten seconds').default(perTenSeconds),
    })
    .prefault({});

const rate = z.strictObject({ submit: rateOf(200, 1_000), status: rateOf(400, 2_000) });

const money = (what: string) => z.number(what).positive(what);

const pricing = z.strictObject({
  perSecond: money('the price of a second of execution, a number above 0'),
  currency: z.string('a currency such as USD').min(1, 'a currency such as USD').max(12).default('USD'),
});

const timeouts = z.strictObject({
  request: durationWithin('1ms', longestWait).prefault('30s'),
  queue: durationWithin('1ms', longestWait).prefault('1h'),
  execution: durationWithin('1ms', longestWait).prefault('30m'),
});

const untilExpected = 'an hour of the day such as "07:00"';

const limits = z.strictObject({
  for: duration.optional(),
  until: z
    .string(untilExpected)
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, untilExpected)
    .optional(),
  cost: money('an amount above 0, in the currency of `pricing`').optional(),
  jobs: count(1, 1_000_000_000, 'submissions of the batch').optional(),
  body: sizeWithin('1kB', '500MB').prefault('64MB'),
  memory: sizeWithin('1MB', '100GB').prefault('64MB'),
  pixels: count(1, 1_000_000_000, 'pixels of one picture').default(100_000_000),
});

const check = z.strictObject({
  blank: z.boolean('true or false').default(false),
  minSide: count(1, 1_000_000, 'pixels of the shorter side of a picture').optional(),
});

const shutdown = z.strictObject({ grace: duration.prefault('10s') });

const terminal = z.strictObject({
  json: z.boolean('true or false').default(false),
  quiet: z.boolean('true or false').default(false),
  stats: z.boolean('true or false').default(false),
});

/** The keys that hold keys. */
export const sections = {
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
  shutdown,
  terminal,
};

const configShape = z.strictObject({
  manifest: z.union([path, z.array(path, paths).min(1, paths)], paths),
  endpoint,
  // YAML gives JSON here; a record of zod would lose keys such as __proto__ without a word.
  input: z.custom<JsonObject>(isFilled, 'what each job is sent: at least one key with its value').optional(),
  concurrency: count(1, 10_000, 'jobs in flight').default(16),
  output,
  retry: retry.prefault({}),
  polling: polling.prefault({}),
  halt: halt.prefault({}),
  rate: rate.prefault({}),
  timeouts: timeouts.prefault({}),
  pricing: pricing.optional(),
  limits: limits.prefault({}),
  check: check.prefault({}),
  shutdown: shutdown.prefault({}),
  terminal: terminal.prefault({}),
  skipBadRows: z.boolean('true or false').default(false),
});

export const configSchema = configShape.superRefine(({ limits: { cost }, pricing: price }, context) => {
  if (cost === undefined || price !== undefined) return;
  const message = 'pricing.perSecond as well: without a price nobody knows what was spent';
  context.addIssue({ code: 'custom', path: ['limits', 'cost'], message });
});

export type RawConfig = z.output<typeof configShape>;

function isFilled(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0;
}

/** Undefined where nothing is wrong with it. */
export function baseUrlExpected(text: string): string | undefined {
  if (text === 'local') return undefined;
  if (!/^https?:\/\/[^\s\\]+$/i.test(text)) return '`local`, or a URL that begins with http:// or https://';
  if (/[?#]/.test(text)) return 'a URL without ? and #';
  if (!URL.canParse(text)) return '`local` or an http(s) URL';
  // Also an empty user name is one, and URLs do not tell.
  if (/^https?:\/\/[^/]*@/i.test(text))
    return 'a URL without user name and password; the key belongs in apiKey';
  return undefined;
}

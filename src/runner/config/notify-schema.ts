/** The key `notify` of pipeline.yaml: who is notified of a run, and of what. */
import { z } from 'zod';
import type { NoticeRules, NoticeTarget } from '../core/notices.ts';
import { count, durationWithin, longestWait } from '../../lib/yaml/scalar-schemas.ts';

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

type Target = z.output<typeof notifyTarget>;

export function noticeTarget(target: Target): NoticeTarget {
  for (const kind of ['ping', 'slack', 'webhook', 'command'] as const) {
    const to = target[kind];
    if (to !== undefined) return { kind, to, rules: rulesOf(target.on ?? defaults[kind]) };
  }
  throw new Error('a target without an address was let in');
}

type Occasions = NonNullable<Target['on']>;

/** A monitor that hears of no start cannot tell how long a run took. */
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

/** The keys `pricing` and `limits` of pipeline.yaml: what the work costs, and what a run may take. */
import { z } from 'zod';
import { count, money, duration, sizeWithin } from '../../lib/yaml/scalar-schemas.ts';

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

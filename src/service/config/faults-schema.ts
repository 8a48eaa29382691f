/** Every key of faults.yaml, with its default. A message says what was expected. */
import { z } from 'zod';
import { didYouMean } from '../../lib/text/closest.ts';
import { faultPlaces, type FaultPlace } from '../faults/fault-settings.ts';
import { faultTable } from '../faults/fault-table.ts';
import type { Layout } from '../../lib/yaml/check-shape.ts';
import { count, duration, durationWithin, longestWait } from '../../lib/yaml/scalar-schemas.ts';

const shareExpected = 'a share such as 2% or 0.5%, above 0% and up to 100%';

/** Read as a number from 0 to 1. */
const share = z
  .string(shareExpected)
  .meta({ pattern: String.raw`^\s*\d+(\.\d+)?\s*%\s*$` })
  .transform((text, context) => {
    const percent = Number(/^\s*(\d+(?:\.\d+)?)\s*%\s*$/.exec(text)?.[1]);
    if (percent > 0 && percent <= 100) return percent / 100;
    context.addIssue({ code: 'custom', message: shareExpected });
    return z.NEVER;
  });

const times = z.strictObject({
  late: durationWithin('1ms', longestWait)
    .prefault('5s')
    .describe('how late a late answer is, and how long a dripping one takes'),
  slow: duration.prefault('1m').describe('how much longer a slow job seems to take'),
  fresh: duration.prefault('10s').describe('how long a job that is not known at first stays unknown'),
});

const things: Record<FaultPlace, string> = {
  submit: 'submissions',
  status: 'status requests',
  job: 'jobs',
  everything: 'all requests of clients',
};

const ratesOf = (place: FaultPlace) =>
  z
    .union(
      [share, z.strictObject(sharesOf(place)).superRefine(checkSum)],
      `${shareExpected}, of any fault, or faults with a share each such as {${faultTable[place][0]?.name}: 2%}`,
    )
    .optional()
    .describe(
      `of ${things[place]}: a share for each fault by its name, or one share for all of them together that a client can get around, evenly`,
    );

const rates = z.strictObject({
  submit: ratesOf('submit'),
  status: ratesOf('status'),
  job: ratesOf('job'),
  everything: ratesOf('everything'),
});

const nthExpected = 'a number from 1, or a range such as 3..5';

const nth = z
  .union([count(1, 1e9, nthExpected), z.string().regex(/^\s*\d{1,9}\s*\.\.\s*\d{1,9}\s*$/)], nthExpected)
  .transform((value, context) => {
    if (typeof value === 'number') return { first: value, last: value };
    const [first = 0, last = 0] = value.split('..').map(Number);
    if (first >= 1 && last >= first) return { first, last };
    context.addIssue({ code: 'custom', message: nthExpected });
    return z.NEVER;
  });

const allNames = [...new Set(faultPlaces.flatMap((place) => faultTable[place].map(({ name }) => name)))];

const scripted = z
  .strictObject({
    at: z.enum(faultPlaces, faultPlaces.join(', ')).describe('where it is met'),
    fault: z.string('the name of a fault').meta({ enum: allNames }).describe('what is met'),
    nth: nth.optional().describe('only the so many-th of its place since the start, such as 3 or 3..5'),
    job: count(1, 1e9, 'the number of a job in the order of acceptance since the start')
      .optional()
      .describe('only requests about the job that was accepted as the so many-th since the start'),
    match: z
      .string('a text')
      .min(1, 'a text that is not empty')
      .optional()
      .describe('only jobs with this text in their input'),
    after: duration.prefault('0s').describe('only from so long after the start'),
    for: durationWithin('1ms', longestWait).optional().describe('only for so long from then'),
  })
  .superRefine(({ at, fault, job, match }, context) => {
    const report = (key: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [key], message });
    if (!faultTable[at].some(({ name }) => name === fault)) report('fault', faultExpected(at, fault));
    if (match !== undefined && at !== 'job') report('match', 'it with `at: job` only');
    if (job !== undefined && (at === 'job' || at === 'submit'))
      report('job', 'it with `at: status` or `at: everything`; a job itself is told by nth or match');
  });

export const faultsSchema = z.strictObject({
  seed: count(0, 2 ** 32 - 1, 'a seed')
    .default(1)
    .describe('the same seed and the same requests in the same order meet the same faults'),
  times: times.prefault({}).describe('how long what takes long takes'),
  rates: rates.prefault({}).describe('how much goes wrong by chance'),
  script: z
    .array(scripted, 'a list of faults such as [{at: submit, nth: 3, fault: reset}]')
    .default([])
    .describe('what goes wrong when; the first entry that fits is met, before the rates'),
});

const ratesByPlace = faultPlaces.map((place) => [`rates.${place}`, { shape: sharesOf(place) }] as const);

export const faultsLayout: Layout = {
  sections: { times, script: scripted, rates, ...Object.fromEntries(ratesByPlace) },
  shapeAt: ([section, key]) => {
    if (section === 'times') return times.shape;
    if (section === 'script' && key !== undefined) return scripted.shape;
    if (section !== 'rates') return faultsSchema.shape;
    const place = faultPlaces.find((each) => each === key);
    return place === undefined ? rates.shape : sharesOf(place);
  },
};

function sharesOf(place: FaultPlace): Record<string, z.ZodOptional<typeof share>> {
  return Object.fromEntries(
    faultTable[place].map(({ name, says }) => [name, share.optional().describe(says)]),
  );
}

function checkSum(shares: Record<string, number | undefined>, context: z.RefinementCtx): void {
  const sum = Object.values(shares).reduce<number>((total, each) => total + (each ?? 0), 0);
  // Shares such as 0.1 do not add up exactly.
  if (sum > 1 + 1e-9) context.addIssue({ code: 'custom', message: 'shares of at most 100% together' });
}

function faultExpected(at: FaultPlace, fault: string): string {
  const names = faultTable[at].map(({ name }) => name);
  const place = faultPlaces.find((each) => faultTable[each].some(({ name }) => name === fault));
  if (place !== undefined) return `a fault of \`${at}\` (${fault} is one of \`${place}\`)`;
  return `a fault of \`${at}\`: ${didYouMean(fault, names) ?? names.join(', ')}`;
}

/** Schemas for durations (`30s`, `30m`, `2h`), sizes (`64MB`), paths and URLs, as people write them. */
import { z } from 'zod';

const msPerUnit = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);
const bytesPerUnit = new Map([
  ['B', 1],
  ['kB', 1e3],
  ['KB', 1e3],
  ['MB', 1e6],
  ['GB', 1e9],
  ['KiB', 2 ** 10],
  ['MiB', 2 ** 20],
  ['GiB', 2 ** 30],
]);

/** Maximum wait that fits into a timer. */
export const longestWait = '20d';

/** Returns a schema for a text such as `30s`, read as ms. The bounds are inclusive and have the same form. */
export function durationWithin(min: string, max: string) {
  const expected = `a duration from ${min} to ${max}, such as 30s, 5m or 2h`;
  return quantity(msPerUnit, min, max, expected, durationText);
}

/** Returns a schema for a text such as `64MB`, read as bytes. The bounds are inclusive and have the same form. */
export function sizeWithin(min: string, max: string) {
  const expected = `a size from ${min} to ${max}, such as 500kB, 64MB or 128MiB`;
  return quantity(bytesPerUnit, min, max, expected, sizeText);
}

function quantity(
  units: Map<string, number>,
  min: string,
  max: string,
  expected: string,
  textOf: (amount: number) => string,
) {
  const pattern = String.raw`^\s*\d+(\.\d+)?\s*(${[...units.keys()].join('|')})\s*$`;
  return z.codec(z.string(expected).meta({ pattern }), z.number(), {
    decode: (text, context) => {
      const found = amountOf(text, units);
      if (found >= amountOf(min, units) && found <= amountOf(max, units)) return found;
      context.issues.push({ code: 'custom', message: expected, input: text });
      return z.NEVER;
    },
    encode: textOf,
  });
}

/** Returns NaN if the text is no amount. */
function amountOf(text: string, units: Map<string, number>): number {
  const [, digits = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*$/.exec(text) ?? [];
  return Math.round(Number(digits) * (units.get(unit) ?? Number.NaN));
}

/** Schema for a text such as `30s`, read as ms. */
export const duration = durationWithin('0s', longestWait);

/** Returns the duration as people write it, exact to the ms: `10m`, `24h`, `90s`. */
export function durationText(ms: number): string {
  // One day is written as 24 hours, and several as days.
  const units = [...msPerUnit].toReversed().filter(([unit]) => unit !== 'd' || ms > 86_400_000);
  const [unit, size] = units.find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

/** Returns the size as people write it, exact to the byte: `8GB`, `128MiB`. */
export function sizeText(bytes: number): string {
  const texts = [...bytesPerUnit]
    .filter(([unit, size]) => unit !== 'KB' && bytes % size === 0)
    .map(([unit, size]) => `${bytes / size}${unit}`);
  return texts.reduce((shortest, text) => (text.length <= shortest.length ? text : shortest));
}

export const count = (min: number, max: number, what: string) => {
  const expected = `${what}, a whole number from ${min} to ${max}`;
  return z.int(expected).min(min, expected).max(max, expected);
};

export const path = z.string('a path').min(1, 'a path');

/** Schema for an argument of a program. C ends a string at a NUL. */
export const programText = z
  .string('a text')
  .max(100_000, 'a text of at most 100000 characters')
  .refine((given) => !given.includes('\0'), 'a text without NUL characters');

export const filePath = programText.min(1, 'a path');

/** Returns a schema for the URL of a service, with or without a path. */
export function address(expected: string) {
  return z
    .string(expected)
    .regex(/^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/, expected)
    .refine((text) => URL.canParse(text), expected);
}

export const flag = z.boolean('true or false').default(false);

export const money = (what: string) => z.number(what).positive(what);

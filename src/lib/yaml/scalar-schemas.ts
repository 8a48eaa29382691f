/** Durations (`30s`, `30m`, `2h`) and sizes (`64MB`), as people write them. */
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

/** Longer waits than this do not fit into a timer. */
export const longestWait = '20d';

/** A text such as `30s`, within bounds written likewise, read as ms. */
export function durationWithin(min: string, max: string) {
  return quantity(msPerUnit, min, max, `a duration from ${min} to ${max}, such as 30s, 5m or 2h`);
}

/** A text such as `64MB`, within bounds written likewise, read as bytes. */
export function sizeWithin(min: string, max: string) {
  return quantity(bytesPerUnit, min, max, `a size from ${min} to ${max}, such as 500kB, 64MB or 128MiB`);
}

function quantity(units: Map<string, number>, min: string, max: string, expected: string) {
  const pattern = String.raw`^\s*\d+(\.\d+)?\s*(${[...units.keys()].join('|')})\s*$`;
  const written = z.string(expected).meta({ pattern });
  return written.transform((text, context) => {
    const found = amountOf(text, units);
    if (found >= amountOf(min, units) && found <= amountOf(max, units)) return found;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

/** NaN where it cannot be read. */
function amountOf(text: string, units: Map<string, number>): number {
  const [, digits = '', unit = ''] = /^\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*$/.exec(text) ?? [];
  return Math.round(Number(digits) * (units.get(unit) ?? Number.NaN));
}

/** A text such as `30s`, read as ms. */
export const duration = durationWithin('0s', longestWait);

/** As people write it, to the ms: `10m`, `24h`, `90s`. */
export function durationText(ms: number): string {
  // One day is written as 24 hours, several as days.
  const units = [...msPerUnit].toReversed().filter(([unit]) => unit !== 'd' || ms > 86_400_000);
  const [unit, size] = units.find(([, each]) => ms % each === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}

/** As people write it, to the byte: `8GB`, `128MiB`. */
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
export const flag = z.boolean('true or false').default(false);

export const money = (what: string) => z.number(what).positive(what);

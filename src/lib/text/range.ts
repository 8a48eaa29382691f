/** Ranges as people write them: `1..10`, `1..100 step 5`, `10..1`, `0.5..2 step 0.5`. */

export type Range =
  | { values: number[] }
  /** Form of a valid range, in words that follow "expected". */
  | { expected: string };

/** Maximum number of values in a list or range, because each is held in memory. */
export const maxValues = 100_000;

const number = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?`;
export const rangePattern = String.raw`^\s*(${number})\s*\.\.\s*(${number})(?:\s+step\s+(${number}))?\s*$`;
const range = new RegExp(rangePattern);

/** Reads a range, both ends included if the steps meet them; undefined for other text. May count down. */
export function readRange(text: string): Range | undefined {
  const found = range.exec(text);
  if (found === null) return undefined;
  const [, first = '', last = '', stepped = '1'] = found;
  const places = Math.max(...[first, last, stepped].map(placesOf));
  const [from, to, step] = [first, last, stepped].map((each) => scaled(each, places)) as Whole;
  if (step <= 0n) return { expected: 'a step above 0; 10..1 counts down anyway' };
  if ([from, to, step].some((each) => each > maxExact || each < -maxExact))
    return { expected: 'numbers of at most 15 digits' };
  const count = (to > from ? to - from : from - to) / step + 1n;
  if (count > BigInt(maxValues))
    return {
      expected: `at most ${maxValues.toLocaleString('en')} values; put a longer list into a manifest`,
    };
  const signed = to < from ? -step : step;
  // Built from digits, each is the number as written. Adding 0.1 ten times does not give 1.
  const valueAt = (index: number): number => Number(`${from + BigInt(index) * signed}e-${places}`);
  return { values: Array.from({ length: Number(count) }, (_, index) => valueAt(index)) };
}

/** True if the text is a range. Within a list it would be a text, which is never intended. */
export function isRange(text: string): boolean {
  return range.test(text);
}

type Whole = [from: bigint, to: bigint, step: bigint];

const maxExact = 10n ** 15n;

function placesOf(text: string): number {
  return text.split('.')[1]?.length ?? 0;
}

/** Returns the number times ten to the power of `places`. */
function scaled(text: string, places: number): bigint {
  const [whole = '', part = ''] = text.split('.');
  return BigInt(whole + part.padEnd(places, '0'));
}

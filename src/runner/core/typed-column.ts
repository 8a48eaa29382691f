/** Values of a column that is declared with a type: read strictly and exactly, or rejected. */
import { readExactJson, type JsonValue } from '../../lib/text/json.ts';

export const columnTypes = ['number', 'boolean', 'json'] as const;

export type ColumnType = (typeof columnTypes)[number];

export type TypedValue =
  | { value: JsonValue }
  /** Description of a valid value, which follows the word "expected". */
  | { expected: string };

/**
 * Converts a value to the type. Spaces around a text are ignored, and an empty text is null. A value that
 * already has a type, as in JSON Lines, is accepted if the type matches.
 */
export function typedColumn(value: JsonValue, type: ColumnType): TypedValue {
  const given = typeof value === 'string' ? value.trim() : value;
  if (given === '' || given === null) return { value: null };
  return readers[type](given);
}

const readers: Record<ColumnType, (given: JsonValue) => TypedValue> = {
  number: readNumber,
  boolean: readBoolean,
  json: readJson,
};

/** Numbers as in JSON. 030, +5, .5, 0x10 and NaN are rejected. */
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readNumber(given: JsonValue): TypedValue {
  if (typeof given === 'number') return { value: given };
  if (typeof given !== 'string' || !jsonNumber.test(given))
    return { expected: 'a number such as 30, -1.5 or 1e3' };
  if (!isExact(given))
    return {
      expected:
        'a number that keeps every digit (2^53 at most); a column that is not declared is sent as text',
    };
  // Adding 0 turns minus zero into zero, because JSON has no minus zero.
  return { value: Number(given) + 0 };
}

function isExact(text: string): boolean {
  const number = Number(text);
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(number);
  return Number.isFinite(number) && digitsOf(text) === digitsOf(String(number));
}

/** Returns a canonical spelling of a number: digits without leading and trailing zeros, and a power of ten. */
function digitsOf(text: string): string {
  const [, whole = '', part = '', power = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  return kept === '' ? '0' : `${kept}e${Number(power) - part.length + digits.length - kept.length}`;
}

/** Ignores case, because spreadsheets write TRUE. */
function readBoolean(given: JsonValue): TypedValue {
  if (typeof given === 'boolean') return { value: given };
  const text = typeof given === 'string' ? given.toLowerCase() : '';
  return text === 'true' || text === 'false' ? { value: text === 'true' } : { expected: 'true or false' };
}

function readJson(given: JsonValue): TypedValue {
  if (typeof given !== 'string') return { value: given };
  const { value, problem } = readExactJson(given);
  if (value !== undefined && problem === undefined) return { value };
  return { expected: `JSON, such as {"scale": 0.8} or [1, 2]; it ${problem ?? 'is none'}` };
}

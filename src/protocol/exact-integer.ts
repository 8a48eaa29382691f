/** Integers in all their digits, of a value and of JSON in a text. */

/** The digits of a number or a numeric text, or nothing where they are not known exactly. */
export function exactInteger(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  if (typeof value !== 'string') return undefined;
  return /^\s*(-?\d{1,40})(?:\.0+)?\s*$/.exec(value)?.[1];
}

/** No worker writes longer JSON into a text. */
const maxJsonLength = 1_000_000;

/** JSON with its long integers as text, since `JSON.parse` rounds them; undefined where it is none. */
export function parseExactly(text: string): unknown {
  if (text.length > maxJsonLength) return undefined;
  try {
    // The pattern takes quadratic time on what is no JSON.
    JSON.parse(text);
    return JSON.parse(text.replaceAll(stringOrNumber, quoteLongInteger)) as unknown;
  } catch {
    return undefined;
  }
}

const stringOrNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

function quoteLongInteger(token: string): string {
  return /^-?\d{16,}$/.test(token) ? `"${token}"` : token;
}

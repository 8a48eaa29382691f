/** JSON bodies, with integers of any size kept exactly. */
import { isJsonObject } from '../../lib/text/json.ts';

/** No worker nests deeper or sends more values; parsing and reading what does could take all memory, or minutes. */
const maxDepth = 100;
const maxValues = 1_000_000;

/** The body as an object, or undefined where it is no JSON object. Integers that a number would round come as text. */
export function parseObject(body: string): Record<string, unknown> | undefined {
  const value = parseJson(body);
  return isJsonObject(value) ? value : undefined;
}

/** As above, of any JSON. */
export function parseJson(body: string): unknown {
  const json = prepare(body);
  if (json === undefined) return undefined;
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * The body with its long integers in quotes, or undefined where it is beyond the bounds. Goes from string to string,
 * so that megabytes of picture are stepped over and not looked at.
 */
function prepare(body: string): string | undefined {
  const parts: string[] = [];
  let kept = 0;
  const shape = { depth: 0, commas: 0 };
  for (let at = 0; at < body.length;) {
    const open = body.indexOf('"', at);
    const end = open === -1 ? body.length : open;
    if (!staysWithinBounds(shape, body, at, end)) return undefined;
    const between = end - at < shortestLong ? '' : body.slice(at, end);
    const quoted = between.replaceAll(/-?\d[\d.eE+-]*/g, quoteLongInteger);
    if (quoted !== between) {
      parts.push(body.slice(kept, at), quoted);
      kept = end;
    }
    at = open === -1 ? end : endOfString(body, open);
  }
  return parts.length === 0 ? body : [...parts, body.slice(kept)].join('');
}

/** Counts on in `shape` what stands between two strings. */
function staysWithinBounds(
  shape: { depth: number; commas: number },
  body: string,
  start: number,
  end: number,
): boolean {
  for (let at = start; at < end; at++) {
    const code = body.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) shape.depth += 1;
    else if (code === 0x5d || code === 0x7d) shape.depth -= 1;
    else if (code === 0x2c) shape.commas += 1;
    if (shape.depth > maxDepth) return false;
  }
  return shape.commas < maxValues;
}

/** Digits of the smallest integer that a number cannot hold exactly, and of the longest that is kept. */
const shortestLong = 16;
const longestLong = 40;

function quoteLongInteger(number: string): string {
  const isInteger = number.length <= longestLong && /^-?\d+$/.test(number);
  return isInteger && !Number.isSafeInteger(Number(number)) ? `"${number}"` : number;
}

function endOfString(body: string, open: number): number {
  for (let close = body.indexOf('"', open + 1); close !== -1; close = body.indexOf('"', close + 1)) {
    if (!isEscaped(body, close)) return close + 1;
  }
  return body.length;
}

function isEscaped(body: string, at: number): boolean {
  let backslashes = 0;
  while (body.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes += 1;
  return backslashes % 2 === 1;
}

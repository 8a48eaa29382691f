/** The body of a submission, read once into what the service keeps of it. */

export type ReadRunRequest =
  | { kind: 'read'; /** JSON text of an object that is not empty. */ input: string }
  | { kind: 'refused'; why: string };

/** Other keys than `input` belong to operations this service does not have, and are ignored. */
export function readRunRequest(bytes: Buffer): ReadRunRequest {
  const body = parse(bytes);
  if (body === undefined) return { kind: 'refused', why: 'the body is not JSON' };
  if (!isObject(body)) return { kind: 'refused', why: 'the body is not an object' };
  const input = body['input'];
  if (!isObject(input)) return { kind: 'refused', why: 'the body has no object "input"' };
  if (Object.keys(input).length === 0) return { kind: 'refused', why: 'the object "input" is empty' };
  const text = stringify(input);
  if (text === undefined) return { kind: 'refused', why: 'the object "input" is nested too deeply' };
  return { kind: 'read', input: text };
}

/** Undefined for what is no JSON in UTF-8; no JSON text stands for undefined. */
function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Undefined where the stack does not reach to the innermost value; `parse` has no such bound. */
function stringify(input: Record<string, unknown>): string | undefined {
  try {
    return JSON.stringify(input);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

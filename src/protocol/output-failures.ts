/** Tells where a completed job's output is the report of a failure, and what it says. */
import { describeValue } from './describe-value.ts';
import { errorText } from './error-text.ts';
import { exactInteger, parseExactly } from './exact-integer.ts';
import { isNothing, isRecord } from './json-value.ts';

const failureWords =
  /^(?:error|errored|fail|failed|failure|success_no_images|cancell?ed|timeout|timed_?out)$/i;

/** What an output says whose own status is a failure, picture or no picture. */
export function declaredFailure(output: unknown): string | undefined {
  const sole: unknown = Array.isArray(output) && output.length === 1 ? output[0] : output;
  if (!isRecord(sole) || typeof sole['status'] !== 'string' || !failureWords.test(sole['status']))
    return undefined;
  return errorText(sole) ?? `the worker says "${sole['status']}" and nothing more`;
}

const deepest = 6;
const longestList = 20;
const soundsBad =
  /error|exception|traceback|fail|out of memory|unable|cannot|could not|invalid|not found|refused/i;

/** What an output says that holds no picture, where that is a complaint. */
export function complaintOf(output: unknown, depth = 0): string | undefined {
  if (depth > deepest) return undefined;
  if (typeof output === 'string') return complaintOfText(output, depth);
  if (Array.isArray(output))
    return errorText(output.slice(0, longestList).map((part: unknown) => complaintOf(part, depth + 1)));
  return isRecord(output) ? complaintOfObject(output) : undefined;
}

function complaintOfText(text: string, depth: number): string | undefined {
  const inner = /^\s*[[{]/.test(text) ? parseExactly(text) : undefined;
  if (inner !== undefined) return complaintOf(inner, depth + 1);
  return soundsBad.test(text.slice(0, 2000)) ? errorText(text) : undefined;
}

/** Where a worker speaks; its other texts may be the user's own words. */
const messageKeys = ['message', 'msg', 'detail', 'details', 'reason'];

function complaintOfObject(output: Record<string, unknown>): string | undefined {
  const message = errorText(output);
  if (hasError(output)) return message ?? describeValue(output);
  if (messageKeys.some((key) => soundsBad.test(errorText(output[key]) ?? ''))) return message;
  const { images } = output;
  if (!Array.isArray(images) || images.length > 0) return undefined;
  return message ?? 'the worker made no picture: its list of images is empty';
}

function hasError(output: Record<string, unknown>): boolean {
  if (Number(exactInteger(output['code']) ?? 0) >= 400) return true;
  return Object.keys(output).some((key) => /error|traceback/i.test(key) && !isNothing(output[key]));
}

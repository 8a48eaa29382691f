/** Finds the words of a worker that returns no picture: declared failures, complaints, and other messages. */
import { isJsonObject } from '../lib/text/json.ts';
import { describeValue, isNothing, exactInteger, parseExactly } from './json-value.ts';
import { errorText } from './error-text.ts';

const failureWords =
  /^(?:error|errored|fail|failed|failure|success_no_images|cancell?ed|timeout|timed_?out)$/i;

/** Returns the message of an output whose own status is a failure, with or without a picture. */
export function declaredFailure(output: unknown): string | undefined {
  const sole = soleItem(output);
  if (!isJsonObject(sole) || typeof sole['status'] !== 'string' || !failureWords.test(sole['status']))
    return undefined;
  return errorText(sole) ?? `the worker says "${sole['status']}" and nothing more`;
}

const maxDepth = 6;
const maxListItems = 20;
const soundsBad =
  /error|exception|traceback|fail|out of memory|unable|cannot|could not|invalid|not found|refused/i;

/** Returns the message of an output without a picture, if it is a complaint. */
export function complaintOf(output: unknown, depth = 0): string | undefined {
  if (depth > maxDepth) return undefined;
  if (typeof output === 'string') return complaintOfText(output, depth);
  if (Array.isArray(output))
    return errorText(output.slice(0, maxListItems).map((part: unknown) => complaintOf(part, depth + 1)));
  return isJsonObject(output) ? complaintOfObject(output) : undefined;
}

function complaintOfText(text: string, depth: number): string | undefined {
  const inner = /^\s*[[{]/.test(text) ? parseExactly(text) : undefined;
  if (inner !== undefined) return complaintOf(inner, depth + 1);
  return soundsBad.test(text.slice(0, 2000)) ? errorText(text) : undefined;
}

/** Keys for a worker's messages. Its other texts may be the user's own words. */
const messageKeys = ['message', 'msg', 'detail', 'details', 'reason'];

function complaintOfObject(output: Record<string, unknown>): string | undefined {
  const message = errorText(output);
  if (hasError(output)) return message ?? describeValue(output);
  if (messageKeys.some((key) => soundsBad.test(errorText(output[key]) ?? ''))) return message;
  const { images } = output;
  if (!Array.isArray(images) || images.length > 0) return undefined;
  return wordsOf(output) ?? 'the worker made no picture: its list of images is empty';
}

/** Words that alone do not indicate a failure. */
const successWords = /^(?:complete|completed|done|finished|ok|okay|ready|succeeded|success|successful)$/i;

/**
 * Returns the message of an output that contains no possible result: its texts, or those of its members for
 * messages.
 */
export function wordsOf(output: unknown, depth = 0): string | undefined {
  if (depth > maxDepth) return undefined;
  const sole = soleItem(output);
  if (typeof sole === 'string') return errorText(sole);
  if (Array.isArray(sole))
    return errorText(sole.slice(0, maxListItems).map((item: unknown) => wordsOf(item, depth + 1)));
  if (!isJsonObject(sole)) return undefined;
  if (messageKeys.some((key) => errorText(sole[key]) !== undefined)) return errorText(sole);
  const flag = Object.entries(sole).find(
    ([key, value]) => flagNames.test(key) && [value].flat().includes(true),
  );
  if (flag !== undefined) return `${flag[0]}: true`;
  const { status } = sole;
  const isAlone = Object.values(sole).filter((value) => !isNothing(value)).length === 1;
  if (!isAlone || typeof status !== 'string' || successWords.test(status.trim())) return undefined;
  return errorText(status);
}

/** Names of members by which some workers report refused content: `has_nsfw_concepts: [true]`. */
const flagNames = /nsfw|moderated/i;

/** Returns the only item of a list; any other value unchanged. */
function soleItem(output: unknown): unknown {
  return Array.isArray(output) && output.length === 1 ? (output[0] as unknown) : output;
}

function hasError(output: Record<string, unknown>): boolean {
  if (Number(exactInteger(output['code']) ?? 0) >= 400) return true;
  return Object.keys(output).some((key) => /error|traceback/i.test(key) && !isNothing(output[key]));
}

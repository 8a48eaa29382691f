/** Tells success from failure, and finds the message of an error or refusal in any form that a service or worker may send, also in the output of a completed job. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject } from '../lib/text/json.ts';
import { exactInteger, isNothing, parseExactly, describeValue } from './json-value.ts';

const maxDepth = 6;
const maxListItems = 20;

/** Keys with a message, general ones first. Of each row, the first key with a message counts. */
const rows = [
  ['error_type', 'title'],
  ['error', 'errors'],
  ['error_message', 'message', 'msg', 'error_description', 'description'],
  ['detail', 'details', 'reason'],
] as const;

/** Returns the message in a text, JSON, list or object, on one line of up to 500 characters, or undefined. */
export function errorText(error: unknown): string | undefined {
  if (typeof error === 'boolean') return String(error);
  return oneLine(wordsOfError(error, 0) ?? '');
}

/** True if this HTTP status says that the request was understood and done. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** Returns the message in an HTTP body: in its JSON, a page's title, or its beginning. Undefined for an empty body. */
export function bodyText(body: string): string | undefined {
  const text = body.trim();
  const parsed = parseExactly(text);
  if (parsed !== undefined) return errorText(parsed) ?? oneLine(text);
  if (!isPage(text)) return oneLine(text);
  const title = titleOf(text);
  return title === undefined ? 'an HTML page' : `an HTML page, "${title}"`;
}

/** True if an HTTP body is an HTML page, as proxies send it in place of an answer of the service. */
export function isPage(body: string): boolean {
  return /^\s*<(!doctype|html|head|body)/i.test(body);
}

function titleOf(page: string): string | undefined {
  const [, title = ''] = /<title[^<>]*>([^<]*)/i.exec(page.slice(0, 16_384)) ?? [];
  return oneLine(title);
}

function wordsOfError(error: unknown, depth: number): string | undefined {
  if (depth > maxDepth || isNothing(error)) return undefined;
  if (typeof error === 'string') return wordsOfText(error, depth);
  if (typeof error === 'number') return String(error);
  if (Array.isArray(error)) return wordsOfList(error, depth);
  return isJsonObject(error) ? wordsOfObject(error, depth) : undefined;
}

function wordsOfText(text: string, depth: number): string | undefined {
  const parsed = /^\s*[[{"]/.test(text) ? parseExactly(text) : undefined;
  const words = parsed === undefined ? undefined : wordsOfError(parsed, depth + 1);
  if (words !== undefined) return words;
  if (/^\s*Traceback \(most recent/.test(text)) return oneLine(raisedIn(text));
  return oneLine(text.replace(/^<class '(.*)'>$/, '$1'));
}

function wordsOfList(errors: unknown[], depth: number): string | undefined {
  const words = errors.slice(0, maxListItems).flatMap((error) => wordsOfError(error, depth + 1) ?? []);
  return words.length === 0 ? undefined : [...new Set(words)].join('; ');
}

function wordsOfObject(error: Record<string, unknown>, depth: number): string | undefined {
  const [heading, ...message] = rows.map((keys) => firstWords(error, keys, depth));
  const isSilent = message.every((part) => part === undefined);
  const traceback = isSilent ? (error['error_traceback'] ?? error['traceback']) : undefined;
  const raised = typeof traceback === 'string' ? oneLine(raisedIn(traceback)) : undefined;
  const words = joined([heading, ...message, raised].filter((part) => part !== undefined));
  const code = exactInteger(error['code'] ?? error['status_code']);
  return words === '' || code === undefined ? words || undefined : `${words} (code ${code})`;
}

function firstWords(
  error: Record<string, unknown>,
  keys: readonly string[],
  depth: number,
): string | undefined {
  for (const key of keys) {
    const words = wordsOfError(error[key], depth + 1);
    if (words !== undefined) return words;
  }
  return undefined;
}

/** Joins parts as in `ValueError: bad size`, without parts that another part contains. */
function joined(parts: string[]): string {
  const news = [...new Set(parts)].filter(
    (part) => !parts.some((other) => other !== part && other.includes(part)),
  );
  return news.map((part, i) => (i < news.length - 1 ? part.replace(/[.:;]$/, '') : part)).join(': ');
}

/** Returns the end of a Python traceback: the exception after the innermost frame. */
function raisedIn(traceback: string): string {
  const lines = traceback.trim().split('\n');
  const frame = lines.findLastIndex((line) => /^\s+File "/.test(line));
  const raised = lines.findIndex((line, i) => i > frame && /^\S/.test(line));
  return lines.slice(frame === -1 ? -1 : raised).join('\n');
}

const refusals = [
  /nsfw|not safe for work|moderat(?:ed|ion)/,
  /content[ _-]?(?:check|policy|policies|filter|moderation|violation|restriction)/,
  /safety[ _-]?(?:system|check|filter|guideline|polic|setting|reason)/,
  /(?:adult|disallowed|explicit|forbidden|harmful|inappropriate|prohibited|sensitive|sexual|unsafe)[ _-](?:content|image|prompt|word|material)/,
  /violat\w* .{0,40}(?:polic|guideline|terms)|polic\w+ violation/,
];

/** Words that mean that the checker itself failed, or that are part of a name. */
const doubts = [
  /\b(?:busy|checkpoint|connect\w*|disabled|download\w*|embedding|exception|fetch\w*|import\w*|install\w*|internal|load\w*|lora|memory|missing|module|traceback|unavailable|unreachable|vae|weights)\b/,
  /\bno(?:t| such)? (?:found|file|nsfw|moderated|unsafe)|\bnon-nsfw|time[ds]?[ -]?out|try again later|rate limit|safetensors/,
  /(?:check\w*|filter|service|model|system|moderation|api) (?:has |is |was )?(?:crashed|down|errored|failed|passed)/,
];

/** True if the words mean a refusal of content (moderation, NSFW), which would be refused again. */
export function isContentRefusal(words: string): boolean {
  const text = words.toLowerCase();
  return refusals.some((pattern) => pattern.test(text)) && !doubts.some((pattern) => pattern.test(text));
}

const failureWords =
  /^(?:error|errored|fail|failed|failure|success_no_images|cancell?ed|timeout|timed_?out)$/i;

/** Returns the message of an output whose own status is a failure, with or without a picture. */
export function declaredFailure(output: unknown): string | undefined {
  const sole = soleItem(output);
  if (!isJsonObject(sole) || typeof sole['status'] !== 'string' || !failureWords.test(sole['status']))
    return undefined;
  return errorText(sole) ?? `the worker says only "${sole['status']}"`;
}

/**
 * Returns the message of an output without a picture: a complaint, or with `isAnyText` any text that is no word
 * of success.
 */
export function failureOfOutput(output: unknown, isAnyText: boolean): string | undefined {
  return complaintOf(output) ?? (isAnyText ? messageOf(output) : undefined);
}

const maxWordDepth = 6;

const maxListedWords = 20;

const soundsBad =
  /error|exception|traceback|fail|out of memory|unable|cannot|could not|invalid|not found|refused/i;

/** Returns the message of an output without a picture, if it is a complaint. */
function complaintOf(output: unknown, depth = 0): string | undefined {
  if (depth > maxWordDepth) return undefined;
  if (typeof output === 'string') return complaintOfText(output, depth);
  if (Array.isArray(output))
    return errorText(output.slice(0, maxListedWords).map((part: unknown) => complaintOf(part, depth + 1)));
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
  return messageOf(output) ?? 'the worker made no picture: its list of images is empty';
}

/** Words that alone do not indicate a failure. */
const successWords = /^(?:complete|completed|done|finished|ok|okay|ready|succeeded|success|successful)$/i;

/** Returns the message of an output without any possible result: its texts, or those of its members. */
function messageOf(output: unknown, depth = 0): string | undefined {
  if (depth > maxWordDepth) return undefined;
  const sole = soleItem(output);
  if (typeof sole === 'string') return errorText(sole);
  if (Array.isArray(sole))
    return errorText(sole.slice(0, maxListedWords).map((item: unknown) => messageOf(item, depth + 1)));
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

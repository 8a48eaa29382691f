/** Finds the message of an error or refusal in any form that a service or worker may send. */
import { oneLine } from '../lib/text/format.ts';
import { isJsonObject } from '../lib/text/json.ts';
import { exactInteger, isNothing, parseExactly } from './json-value.ts';

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

/** Returns the message in an HTTP body: in its JSON, a page's title, or its beginning. Undefined for an empty body. */
export function bodyText(body: string): string | undefined {
  const text = body.trim();
  const parsed = parseExactly(text);
  if (parsed !== undefined) return errorText(parsed) ?? oneLine(text);
  if (!/^<(!doctype|html|head|body)/i.test(text)) return oneLine(text);
  const title = titleOf(text);
  return title === undefined ? 'an HTML page' : `an HTML page, "${title}"`;
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

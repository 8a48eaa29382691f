/** The words of an error, dug out of whatever a service or worker sends as one. */

const longestText = 500;
/** Where the words may be, in the order of how much they tell. */
const textKeys = [
  'error_message',
  'message',
  'msg',
  'error',
  'detail',
  'errors',
  'error_description',
  'description',
  'error_type',
  'title',
  'reason',
] as const;

/**
 * Reads a string, a string that holds JSON, a list or an object; undefined where there are no words in it.
 * At most 500 characters, on one line.
 */
export function errorText(error: unknown, depth = 0): string | undefined {
  if (depth > 4 || error === null || error === undefined || error === '') return undefined;
  if (typeof error === 'string') return textOfString(error, depth);
  if (typeof error === 'number' || typeof error === 'boolean') return String(error);
  if (Array.isArray(error)) return firstText(error, depth);
  const object = error as Record<string, unknown>;
  return firstText(
    textKeys.map((key) => object[key]),
    depth,
  );
}

/** The words of an HTTP body: of its JSON, of a page's title, or its beginning; undefined for an empty one. */
export function bodyText(body: string): string | undefined {
  const text = body.trim();
  const parsed = parseJson(text);
  if (parsed !== undefined) return errorText(parsed) ?? oneLine(text);
  if (!/^<(!doctype|html|head|body)/i.test(text)) return oneLine(text);
  const title = titleOf(text);
  return title === undefined ? 'an HTML page' : `an HTML page, "${title}"`;
}

/** Printable, on one line and at most `longest` characters long; undefined where nothing is left. */
export function oneLine(text: string, longest = longestText): string | undefined {
  // Twice as many code units as characters, and room for white space that is taken out.
  const start = text.slice(0, 4 * longest);
  const characters = Array.from(start.replaceAll(/[\s\p{C}]+/gu, ' ').trim());
  if (characters.length === 0) return undefined;
  if (characters.length <= longest && start.length === text.length) return characters.join('');
  return `${characters.slice(0, longest - 1).join('')}…`;
}

function titleOf(page: string): string | undefined {
  const [, title = ''] = /<title[^<>]*>([^<]*)/i.exec(page.slice(0, 16_384)) ?? [];
  return oneLine(title);
}

function firstText(values: unknown[], depth: number): string | undefined {
  for (const value of values.slice(0, 20)) {
    const text = errorText(value, depth + 1);
    if (text !== undefined) return text;
  }
  return undefined;
}

function textOfString(text: string, depth: number): string | undefined {
  const parsed = /^\s*[[{"]/.test(text) ? parseJson(text) : undefined;
  return (parsed === undefined ? undefined : errorText(parsed, depth + 1)) ?? oneLine(text);
}

/** Words are not looked for in what is longer. */
const longestJson = 1_000_000;

function parseJson(text: string): unknown {
  if (text.length > longestJson) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

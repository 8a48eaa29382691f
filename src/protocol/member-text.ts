/** Returns a member of a JSON object as written, so that integers beyond 2^53 keep their digits. */

/**
 * Returns the text of the last member with this name at the top level of `json`; undefined if there is none.
 * `json` must be a valid object, and `name` must not need escaping.
 */
export function memberText(json: string, name: string): string | undefined {
  let found: string | undefined;
  let at = skipSpace(json, json.indexOf('{') + 1);
  while (json[at] === '"') {
    const keyEnd = endOfString(json, at);
    const start = skipSpace(json, skipSpace(json, keyEnd) + 1);
    const end = endOfValue(json, start);
    if (isName(json.slice(at, keyEnd), name)) found = json.slice(start, end);
    at = skipSpace(json, end);
    if (json[at] === ',') at = skipSpace(json, at + 1);
  }
  return found;
}

/** True if the text is the name, which may be written with escapes. */
function isName(written: string, name: string): boolean {
  return written === `"${name}"` || (written.includes('\\') && JSON.parse(written) === name);
}

function endOfValue(json: string, start: number): number {
  if (json[start] === '"') return endOfString(json, start);
  if (json[start] !== '{' && json[start] !== '[') return endOfWord(json, start);
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const letter = json[at];
    if (letter === '"') at = endOfString(json, at) - 1;
    else if (letter === '{' || letter === '[') depth += 1;
    else if (letter === '}' || letter === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return json.length;
}

/** Returns the index after the closing quotation mark. */
function endOfString(json: string, start: number): number {
  for (let at = start + 1; ;) {
    const quote = json.indexOf('"', at);
    if (quote === -1) return json.length;
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function endOfWord(json: string, start: number): number {
  let at = start;
  while (at < json.length && !/[\s,}\]]/.test(json[at] ?? '')) at += 1;
  return at;
}

function skipSpace(json: string, start: number): number {
  let at = start;
  while (/\s/.test(json[at] ?? '.')) at += 1;
  return at;
}

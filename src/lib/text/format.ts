/** Formats text for people: durations, counts, words of a shell command, and parts of URLs. */

/** Returns a duration such as `8 s`, `3 min 20 s` or `2 h 5 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Returns a part of a URL decoded. Empty, which names nothing, if it is not valid. */
export function decodedPart(encoded: string): string {
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return '';
  }
}

/** Returns the text as one word of a shell command, quoted if needed. */
export function shellWord(text: string): string {
  return /^[\p{L}\p{N}_./:@%+,=-]+$/u.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

const maxTextLength = 500;

/** Returns the text printable, on one line and at most `maxLength` characters long; undefined if nothing remains. */
export function oneLine(text: string, maxLength = maxTextLength): string | undefined {
  const whole = text.trim();
  // Allows for two code units per character, and for white space that is removed.
  const start = whole.slice(0, 4 * maxLength);
  const characters = Array.from(start.replaceAll(/[\s\p{C}]+/gu, ' ').trim());
  if (characters.length === 0) return undefined;
  if (characters.length <= maxLength && start.length === whole.length) return characters.join('');
  const kept = characters.slice(0, maxLength - 1).join('');
  return `${kept.trimEnd()}…`;
}

/** Returns `1 scene` or `1,200 scenes`. `many`: the word for any number but one. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

export function formatCounts(named: [count: number, name: string][], separator = ', '): string {
  return named
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count.toLocaleString('en')} ${name}`)
    .join(separator);
}

/** Returns local time, to the second. */
export function formatInstant(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Text for people: durations, and words of a shell command. */

/** `8 s`, `3 min 20 s`, `2 h 5 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A text as one word of a shell command, quoted where needed. */
export function shellWord(text: string): string {
  return /^[\p{L}\p{N}_./:@%+,=-]+$/u.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

const maxTextLength = 500;

/** Printable, on one line and at most `longest` characters long; undefined where nothing is left. */
export function oneLine(text: string, longest = maxTextLength): string | undefined {
  const whole = text.trim();
  // Twice as many code units as characters, and room for white space that is taken out.
  const start = whole.slice(0, 4 * longest);
  const characters = Array.from(start.replaceAll(/[\s\p{C}]+/gu, ' ').trim());
  if (characters.length === 0) return undefined;
  if (characters.length <= longest && start.length === whole.length) return characters.join('');
  const kept = characters.slice(0, longest - 1).join('');
  return `${kept.trimEnd()}…`;
}

/** `1 scene`, `1,200 scenes`; `many`: the word for any number but one. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** `12 saved, 3 failed`: those that are not 0, each before its name. */
export function formatCounts(named: [count: number, name: string][], separator = ', '): string {
  return named
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${count.toLocaleString('en')} ${name}`)
    .join(separator);
}

/** Local time, to the second. */
export function formatInstant(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A command line as people type it, cut into its words: quotes and backslashes as in a shell, and nothing else of one. */

/** Undefined where a quote is not closed. */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = [];
  const word = /\s+|((?:[^\s'"\\]|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*")+)/y;
  while (word.lastIndex < line.length) {
    const match = word.exec(line);
    if (match === null) return undefined;
    if (match[1] !== undefined) words.push(unquoted(match[1]));
  }
  return words;
}

/** A line that is cut into the same words. */
export function joinWords(words: string[]): string {
  return words
    .map((word) => (/^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`))
    .join(' ');
}

function unquoted(word: string): string {
  return word.replaceAll(
    /'([^']*)'|"((?:[^"\\]|\\[^])*)"|\\([^])/g,
    (_, single?: string, double?: string, escaped?: string) =>
      single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped ?? '',
  );
}

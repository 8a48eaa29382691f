/** Splits a command line into words and joins them, with the quotes and backslashes of a shell but no expansions. */

/** Returns the words of a line, or undefined if a quote is not closed. */
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

/** Quotes words so that `splitWords` returns the same ones. */
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

/** A text as one word of a shell's command line, for commands that people copy. */

export function shellWord(text: string): string {
  return /^[\p{L}\p{N}_./:@%+,=-]+$/u.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A text as one word of a shell's command line, for commands that people copy. */

export function shellWord(text: string): string {
  // Nothing that a shell or the command itself takes for something else at the beginning.
  return /^[\p{L}\p{N}_./:@%+,][\p{L}\p{N}_./:@%+,=-]*$/u.test(text)
    ? text
    : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What conditions call the columns of a batch. */

/** What every scene has. */
export const sceneNames = [
  'id',
  'state',
  'kind',
  'attempts',
  'prompt',
  'seed',
  'labelled_words',
  'ignored_words',
] as const;

/** A column with a name that every scene has is `manifest.` and its name, as in results.csv. */
export function conditionName(column: string): string {
  return sceneNames.some((name) => name === column) ? `manifest.${column}` : column;
}

const plainWord = /^(?!(?:and|or|not|contains|true|false)$)[\p{L}_][\p{L}\p{M}\p{N}_.-]*$/iu;

/** As it is written in a condition. */
export function quotedName(name: string): string {
  return plainWord.test(name) ? name : `[${name.replaceAll(']', ']]')}]`;
}

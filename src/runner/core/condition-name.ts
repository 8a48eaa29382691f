/** Names that conditions use for the columns of a batch. */

/** Names that every scene has, whatever the columns of its list. */
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

/**
 * Returns the name of a column in conditions: `manifest.<column>` if every scene already has that name, as in
 * results.csv.
 */
export function conditionName(column: string): string {
  return sceneNames.some((name) => name === column) ? `manifest.${column}` : column;
}

const plainWord = /^(?!(?:and|or|not|contains|true|false)$)[\p{L}_][\p{L}\p{M}\p{N}_.-]*$/iu;

/** Returns the name as it is written in a condition: in square brackets unless it is a plain word. */
export function quotedName(name: string): string {
  return plainWord.test(name) ? name : `[${name.replaceAll(']', ']]')}]`;
}

/** Reads lists in which a worker reports on the words of a picture, shortened to what is worth keeping. */
import { oneLine } from '../lib/text/format.ts';

const wordLists = ['labelled_words', 'ignored_words', 'notes'] as const;

export type WordLists = Partial<Record<(typeof wordLists)[number], string[]>>;

/** Maximum bytes of all lists together, as JSON in UTF-8. */
const maxKeptBytes = 2_000;
/** Maximum items of a list, including those that are no texts. */
const maxItems = 1_000;
/** Maximum characters of a text. */
const maxTextLength = 200;

/**
 * Returns each list from the first of `owners` that has it, without items that are no texts or exceed the
 * limits. Undefined if there is no list.
 */
export function readWordLists(owners: readonly Record<string, unknown>[]): WordLists | undefined {
  const lists: WordLists = {};
  let left = maxKeptBytes;
  for (const name of wordLists) {
    const found: unknown = owners.map((owner) => owner[name]).find((value) => Array.isArray(value));
    if (!Array.isArray(found)) continue;
    const kept: string[] = (lists[name] = []);
    left -= Buffer.byteLength(JSON.stringify({ [name]: kept }));
    for (const item of found.slice(0, maxItems) as unknown[]) {
      const text = typeof item === 'string' ? oneLine(item, maxTextLength) : undefined;
      if (text === undefined) continue;
      left -= Buffer.byteLength(JSON.stringify(text)) + 1;
      if (left < 0) break;
      kept.push(text);
    }
  }
  return Object.keys(lists).length === 0 ? undefined : lists;
}

/** True if the member is one of these lists. */
export function isWordList(key: string, value: unknown): boolean {
  return Array.isArray(value) && wordLists.some((name) => name === key);
}

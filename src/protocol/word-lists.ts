/** What a worker says of the words of a picture in lists, of which so much is read as is worth keeping. */
import { oneLine } from '../lib/text/format.ts';

const wordLists = ['labelled_words', 'ignored_words', 'notes'] as const;

export type WordLists = Partial<Record<(typeof wordLists)[number], string[]>>;

/** Bytes of all lists together, as JSON in UTF-8. */
const maxKeptBytes = 2_000;
/** Of a list, before its texts are looked at. */
const maxItems = 1_000;
/** Characters. */
const maxTextLength = 200;

/**
 * Each list from the first of `owners` that has it; what is no text, and what is beyond the most that is kept, is left out.
 * Undefined where there is no list.
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

/** Whether it is one of those lists. */
export function isWordList(key: string, value: unknown): boolean {
  return Array.isArray(value) && wordLists.some((name) => name === key);
}

/** Suggests words for a mistyped one. */

/** Returns the word that is fewest changes away; undefined if all are too different. */
export function closest(typed: string, words: Iterable<string>): string | undefined {
  return closestFew(typed, words, 1)[0];
}

/** Returns a suggestion such as `did you mean night?`; undefined if all words are too different. */
export function didYouMean(typed: string, words: Iterable<string>): string | undefined {
  const meant = closest(typed, words);
  return meant && `did you mean ${meant}?`;
}

/** Returns up to `max` words that may have been meant, the likeliest first. Fast even for a hundred thousand words. */
export function closestFew(typed: string, words: Iterable<string>, max: number): string[] {
  const lower = typed.toLowerCase();
  const maxChanges = Math.max(2, Math.floor(typed.length / 3));
  const near: { word: string; changes: number }[] = [];
  for (const word of words) {
    const changes = changesBetween(lower, word.toLowerCase(), maxChanges);
    // With as many changes as letters, any word becomes any other.
    if (changes > maxChanges || changes >= Math.max(typed.length, word.length)) continue;
    near.push({ word, changes });
  }
  return near
    .toSorted(byChanges)
    .slice(0, max)
    .map(({ word }) => word);
}

function byChanges(a: { changes: number }, b: { changes: number }): number {
  return a.changes - b.changes;
}

/** Returns the number of letters to insert, remove or replace. Stops counting beyond `max`. */
function changesBetween(from: string, to: string, max: number): number {
  if (Math.abs(from.length - to.length) > max) return max + 1;
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  let next = row.slice();
  for (let i = 0; i < from.length; i++) {
    let rowMin = (next[0] = i + 1);
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from.charCodeAt(i) === to.charCodeAt(j - 1) ? 0 : 1);
      const changes = Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1);
      next[j] = changes;
      if (changes < rowMin) rowMin = changes;
    }
    if (rowMin > max) return max + 1;
    [row, next] = [next, row];
  }
  return row[to.length] ?? 0;
}

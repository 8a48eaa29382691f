/** What somebody may have meant who mistyped a word. */

/** The word that is fewest changes away; undefined where all are too far to be meant. */
export function closest(typed: string, words: readonly string[]): string | undefined {
  const ranked = words
    .map((word) => ({ word, changes: changesBetween(typed.toLowerCase(), word) }))
    .toSorted((a, b) => a.changes - b.changes);
  const [best] = ranked;
  return best !== undefined && best.changes <= Math.max(2, typed.length / 3) ? best.word : undefined;
}

/** Letters to insert, remove or replace. */
function changesBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

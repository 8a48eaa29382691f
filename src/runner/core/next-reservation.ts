/** Who may take how much of a limited memory, and in which order. */

/** A part that somebody wants on top of what it holds. */
export interface Claim {
  holder: object;
  bytes: number;
}

/**
 * The claim that is met next, if any can be now. `held`: bytes by holder, in the order in which they came to hold any.
 * Who holds something goes before who does not, since only that brings memory back; among equals, first come, first
 * served, however small those behind are. Who has held something for the longest never waits, nor does anybody while
 * nothing is held: what is larger than the limit comes through as well, one at a time.
 */
export function nextClaim(
  limit: number,
  held: ReadonlyMap<object, number>,
  waiting: readonly Claim[],
): Claim | undefined {
  const [oldest] = held.keys();
  const first = waiting.find(({ holder }) => holder === oldest);
  if (first !== undefined) return first;
  const next = waiting.find(({ holder }) => held.has(holder)) ?? waiting[0];
  if (next === undefined || held.size === 0) return next;
  const taken = [...held.values()].reduce((sum, bytes) => sum + bytes, 0);
  return taken + next.bytes <= limit ? next : undefined;
}

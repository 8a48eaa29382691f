/** How fast a run has been of late, from when it saved its latest pictures, and how long what is left takes at that pace. */

export interface Pace {
  perSecond: number;
  leftMs: number;
}

/** A night's speed changes: what is older says nothing of now. */
const windowMs = 5 * 60_000;
const fewest = 3;

/**
 * `savedAt`: when scenes were saved of late, epoch ms, in any order; `left`: scenes that are not done. Undefined where too
 * little was saved to tell.
 */
export function recentPace(savedAt: number[], left: number, now: number): Pace | undefined {
  const recent = savedAt.filter((at) => at >= now - windowMs && at <= now);
  if (recent.length < fewest) return undefined;
  const spanMs = now - Math.min(...recent);
  if (spanMs <= 0) return undefined;
  const perSecond = (recent.length - 1) / (spanMs / 1000);
  return { perSecond, leftMs: (left / perSecond) * 1000 };
}

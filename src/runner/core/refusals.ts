/** Decides when to believe a service that refuses access after it has worked in this run. Pure. */
import { formatDuration } from '../../lib/text/format.ts';
import type { Failure, FailureKind } from './failure.ts';

export type Operation = 'submit' | 'status' | 'cancel' | 'health';

/** Consecutive refusals of one operation. `since` is the time of the first, in monotonic ms. */
export interface Refusals {
  count: number;
  since: number;
}

export const noRefusals: Refusals = { count: 0, since: 0 };

const kinds: ReadonlySet<FailureKind> = new Set(['key-refused', 'account-unusable', 'endpoint-unknown']);

export interface Reply {
  kind: string;
  failure?: Failure;
}

/** Returns the failure of a reply that refuses key, account or endpoint. */
export function refusalIn({ failure }: Reply): Failure | undefined {
  return failure !== undefined && kinds.has(failure.kind) ? failure : undefined;
}

const proofs: ReadonlySet<string> = new Set(['accepted', 'running', 'completed', 'ended', 'cancelled']);

/** True if a reply of this kind shows that key, account and endpoint are accepted. */
export function isProof({ kind }: Reply): boolean {
  return proofs.has(kind);
}

export function withRefusal({ count, since }: Refusals, now: number): Refusals {
  return { count: count + 1, since: count === 0 ? now : since };
}

const enoughRefusals = 3;

/** True if enough refusals have lasted for at least `lastMs` (`halt.refused`). */
export function isBelieved({ count, since }: Refusals, now: number, lastMs: number): boolean {
  return count >= enoughRefusals && now - since >= lastMs;
}

/** Returns the failure, with the number and duration of the refusals in its text. */
export function believed(failure: Failure, { count, since }: Refusals, now: number): Failure {
  const times = `${count} times in a row within ${formatDuration(now - since)}`;
  return { ...failure, text: `${failure.text}; refused ${times}, after it had worked in this run` };
}

/**
 * Returns the wait in ms before round `round`, counted from 1. With 30 s for `lastMs`: 1, 2, 4, 8, 16 and
 * then 30 s.
 */
export function askAgainMs(round: number, lastMs: number): number {
  return Math.round(Math.min(lastMs, (lastMs / 30) * 2 ** (round - 1)));
}

/** True if refusals and silence have alternated for so long that ordinary requests should show the cause. */
export function isLongDoubt(tookMs: number, lastMs: number): boolean {
  return tookMs >= 4 * lastMs;
}

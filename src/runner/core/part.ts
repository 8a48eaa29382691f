/** Part of a batch for a preview: a fixed choice of scenes, spread over the whole list. */
import { hash } from 'node:crypto';

/** Size of the part. If both limits are set, the smaller part counts. */
export interface Part {
  /** Share of all scenes of the manifest, above 0 and at most 1. */
  share?: number;
  limit?: number;
}

export interface PartRecord extends Part {
  scenes: number;
}

/** Returns the number of scenes in the part. A share is rounded up, so a preview is never empty. */
export function sizeOfPart({ share = 1, limit = Infinity }: Part, scenes: number): number {
  // Floating point: 7 % of 100 is 7.000000000000001.
  const shared = Math.ceil(Number((share * scenes).toPrecision(12)));
  return Math.min(scenes, shared, limit);
}

/**
 * Returns the position of a scene in the order in which parts are filled: a pseudo-random whole number below
 * 2^48.
 */
export function turnOf(id: string, fingerprint: string): number {
  return Number.parseInt(hash('sha256', JSON.stringify([id, fingerprint])).slice(0, 12), 16);
}

/** Formats the part as command-line options, such as `--sample 1% --limit 20`. */
export function formatPart({ share, limit }: Part): string {
  const shown = share === undefined ? [] : `--sample ${Number((share * 100).toPrecision(12))}%`;
  return [shown, limit === undefined ? [] : `--limit ${limit}`].flat().join(' ');
}

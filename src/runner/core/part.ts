/** A part of a batch: which of its scenes a preview renders, always the same ones and spread over the whole list. */
import { hash } from 'node:crypto';

/** With both, the smaller of the two. */
export interface Part {
  /** Of all scenes of the manifest, above 0 and at most 1. */
  share?: number;
  /** Scenes at most. */
  limit?: number;
}

/** A part that was chosen. */
export interface PartRecord extends Part {
  /** How many scenes it has. */
  scenes: number;
}

/** How many of `scenes` belong to the part: a share is rounded up, so that there is something to look at. */
export function sizeOfPart({ share = 1, limit = Infinity }: Part, scenes: number): number {
  // 7 % of 100 are 7.000000000000001 to the machine.
  const shared = Math.ceil(Number((share * scenes).toPrecision(12)));
  return Math.min(scenes, shared, limit);
}

/** Where a scene stands in the order in which parts are filled: a whole number below 2^48, as good as drawn by lot. */
export function turnOf(id: string, fingerprint: string): number {
  return Number.parseInt(hash('sha256', JSON.stringify([id, fingerprint])).slice(0, 12), 16);
}

/** `--sample 1% --limit 20`, as it was asked for. */
export function formatPart({ share, limit }: Part): string {
  const shown = share === undefined ? [] : `--sample ${Number((share * 100).toPrecision(12))}%`;
  return [shown, limit === undefined ? [] : `--limit ${limit}`].flat().join(' ');
}

/** Seeds of a scene, derived from its id, so that they are the same on every machine and in every list. */
import { hash } from 'node:crypto';

/** Many renderers read a seed as a signed integer of 32 bits. Batches that were begun before that was kept have 32. */
export type SeedBits = 31 | 32;

/** Whole numbers from 0 to 2^bits - 1, all different; the first of them stay when more are asked for. */
export function seedsOf(sceneId: string, count: number, bits: SeedBits): number[] {
  const seeds = new Set<number>();
  // A number that is there already would make the same picture twice.
  for (let index = 1; seeds.size < count; index++) {
    seeds.add(Number.parseInt(hash('sha256', `${sceneId}\n${index}`).slice(0, 8), 16) % 2 ** bits);
  }
  return [...seeds];
}

/** Seeds of a scene, derived from its id, so that they are the same on every machine and in every list. */
import { hash } from 'node:crypto';

/** Whole numbers from 0 to 2^32 - 1, all different; the first of them stay when more are asked for. */
export function seedsOf(sceneId: string, count: number): number[] {
  const seeds = new Set<number>();
  // A number that is there already would make the same picture twice.
  for (let index = 1; seeds.size < count; index++) {
    seeds.add(Number.parseInt(hash('sha256', `${sceneId}\n${index}`).slice(0, 8), 16));
  }
  return [...seeds];
}

/** Finds the seed of a picture in the objects around it. */
import { exactInteger, parseExactly } from './exact-integer.ts';
import { isRecord } from './json-value.ts';
import type { Place } from './output-places.ts';

/** In the worker's own digits; undefined where it tells none, or not exactly. */
export function seedOf({ owners, index }: Place): string | undefined {
  for (const { seed, seeds, info } of owners) {
    const found =
      exactInteger(itemOf(seed, index)) ?? exactInteger(itemOf(seeds, index)) ?? seedInInfo(info, index);
    if (found !== undefined) return found;
  }
  return undefined;
}

function itemOf(value: unknown, index: number): unknown {
  return Array.isArray(value) ? value[index] : value;
}

/** A1111 tells its seeds in JSON within the JSON; a contact sheet that comes first has none of its own. */
function seedInInfo(info: unknown, index: number): string | undefined {
  const facts = typeof info === 'string' ? parseExactly(info) : info;
  if (!isRecord(facts)) return undefined;
  const { all_seeds: all, seed, index_of_first_image: first } = facts;
  if (!Array.isArray(all)) return exactInteger(seed);
  return exactInteger(all[index - Number(exactInteger(first) ?? 0)]);
}

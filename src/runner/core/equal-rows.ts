/** Counts equal rows while they are read, in 16 bytes a row instead of about 160 in a map of texts. */

/** Returns a function that counts the rows with a fingerprint so far, including the current one. */
export function equalRows(): (fingerprint: string) => number {
  let seen = new Float64Array(1024);
  let used = 0;
  const repeats = new Map<number, number>();
  return (fingerprint) => {
    // Uses the same 12 characters as `sceneIdOf`. 0 marks an empty slot.
    const key = Number.parseInt(fingerprint.slice(0, 12), 16) + 1;
    const place = placeOf(seen, key);
    if (seen[place] === key) {
      const count = (repeats.get(key) ?? 1) + 1;
      repeats.set(key, count);
      return count;
    }
    seen[place] = key;
    used += 1;
    if (2 * used > seen.length) seen = doubled(seen);
    return 1;
  };
}

/**
 * Returns the index of the key, or of the empty slot for it. Linear probing suffices because fingerprints are
 * evenly spread.
 */
function placeOf(seen: Float64Array, key: number): number {
  let place = key % seen.length;
  while (seen[place] !== 0 && seen[place] !== key) place = (place + 1) % seen.length;
  return place;
}

function doubled(seen: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(2 * seen.length);
  for (const key of seen) if (key !== 0) larger[placeOf(larger, key)] = key;
  return larger;
}

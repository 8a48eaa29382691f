/** The words of a scene that people know it by. */
import type { JsonObject } from './json.ts';

/**
 * What its input calls `scene` or `prompt`, in any case, else its row; else the longest text that is sent. Empty where
 * there is none.
 */
export function promptOf(input: JsonObject, columns: JsonObject): string {
  return named(input) ?? named(columns) ?? longest(input) ?? '';
}

function named(from: JsonObject): string | undefined {
  const texts = Object.entries(from).flatMap(([name, value]) =>
    /^(scene|prompt)$/i.test(name) && typeof value === 'string' && value !== '' ? [value] : [],
  );
  return texts[0];
}

function longest(from: JsonObject): string | undefined {
  const texts = Object.values(from).filter((value) => typeof value === 'string');
  return texts.toSorted((a, b) => b.length - a.length)[0];
}

/** Follows a path such as `images[*].data|url` to the places in an output that it names. */
import { isNothing, isRecord } from './json-value.ts';

/** A value in an output, the objects around it, innermost first, and its number in the innermost list. */
export interface Place<Value = unknown> {
  value: Value;
  owners: readonly Record<string, unknown>[];
  index: number;
}

const pathStep = /\[(\d+|\*)\]|\.?([^.[\]]+)/y;

/** `a|b` is the first of these keys that holds something; none for a path that leads nowhere or is none. */
export function placesAt(output: unknown, path: string): Place[] {
  let places: Place[] = [{ value: output, owners: [], index: 0 }];
  pathStep.lastIndex = 0;
  while (pathStep.lastIndex < path.length) {
    const step = pathStep.exec(path);
    if (step === null) return [];
    const [, item, keys = ''] = step;
    places = places.flatMap((place) =>
      item === undefined ? byKey(place, keys.split('|')) : byItem(place, item),
    );
  }
  return places;
}

function byKey({ value, owners, index }: Place, keys: string[]): Place[] {
  if (!isRecord(value)) return [];
  const key = keys.find((name) => Object.hasOwn(value, name) && !isNothing(value[name]));
  return key === undefined ? [] : [{ value: value[key], owners: [value, ...owners], index }];
}

function byItem(place: Place, item: string): Place[] {
  if (!Array.isArray(place.value)) return [];
  const items = itemsOf(place);
  return item === '*' ? items : items.slice(Number(item), Number(item) + 1);
}

/** The items of a list, or the place itself where it is none. */
export function itemsOf(place: Place): Place[] {
  if (!Array.isArray(place.value)) return [place];
  return place.value.map((value: unknown, index) => ({ value, owners: place.owners, index }));
}

export function isText(place: Place): place is Place<string> {
  return typeof place.value === 'string' && !isNothing(place.value);
}

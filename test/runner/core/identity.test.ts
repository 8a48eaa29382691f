/**
 * Promise: a scene is identified by its input and id. Reordered keys or rows keep it, and an edit makes
 * another scene.
 */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject, JsonValue } from '../../../src/lib/text/json.ts';
import { fingerprintOf, sceneIdOf } from '../../../src/runner/core/scene.ts';

const key = fc.oneof(
  fc.string(),
  fc.constantFrom('__proto__', 'constructor', 'toJSON', '1', '10', '2', 'ä', 'a\u0308'),
);
const input: fc.Arbitrary<JsonObject> = fc
  .letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.integer(),
        fc.double({ noNaN: true }),
        fc.constantFrom(null, true),
      ),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => Object.fromEntries(entries)),
    ),
  }))
  .value.map((value) => JSON.parse(JSON.stringify({ scene: value })) as JsonObject);

test('the order of keys, however deep, makes no other scene', () => {
  fc.assert(
    fc.property(input, fc.infiniteStream(fc.nat()), (value, numbers) => {
      const other = reordered(value, () => Number(numbers.next().value)) as JsonObject;
      expect(fingerprintOf(other)).toBe(fingerprintOf(value));
    }),
  );
});

test('any edit makes another scene, and its undoing the first one again', () => {
  fc.assert(
    fc.property(input, fc.nat(), (value, place) => {
      const copy = structuredClone(value);
      const undo = edit(copy, place);
      expect(fingerprintOf(copy)).not.toBe(fingerprintOf(value));
      undo();
      expect(fingerprintOf(copy)).toBe(fingerprintOf(value));
    }),
  );
});

test('ids of equal rows are distinct, and belong to the input', () => {
  fc.assert(
    fc.property(
      input,
      fc.uniqueArray(fc.integer({ min: 1, max: 1e6 }), { minLength: 2 }),
      (value, numbers) => {
        const fingerprint = fingerprintOf(value);
        const ids = numbers.map((number) => sceneIdOf(fingerprint, number));
        expect(new Set(ids).size).toBe(numbers.length);
        for (const id of ids) expect(fingerprint.startsWith(id.split('-')[0] ?? '')).toBe(true);
      },
    ),
  );
});

function reordered(value: JsonValue, next: () => number): JsonValue {
  if (Array.isArray(value)) return value.map((item) => reordered(item, next));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, item]) => [name, reordered(item, next), next()] as const);
  return Object.fromEntries(entries.toSorted((a, b) => a[2] - b[2]));
}

/** Changes the value at this place. Returns a function that undoes the change. */
function edit(value: JsonObject, place: number): () => void {
  const places: [JsonValue[] | JsonObject, string][] = [];
  const collect = (inner: JsonValue): void => {
    if (typeof inner !== 'object' || inner === null) return;
    for (const name of Object.keys(inner)) {
      if (name === '__proto__') continue;
      places.push([inner, name]);
      collect((inner as JsonObject)[name] ?? null);
    }
  };
  collect(value);
  const [owner, name] = places[place % places.length] ?? expect.fail('nothing to edit');
  const record = owner as JsonObject;
  const before = record[name] ?? null;
  record[name] = typeof before === 'string' ? `${before} ` : { edited: before };
  return () => (record[name] = before);
}

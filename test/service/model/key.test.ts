/** A key allows the operations of its kind, at its endpoints. */
import { expect, it } from 'vitest';
import { keyKinds, permits, type KeyRight, unlimited } from '../../../src/service/model/key.ts';

const rights: KeyRight[] = ['jobs', 'work', 'console'];

it('a key allows operations by its kind', () => {
  const allowed = keyKinds.map((kind) => [
    kind,
    rights.filter((right) => permits({ ...unlimited, id: 'i', name: 'n', kind }, right)),
  ]);
  expect(Object.fromEntries(allowed)).toEqual({
    client: ['jobs'],
    worker: ['work'],
    admin: ['jobs', 'console'],
  });
});

it('a key is valid at its endpoints alone, and at no place that belongs to none', () => {
  const key = { ...unlimited, id: 'i', name: 'n', kind: 'client' as const, endpoints: ['a', 'b'] };
  expect(['a', 'b', 'c', '', undefined].map((id) => permits(key, 'jobs', id))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ]);
});

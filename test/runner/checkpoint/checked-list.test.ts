/**
 * Promise: a list is read back unchanged and in order. Rows without an id get one, and a repeated id is a bad
 * row.
 */
import { afterEach, expect, it } from 'vitest';
import { CheckedList } from '../../../src/runner/checkpoint/checked-list.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import type { Scene } from '../../../src/runner/core/scene.ts';
import { readList } from '../../fakes/world.ts';

const lists: CheckedList[] = [];

afterEach(() => {
  for (const list of lists.splice(0)) list.close();
});

const a = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const b = 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb';

function listOf(rows: { id?: string; fingerprint: string }[]): CheckedList {
  const list = new CheckedList();
  lists.push(list);
  rows.forEach(({ id, fingerprint }, index) => list.add(scene(index + 1, fingerprint), id));
  list.settleIds();
  return list;
}

function scene(position: number, fingerprint: string, id = '', columns: JsonObject = {}): Scene {
  return {
    id,
    fingerprint,
    position,
    source: `m.csv:${position + 1}`,
    input: { scene: fingerprint },
    columns,
  };
}

function idsOf(list: CheckedList): string[] {
  return Array.from(list.scenes(), ({ id }) => id);
}

it('returns scenes in their order, with every value and type', () => {
  const list = new CheckedList();
  lists.push(list);
  const columns: JsonObject = { text: 'ü"\n\u{1F600}\u{0}', n: 1.5, none: null, list: [1, { a: true }] };
  const later = scene(9, a, 'later', columns);
  list.add(later, 'later');
  list.add(scene(3, b), 'earlier');
  list.addBad({ position: 5, source: 'm.csv:6', problem: 'is bad' });
  list.addBad({ position: 4, source: 'm.csv:5', problem: 'is bad', id: 'x' });
  list.settleIds();
  expect(readList(list)).toEqual([scene(3, b, 'earlier'), later]);
  expect([...list.badRows()]).toEqual([
    { position: 4, source: 'm.csv:5', problem: 'is bad', id: 'x' },
    { position: 5, source: 'm.csv:6', problem: 'is bad' },
  ]);
  expect([list.count(), list.lastPosition()]).toEqual([{ scenes: 2, badRows: 2 }, 9]);
});

it('an empty list has no scenes, no bad rows and no ids', () => {
  const list = listOf([]);
  expect([list.count(), list.lastPosition(), idsOf(list)]).toEqual([{ scenes: 0, badRows: 0 }, 0, []]);
});

it('counts equal rows without an id', () => {
  const rows = [a, b, a, a].map((fingerprint) => ({ fingerprint }));
  expect(idsOf(listOf(rows))).toEqual(['aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'aaaaaaaaaaaa-2', 'aaaaaaaaaaaa-3']);
});

it('a repeated id is a bad row that names the first', () => {
  const list = listOf([
    { id: 'x', fingerprint: a },
    { id: 'y', fingerprint: a },
    { id: 'x', fingerprint: b },
    { id: 'x', fingerprint: a },
  ]);
  expect(idsOf(list)).toEqual(['x', 'y']);
  const problem = 'the id "x" is used by m.csv:2 already';
  expect([...list.badRows()]).toEqual([
    { position: 3, source: 'm.csv:4', id: 'x', problem },
    { position: 4, source: 'm.csv:5', id: 'x', problem },
  ]);
});

it('different rows whose short fingerprints agree have ids that do not depend on the order', () => {
  const [first, second] = [`${a.slice(0, 12)}0`, `${a.slice(0, 12)}1`].map((text) => text.padEnd(32, '0'));
  const idsByFingerprint = (order: (string | undefined)[]): Record<string, string> => {
    const list = listOf(order.map((fingerprint = '') => ({ fingerprint })));
    return Object.fromEntries(Array.from(list.scenes(), ({ fingerprint, id }) => [fingerprint, id]));
  };
  expect(idsByFingerprint([first, second])).toEqual({
    [first ?? '']: 'aaaaaaaaaaaa',
    [second ?? '']: 'aaaaaaaaaaaa-2',
  });
  expect(idsByFingerprint([second, first])).toEqual(idsByFingerprint([first, second]));
});

it('an id that equals a generated id of another row is reported as repeated, not lost', () => {
  const list = listOf([{ fingerprint: a }, { fingerprint: a }, { id: 'aaaaaaaaaaaa-2', fingerprint: b }]);
  expect(idsOf(list)).toEqual(['aaaaaaaaaaaa', 'aaaaaaaaaaaa-2']);
  expect(list.count()).toEqual({ scenes: 2, badRows: 1 });
});

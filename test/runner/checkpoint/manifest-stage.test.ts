/** The stage of a manifest: ids for rows without one, repeated ids as bad rows, everything back as it came. */
import { afterEach, expect, it } from 'vitest';
import { ManifestStage } from '../../../src/runner/checkpoint/manifest-stage.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import type { Scene } from '../../../src/runner/core/scene.ts';
import { readList } from '../../fakes/world.ts';

const stages: ManifestStage[] = [];

afterEach(() => {
  for (const stage of stages.splice(0)) stage.close();
});

const a = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
const b = 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb';

function staged(rows: { id?: string; fingerprint: string }[]): ManifestStage {
  const stage = new ManifestStage();
  stages.push(stage);
  rows.forEach(({ id, fingerprint }, index) => stage.add(scene(index + 1, fingerprint), id));
  stage.settleIds();
  return stage;
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

function idsOf(stage: ManifestStage): string[] {
  return Array.from(stage.scenes(), ({ id }) => id);
}

it('gives scenes back in their order, with every value and type', () => {
  const stage = new ManifestStage();
  stages.push(stage);
  const columns: JsonObject = { text: 'ü"\n\u{1F600}\u{0}', n: 1.5, none: null, list: [1, { a: true }] };
  const later = scene(9, a, 'later', columns);
  stage.add(later, 'later');
  stage.add(scene(3, b), 'earlier');
  stage.addBad({ position: 5, source: 'm.csv:6', problem: 'is bad' });
  stage.addBad({ position: 4, source: 'm.csv:5', problem: 'is bad', id: 'x' });
  stage.settleIds();
  expect(readList(stage)).toEqual([scene(3, b, 'earlier'), later]);
  expect([...stage.badRows()]).toEqual([
    { position: 4, source: 'm.csv:5', problem: 'is bad', id: 'x' },
    { position: 5, source: 'm.csv:6', problem: 'is bad' },
  ]);
  expect([stage.count(), stage.lastPosition()]).toEqual([{ scenes: 2, badRows: 2 }, 9]);
});

it('an empty stage', () => {
  const stage = staged([]);
  expect([stage.count(), stage.lastPosition(), idsOf(stage)]).toEqual([{ scenes: 0, badRows: 0 }, 0, []]);
});

it('counts equal rows without an id', () => {
  const rows = [a, b, a, a].map((fingerprint) => ({ fingerprint }));
  expect(idsOf(staged(rows))).toEqual(['aaaaaaaaaaaa', 'bbbbbbbbbbbb', 'aaaaaaaaaaaa-2', 'aaaaaaaaaaaa-3']);
});

it('a repeated id is a bad row that names the first', () => {
  const stage = staged([
    { id: 'x', fingerprint: a },
    { id: 'y', fingerprint: a },
    { id: 'x', fingerprint: b },
    { id: 'x', fingerprint: a },
  ]);
  expect(idsOf(stage)).toEqual(['x', 'y']);
  const problem = 'the id "x" is used by m.csv:2 already';
  expect([...stage.badRows()]).toEqual([
    { position: 3, source: 'm.csv:4', id: 'x', problem },
    { position: 4, source: 'm.csv:5', id: 'x', problem },
  ]);
});

it('different rows whose short fingerprints agree have ids that do not depend on the order', () => {
  const [first, second] = [`${a.slice(0, 12)}0`, `${a.slice(0, 12)}1`].map((text) => text.padEnd(32, '0'));
  const idsByFingerprint = (order: (string | undefined)[]): Record<string, string> => {
    const stage = staged(order.map((fingerprint = '') => ({ fingerprint })));
    return Object.fromEntries(Array.from(stage.scenes(), ({ fingerprint, id }) => [fingerprint, id]));
  };
  expect(idsByFingerprint([first, second])).toEqual({
    [first ?? '']: 'aaaaaaaaaaaa',
    [second ?? '']: 'aaaaaaaaaaaa-2',
  });
  expect(idsByFingerprint([second, first])).toEqual(idsByFingerprint([first, second]));
});

it('an id that looks like one made for another row is repeated, not lost', () => {
  const stage = staged([{ fingerprint: a }, { fingerprint: a }, { id: 'aaaaaaaaaaaa-2', fingerprint: b }]);
  expect(idsOf(stage)).toEqual(['aaaaaaaaaaaa', 'aaaaaaaaaaaa-2']);
  expect(stage.count()).toEqual({ scenes: 2, badRows: 1 });
});

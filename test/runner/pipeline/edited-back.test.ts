/**
 * Promise: pictures that a crashed run wrote are recognized, even if the list was edited back and forth
 * since.
 */
import { describe, expect, it } from 'vitest';
import { Account } from '../../account/account.ts';
import { fatesOf, leftBy, type WorldJob } from '../../account/fake-world.ts';
import type { Behaviour } from '../../fakes/fake-service.ts';
import { pictureOf } from '../../fakes/fake-service.ts';
import { firstTier, sampled, sampledUpTo } from '../../fakes/tier.ts';
import { manifestOf, namedBy, World, type RunOptions } from '../../fakes/world.ts';

type Rows = [id: string, scene: string][];

const behaviour: Behaviour = (scene) =>
  scene.startsWith('two') ? { pictures: [pictureOf(`${scene} first`), pictureOf(`${scene} second`)] } : {};

const sea: Rows = [['b', 'sea']];
const moon: Rows = [['b', 'moon']];
const both: Rows = [
  ['a', 'sea'],
  ['b', 'moon'],
];
const swapped: Rows = [
  ['a', 'moon'],
  ['b', 'sea'],
];
const twins: Rows = [
  ['a', 'sea'],
  ['b', 'two moons'],
];

const histories: [name: string, lists: Rows[]][] = [
  ['forth and back', [sea, moon, sea]],
  ['forth, on, and back', [sea, moon, [['b', 'star']], moon, sea]],
  ['forth and back, with two pictures', [twins, [['b', 'two stars']], twins, sea]],
  ['from two pictures to one, and back', [[['b', 'two moons']], moon, [['b', 'two moons']]]],
  ['ids swapped and swapped back', [both, swapped, both]],
  ['withdrawn and back', [both, [['a', 'sea']], both]],
  ['edited, withdrawn, and back as it was', [both, [['b', 'star']], [['a', 'sea']], both]],
  ['the name taken by another row', [both, [['b', 'star']], [['a', 'moon']], swapped, both]],
];

const deathCost = { ms: 50, weight: 0.3, share: 1 / 3 };

describe('a crash at every call of a run', () => {
  it.each(histories)('whose list was edited %s', async (_, lists) => {
    const deaths: [dying: number, killAt: number][] = [];
    for (let dying = 1; dying < lists.length; dying++) {
      const calls = await countHalves(lists.slice(0, dying + 1));
      for (let killAt = 1; killAt <= calls; killAt++) deaths.push([dying, killAt]);
    }
    for (const [dying, killAt] of sampled(deaths, deathCost)) await live(lists, { [dying]: killAt });
  });

  it.each(histories)('whose list was edited %s, and of the run after it', async (_, lists) => {
    const calls = await countHalves(lists.slice(0, 2));
    const more = await countHalves(lists.slice(0, 3));
    const deaths: [first: number, second: number][] = [];
    for (let first = 1; first <= calls; first += 3)
      for (let second = 1 + (first % 11); second <= more; second += 11) deaths.push([first, second]);
    for (const [first, second] of sampled(deaths, deathCost)) await live(lists, { 1: first, 2: second });
  });

  it.each(histories)('whose list was edited %s, and of the cancelling after it', async (_, lists) => {
    const calls = await countHalves(lists.slice(0, 2));
    const cancelAts = [3, 6, 9, 12, 15, Infinity];
    for (const killAt of sampledUpTo(calls, deathCost))
      await live(lists, { 1: killAt }, cancelAts[killAt % cancelAts.length]);
  });
});

firstTier.it('adopts a complete picture, although the service has deleted its result', async () => {
  const { world, killAt } = await killedBetween('images.write', 'checkpoint.settle');
  await world.run({ manifest: manifestOf(moon), killAt });
  const result = await world.run({ manifest: manifestOf(moon), afterMs: 40 * 60_000 });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.submissionsOf('moon')).toBe(1);
  const facts = 'SELECT DISTINCT status, execution_time_ms AS ms, polls > 0 AS isPolled FROM attempts';
  expect(world.rows(facts)).toEqual([{ status: 'COMPLETED', ms: 4_000, isPolled: 1 }]);
});

firstTier.it('neither adopts nor removes a file that it did not write', async () => {
  const { world, killAt } = await killedBetween('checkpoint.beginWriting', 'images.write');
  await world.run({ manifest: manifestOf(moon), killAt });
  world.images.files.set('b.png', 'a photograph');
  const result = await world.run({ manifest: manifestOf(sea) });
  expect(result?.ending.kind).toBe('output-unwritable');
  expect(world.images.files.get('b.png')).toBe('a photograph');
});

firstTier.it('removes the pictures of an attempt that was given up since', async () => {
  const { world, killAt } = await killedBetween('images.write', 'checkpoint.settle');
  await world.run({ manifest: manifestOf(moon), killAt });
  world.db.exec("UPDATE attempts SET state = 'expired' WHERE state = 'submitted'");
  const result = await world.run({ manifest: manifestOf(sea) });
  expect(result?.ending.kind).toBe('complete');
  expectWell(world, 'given up', () => ['saved', 'expired']);
});

firstTier.it('keeps a name free for the picture that a dead run had decided to give it to', async () => {
  const settings = namedBy(() => 'same.png');
  const world = new World();
  const list = (scene: string) =>
    manifestOf([
      ['a', scene],
      ['c', 'star'],
    ]);
  await world.run({ manifest: manifestOf([['a', 'sea']]), settings });
  await world.run({ manifest: list('moon'), settings, hang: 'images.check', until: 60_000 });
  await world.run({ manifest: list('sea'), settings, hang: 'images.move', until: 60_000 });
  expect((await world.cancel({ settings }))?.ending.kind).toBe('complete');
  const result = await world.run({ manifest: list('sea'), settings });
  expect(result?.ending.kind).toBe('complete');
  expectWell(world, 'cancelled');
  expect(world.service.jobs).toHaveLength(3);
});

/**
 * Returns a world in which the sea is saved, and the half call at which to kill the run of the moon, between
 * these two calls.
 */
async function killedBetween(before: string, after: string): Promise<{ world: World; killAt: number }> {
  const world = new World();
  await world.run({ manifest: manifestOf(sea) });
  const rehearsal = new World();
  for (const rows of [sea, moon]) await rehearsal.run({ manifest: manifestOf(rows) });
  const { calls } = rehearsal.killer;
  const at = calls.findIndex((call, i) => call === before && calls[i + 1] === after);
  if (at === -1) throw new Error(`${after} does not follow ${before}`);
  return { world, killAt: 2 * at + 2 };
}

/** Returns the number of half calls that the last of these runs makes without a crash. */
async function countHalves(lists: Rows[]): Promise<number> {
  const world = new World(behaviour);
  for (const rows of lists) await world.run({ manifest: manifestOf(rows) });
  return world.killer.halves;
}

/**
 * Runs each list and kills the run at the half call given for its index. Then runs each list again to its
 * end, and once more in reverse order.
 */
async function live(lists: Rows[], kills: Record<number, number>, cancelAt?: number): Promise<void> {
  const world = new World(behaviour);
  const place = `killed at ${JSON.stringify(kills)}${cancelAt === undefined ? '' : `, cancelled until ${cancelAt}`}`;
  for (const [i, rows] of lists.entries()) {
    await runOf(world, rows, kills[i]);
    if (cancelAt !== undefined && kills[i] !== undefined) await world.cancel({ killAt: cancelAt });
  }
  for (const rows of [lists.at(-1), ...lists.toReversed()]) {
    const result = await runOf(world, rows ?? [], undefined);
    expect(result?.ending, place).toMatchObject({ kind: 'complete' });
    expectWell(world, place);
    expectListed(world, rows ?? [], place);
  }
}

async function runOf(world: World, rows: Rows, killAt: number | undefined) {
  const options: RunOptions = { manifest: manifestOf(rows), ...(killAt !== undefined && { killAt }) };
  return world.run(options);
}

/** Expects that the account finds no difference, and that no old picture is kept. */
function expectWell(world: World, place: string, fates: typeof fatesOf = fatesOf): void {
  const terms = { command: 'run', end: 'over', attempts: 3, fatesOf: fates } as const;
  expect(new Account<WorldJob>().judge(leftBy(world), terms), place).toEqual([]);
  const kept = [...world.images.files.keys()].filter((file) => /former|damaged/.test(file));
  expect(kept, place).toEqual([]);
}

/** Expects that the pictures of this list have their plain names. */
function expectListed(world: World, rows: Rows, place: string): void {
  const listed = world.rows<{ file: string }>(`
    SELECT p.file FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene)
    WHERE s.state = 'saved' ORDER BY p.file`);
  const names = rows.flatMap(([id, scene]) =>
    scene.startsWith('two') ? [`${id}-2.png`, `${id}.png`] : [`${id}.png`],
  );
  expect(
    listed.map(({ file }) => file),
    place,
  ).toEqual(names.toSorted());
}

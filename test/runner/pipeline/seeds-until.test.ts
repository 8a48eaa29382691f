/**
 * Promise: a seed is sent only if the seeds before it did not meet the condition, whatever happens to the
 * batch.
 */
import { expect, it } from 'vitest';
import { manifestOf, World, type RunOptions } from '../../fakes/world.ts';
import { retry, scored, seedList, sendUntil } from './kills/seeds.ts';

function begin(behaviour = scored) {
  const world = new World(behaviour);
  sendUntil('score >= 0.6')(world);
  const run = (more: Partial<RunOptions> = {}) =>
    world.run({ manifest: seedList(4), ...more, settings: { retry, ...more.settings } });
  const sent = () => world.service.jobs.map(({ scene }) => scene);
  return { world, run, sent };
}

it('renders first seeds alone in a preview, each once', async () => {
  const { run, sent } = begin();
  for (const _ of 'ab') {
    const result = await run({ settings: { part: { limit: 3 } } });
    expect(result?.part).toMatchObject({ waiting: 0 });
    expect(sent()).toHaveLength(3);
  }
  expect(sent().every((scene) => scene.endsWith(' 1'))).toBe(true);
  await run();
  expect(sent()).toHaveLength(10);
});

it('adopts rendered pictures after the checkpoint was lost, and sends none of their scenes again', async () => {
  const { world, run, sent } = begin();
  const before = await run();
  expect(before?.counts).toMatchObject({ saved: 9, failed: 1, unneeded: 6 });
  await world.forget();
  const after = await run({ settings: { unknownPictures: 'adopt' } });
  expect(after?.counts).toEqual(before?.counts);
  // The failed seed has no picture, so it is sent again.
  expect(sent().slice(10)).toEqual(['c 1']);
});

it('holds later seeds back if all of a row are put back', async () => {
  let isBroken = true;
  const { world, run, sent } = begin((scene) =>
    isBroken ? { failure: { kind: 'job-failed', text: 'no memory' } } : scored(scene),
  );
  expect((await run())?.counts).toMatchObject({ failed: 16 });
  isBroken = false;
  await world.putBack({ kinds: 'every', ids: [], notAt: undefined });
  expect((await run())?.counts).toMatchObject({ saved: 9, failed: 1, unneeded: 6 });
  expect(sent()).toHaveLength(16 + 10);
});

it('does not send new seeds because of a seed of a row that was edited meanwhile', async () => {
  const { run, sent } = begin();
  const rowOf = (name: string) =>
    manifestOf([1, 2, 3].map((n): [string, string] => [`row-s${n}`, `${name} ${n}`]));
  await run({ manifest: rowOf('b'), until: 3_000 });
  const result = await run({ manifest: rowOf('a') });
  expect(sent()).toEqual(['b 1', 'a 1']);
  expect(result?.counts).toMatchObject({ saved: 1, unneeded: 2, withdrawn: 1 });
});

it('sends scenes that wait for another try only if they are still needed', async () => {
  const { world, run, sent } = begin((scene) =>
    scene === 'b 2' ? { failure: { kind: 'job-failed', text: 'no memory' } } : scored(scene),
  );
  const patient = { attempts: 3, submissions: 10, firstWait: 90_000, longestWait: 120_000 };
  await run({ until: 20_000, settings: { retry: { ...retry, ...patient } } });
  expect(
    world.rows("SELECT 1 FROM scenes WHERE id = 'b-s2' AND state = 'waiting' AND due_at > 1"),
  ).toHaveLength(1);
  sendUntil('score >= 0.2')(world);
  const jobs = sent().filter((scene) => scene === 'b 2').length;
  const result = await run();
  expect(sent().filter((scene) => scene === 'b 2')).toHaveLength(jobs);
  expect(result?.counts.waiting).toBe(0);
});

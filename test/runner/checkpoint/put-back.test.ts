/**
 * Promise: giving up jobs at another URL settles them and puts their scenes back to waiting. Nothing else
 * changes.
 */
import { expect, it } from 'vitest';
import { putBackSession } from '../../../src/runner/checkpoint/put-back.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const none = { kinds: [], ids: [], notAt: undefined };

/**
 * Returns a world with five scenes in flight: at another URL, there but perhaps not sent, at this URL, at the
 * local service, and withdrawn.
 */
async function inFlight(): Promise<World> {
  const world = new World();
  const pairs = ['there', 'unsure', 'here', 'local', 'gone'].map((id): [string, string] => [id, id]);
  await world.run({
    manifest: manifestOf(pairs),
    settings: { concurrency: 5 },
    hang: 'service.status',
    until: 60_000,
  });
  const of = (id: string): string => `WHERE scene = (SELECT scene FROM scenes WHERE id = '${id}')`;
  world.db.exec(`
    UPDATE attempts SET state = 'intended', job_id = NULL, submitted_at = NULL ${of('unsure')};
    UPDATE attempts SET base_url = 'https://here.example' ${of('here')};
    UPDATE attempts SET base_url = 'local' ${of('local')};
    UPDATE scenes SET state = 'withdrawn', position = NULL WHERE id = 'gone'`);
  return world;
}

it('`retry` gives up jobs in flight at another address, and only those', async () => {
  const world = await inFlight();
  const session = putBackSession(world.db);
  expect(session.putBack({ ...none, notAt: 'https://here.example' }, 7)).toEqual({ scenes: 2, givenUp: 3 });
  expect([...session.chosen()]).toEqual([
    { id: 'there', was: 'given-up', sendsSeed: 0 },
    { id: 'unsure', was: 'given-up', sendsSeed: 0 },
  ]);
  expect(
    world.rows(
      'SELECT id, scenes.state AS scene, a.state AS attempt, a.failure_kind AS kind FROM scenes JOIN attempts a USING (scene)',
    ),
  ).toEqual([
    { id: 'there', scene: 'waiting', attempt: 'expired', kind: 'given-up' },
    { id: 'unsure', scene: 'waiting', attempt: 'unanswered', kind: 'given-up' },
    { id: 'here', scene: 'active', attempt: 'submitted', kind: null },
    { id: 'local', scene: 'active', attempt: 'submitted', kind: null },
    { id: 'gone', scene: 'withdrawn', attempt: 'expired', kind: 'given-up' },
  ]);
});

it('`retry` identifies the scene of an edited row by its id', async () => {
  const world = new World((scene) =>
    scene === 'lake' ? { failure: { kind: 'job-failed', text: 'no memory' } } : {},
  );
  await world.run({ manifest: manifestOf([['a', 'sea']]) });
  await world.run({ manifest: manifestOf([['a', 'lake']]) });
  const session = putBackSession(world.db);
  expect(session.putBack({ ...none, ids: ['a', 'b'] }, 7)).toEqual([{ id: 'b', state: 'unknown' }]);
  expect(session.putBack({ ...none, ids: ['a'] }, 7)).toEqual({ scenes: 1, givenUp: 0 });
  expect(
    world.rows('SELECT state, failure_kind, deaths, counted_from, due_at FROM scenes ORDER BY scene'),
  ).toEqual([
    { state: 'withdrawn', failure_kind: null, deaths: 0, counted_from: 0, due_at: 0 },
    { state: 'waiting', failure_kind: null, deaths: 0, counted_from: 3, due_at: 0 },
  ]);
});

it('`retry` gives up the job in flight of one scene, even if it may not have been sent', async () => {
  const world = await inFlight();
  const session = putBackSession(world.db);
  expect(session.putBack({ ...none, giveUp: ['here', 'unsure', 'gone'] }, 7)).toEqual({
    scenes: 2,
    givenUp: 3,
  });
  expect(
    world.rows(
      'SELECT id, scenes.state AS scene, a.state AS attempt, a.failure_kind AS kind FROM scenes JOIN attempts a USING (scene)',
    ),
  ).toEqual([
    { id: 'there', scene: 'active', attempt: 'submitted', kind: null },
    { id: 'unsure', scene: 'waiting', attempt: 'unanswered', kind: 'given-up' },
    { id: 'here', scene: 'waiting', attempt: 'expired', kind: 'given-up' },
    { id: 'local', scene: 'active', attempt: 'submitted', kind: null },
    { id: 'gone', scene: 'withdrawn', attempt: 'expired', kind: 'given-up' },
  ]);
  expect(session.putBack({ ...none, giveUp: ['here', 'there', 'nowhere'] }, 8)).toEqual([
    { id: 'here', state: 'waiting', isGiveUp: true },
    { id: 'nowhere', state: 'unknown', isGiveUp: true },
  ]);
});

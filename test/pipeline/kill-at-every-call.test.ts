/** Promise: a run that dies before or after any call of any port is continued by the next one, and nothing is lost or paid twice. */
import { expect, it } from 'vitest';
import type { ManifestScenes } from '../../src/pipeline/ports.ts';
import { pictureOf, type Behaviour } from '../fakes/fake-service.ts';
import { manifestOf, World } from '../fakes/world.ts';

const manifest = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'a job that fails once'],
  ['d', 'two pictures'],
  ['e', 'moon'],
  ['g', 'by address'],
]);

const edited = manifestOf([
  ['a', 'sea at night'],
  ['b', 'hills'],
  ['e', 'moon'],
  ['f', 'a new row'],
]);

const behaviour: Behaviour = (scene, nth) => {
  if (scene.includes('fails once') && nth === 1)
    return { failure: { kind: 'job-failed', text: 'out of memory' } };
  if (scene.includes('two')) return { pictures: [pictureOf('first'), pictureOf('second')] };
  if (scene.includes('address')) return { pictures: [{ url: 'https://cdn.example/picture.png' }] };
  return {};
};

it('survives a death at every single call', async () => {
  const calls = await countHalves([manifest]);
  expect(calls).toBeGreaterThan(80);
  for (let killAt = 1; killAt <= calls; killAt++) await liveThrough([manifest], [killAt]);
});

it('survives a death at every call, and then at every seventh call of the resume', async () => {
  const calls = await countHalves([manifest]);
  let deaths = 0;
  for (let first = 1; first <= calls; first += 2) {
    for (let second = 1 + (first % 7); second <= calls; second += 7) {
      await liveThrough([manifest], [first, second]);
      deaths += 2;
    }
  }
  expect(deaths).toBeGreaterThan(500);
});

it('survives a death at every call of a run whose manifest was edited', async () => {
  const calls = await countHalves([manifest, edited]);
  for (let killAt = 1; killAt <= calls; killAt++) await liveThrough([manifest, edited], [Infinity, killAt]);
});

/** How many half calls the last of these runs makes when nobody dies. */
async function countHalves(manifests: ManifestScenes[]): Promise<number> {
  const world = new World(behaviour);
  for (const list of manifests) await world.run({ manifest: list });
  return world.killer.halves;
}

/** Runs each manifest, dying as told, then the last one to its end; and asks the service's side what happened. */
async function liveThrough(manifests: ManifestScenes[], kills: number[]): Promise<void> {
  const world = new World(behaviour);
  const last = manifests.at(-1) ?? manifest;
  for (const [i, killAt] of kills.entries()) await world.run({ manifest: manifests[i] ?? last, killAt });
  const result = await world.run({ manifest: last });
  const place = `killed at half calls ${kills.join(', ')} (${world.killer.calls.length} calls)`;
  expect(result?.ending.kind, place).toBe('complete');
  expectPicturesOfTheirJobs(world, place);
  expectNothingSentTwice(world, place);
}

interface SavedRow {
  scene: string;
  job_id: string;
  file: string;
  number: number;
}

/** Every scene ever saved has its picture on disk, with the bytes that its job made, and no other file is there. */
function expectPicturesOfTheirJobs(world: World, place: string): void {
  const saved = world.rows<SavedRow>(`
    SELECT json_extract(s.input, '$.scene') AS scene, a.job_id, p.file, p.number
    FROM pictures p JOIN attempts a USING (attempt) JOIN scenes s USING (scene)`);
  for (const { scene, job_id, file, number } of saved) {
    const expected = scene.includes('two')
      ? `picture of ${number === 1 ? 'first' : 'second'}`
      : scene.includes('address')
        ? 'picture at https://cdn.example/picture.png'
        : `picture of ${job_id}`;
    expect(world.images.files.get(file), `${file}, ${place}`).toBe(expected);
  }
  expect([...world.images.files.keys()].toSorted(), place).toEqual(saved.map(({ file }) => file).toSorted());
  const listed = world.rows<{ n: number }>("SELECT count(*) AS n FROM scenes WHERE state = 'saved'");
  const withPicture = world.rows<{ n: number }>(`
    SELECT count(DISTINCT s.scene) AS n FROM scenes s JOIN attempts a USING (scene) JOIN pictures USING (attempt)
    WHERE s.state = 'saved'`);
  expect(withPicture, place).toEqual(listed);
}

/** What the service counted is what the checkpoint declares: one job a scene, and the attempts that say why there are more. */
function expectNothingSentTwice(world: World, place: string): void {
  const declared = world.rows<{ scene: string; known: number; unanswered: number; failed: number }>(`
    SELECT json_extract(s.input, '$.scene') AS scene, count(job_id) AS known,
      sum(a.state = 'unanswered') AS unanswered, sum(a.state = 'failed') AS failed
    FROM attempts a JOIN scenes s USING (scene) GROUP BY s.scene`);
  for (const { scene, known, unanswered, failed } of declared) {
    const sent = world.service.submissionsOf(scene);
    expect(known, `jobs of "${scene}" on record, ${place}`).toBe(1 + failed);
    expect(sent, `submissions of "${scene}", ${place}`).toBeGreaterThanOrEqual(known);
    expect(sent, `submissions of "${scene}", ${place}`).toBeLessThanOrEqual(known + unanswered);
  }
}

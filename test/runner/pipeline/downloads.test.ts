/** Outputs that refer to pictures by URL, in virtual time: downloads, retries, failures, and what is left to the next run. */
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../../src/runner/core/failure.ts';
import type { Behaviour } from '../../fakes/fake-service.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const url = 'https://cdn.example/sea.png';
const notThere: Failure = { kind: 'download-failed', text: 'cdn.example answered 404' };
const notAllowed: Failure = { kind: 'urls-not-allowed', text: 'put cdn.example into `output.hosts`' };
const one = manifestOf([['a', 'sea']]);

const byAddress: Behaviour = (scene) => ({
  pictures: [{ url: `https://cdn.example/${scene}.png`, seed: '7' }],
});

function worldAnswering(answer: (url: string, nth: number) => Failure | undefined): World {
  const world = new World(byAddress);
  world.downloads.answer = answer;
  return world;
}

const attempts = (world: World) =>
  world.rows<{ state: string; failure_kind: string | null }>('SELECT state, failure_kind FROM attempts');

it('saves what was downloaded, with its seed', async () => {
  const world = worldAnswering(() => undefined);
  const result = await world.run({
    manifest: manifestOf([
      ['a', 'sea'],
      ['b', 'hills'],
    ]),
  });
  expect(result?.ending.kind).toBe('complete');
  expect([...world.images.files]).toEqual([
    ['a.png', 'picture at https://cdn.example/sea.png'],
    ['b.png', 'picture at https://cdn.example/hills.png'],
  ]);
  expect(world.events).toContainEqual(
    expect.objectContaining({ type: 'scene-saved', scene: 'a', seed: '7' }),
  );
});

it('saves pictures by address beside those that came whole', async () => {
  const world = new World(() => ({ pictures: [{ base64: 'YWJj' }, { url }] }));
  await world.run({ manifest: one });
  expect([...world.images.files.values()]).toEqual(['abc', `picture at ${url}`]);
});

describe('a download that fails', () => {
  it('is tried again after growing waits, and the job is paid once', async () => {
    const world = worldAnswering((_, nth) => (nth < 4 ? notThere : undefined));
    const result = await world.run({ manifest: one });
    expect(result?.ending.kind).toBe('complete');
    expect(world.downloads.log.length).toBe(4);
    expect(world.service.jobs.length).toBe(1);
    const waits = world.events.flatMap((event) => (event.type === 'request-troubled' ? [event.waitMs] : []));
    expect(waits).toEqual([1_500, 3_000, 6_000]);
  });

  it('waits as long as it is asked to', async () => {
    const world = worldAnswering((_, nth) => (nth === 1 ? { ...notThere, retryAfterMs: 60_000 } : undefined));
    await world.run({ manifest: one });
    expect(world.events).toContainEqual(expect.objectContaining({ kind: 'download-failed', waitMs: 60_000 }));
  });

  it('is a failed attempt after four tries, and another attempt brings the picture', async () => {
    const world = worldAnswering((_, nth) => (nth <= 4 ? notThere : undefined));
    const result = await world.run({ manifest: one });
    expect(result?.ending.kind).toBe('complete');
    expect(attempts(world)).toEqual([
      { state: 'failed', failure_kind: 'download-failed' },
      { state: 'saved', failure_kind: null },
    ]);
  });

  it('is no failure of the scene if the address is refused: the job stays in flight', async () => {
    const world = worldAnswering(() => ({ kind: 'url-refused', text: 'no https' }));
    const result = await world.run({ manifest: one });
    expect(result).toMatchObject({ ending: { kind: 'halted' }, counts: { failed: 0, active: 1 } });
    expect(world.downloads.log).toEqual([url]);
    expect(world.service.jobs.length).toBe(1);
  });

  it('from a kept answer is asked for at the service again, which may have a newer address', async () => {
    let isAllowed = false;
    const world = worldAnswering((asked) =>
      isAllowed ? (asked === url ? notThere : undefined) : notAllowed,
    );
    await world.run({ manifest: one });
    isAllowed = true;
    world.service.instead.status = () => ({
      kind: 'completed',
      status: 'COMPLETED',
      pictures: [{ url: 'https://cdn.example/newer' }],
    });
    expect((await world.run({ manifest: one }))?.ending.kind).toBe('complete');
    expect(world.service.jobs.length).toBe(1);
  });

  it('fails the attempt where what comes is no picture', async () => {
    const world = new World((_, nth) => ({
      pictures: [{ url: nth === 1 ? 'https://cdn.example/bad' : url }],
    }));
    await world.run({ manifest: one });
    expect(attempts(world).map(({ failure_kind }) => failure_kind)).toEqual(['bad-picture', null]);
  });
});

describe('where no host is allowed', () => {
  it('the run halts, and says what to do; the next one collects what is paid for', async () => {
    let isAllowed = false;
    const world = worldAnswering(() => (isAllowed ? undefined : notAllowed));
    const manifest = manifestOf([
      ['a', 'sea'],
      ['b', 'hills'],
      ['c', 'moon'],
    ]);
    const first = await world.run({ manifest });
    expect(first).toMatchObject({
      ending: { kind: 'halted', text: expect.stringContaining('output.hosts') as string },
    });
    expect(first?.counts).toMatchObject({ active: 2, waiting: 1, failed: 0, saved: 0 });
    expect(attempts(world).map(({ state }) => state)).toEqual(['submitted', 'submitted']);

    isAllowed = true;
    const second = await world.run({ manifest, afterMs: 20 * 60_000 });
    expect(second).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 3 } });
    expect(world.service.jobs.length).toBe(3);
  });

  it('the attempt stays in flight, though another picture of the job is refused', async () => {
    const world = new World(() => ({ pictures: [{ url: 'http://cdn.example/x' }, { url }] }));
    world.downloads.answer = (asked) =>
      asked.startsWith('http:') ? { kind: 'url-refused', text: 'no https' } : notAllowed;
    const result = await world.run({ manifest: one });
    expect(result?.ending.kind).toBe('halted');
    expect(attempts(world)).toEqual([{ state: 'submitted', failure_kind: 'url-refused' }]);
  });
});

it('leaves an attempt as it is where the run is left while a download waits', async () => {
  const world = worldAnswering((_, nth) => (nth === 1 ? notThere : undefined));
  const first = await world.run({
    manifest: one,
    onEvent: (event, stop) => {
      if (event.type === 'request-troubled')
        stop.request('leave', { kind: 'interrupted', text: 'Interrupted' });
    },
  });
  expect(first).toMatchObject({ ending: { kind: 'interrupted' }, counts: { active: 1 } });
  expect(world.downloads.log.length).toBe(1);
  expect(attempts(world)).toEqual([{ state: 'submitted', failure_kind: null }]);
  const second = await world.run({ manifest: one });
  expect(second?.ending.kind).toBe('complete');
  expect(world.service.jobs.length).toBe(1);
});

it('leaves an attempt as it is where the run is left while its last try is on its way', async () => {
  let stopNow: () => void = () => undefined;
  const world = worldAnswering((_, nth) => {
    if (nth === 4) stopNow();
    return nth <= 4 ? notThere : undefined;
  });
  await world.run({
    manifest: one,
    onEvent: (_, stop) => {
      stopNow = () => stop.request('leave', { kind: 'interrupted', text: 'Interrupted' });
    },
  });
  expect(attempts(world)).toEqual([{ state: 'submitted', failure_kind: null }]);
});

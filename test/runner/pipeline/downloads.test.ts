/**
 * Promise: pictures that outputs refer to by URL are downloaded with retries. A failed download is left to
 * the next run while its result can still be fetched.
 */
import { describe, expect, it } from 'vitest';
import { readLatest } from '../../../src/runner/checkpoint/read-summary.ts';
import type { Failure } from '../../../src/runner/core/failure.ts';
import type { Behaviour } from '../../fakes/fake-service.ts';
import { defaultSettings, manifestOf, World } from '../../fakes/world.ts';

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

it('saves downloaded pictures, with their seed', async () => {
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
  it.each([
    ['before', ['https://cdn.example/large.png', url]],
    ['after', [url, 'https://cdn.example/large.png']],
  ])('does not hide a refusal of another file of its output, %s it', async (_, urls) => {
    const world = new World(() => ({ pictures: urls.map((each) => ({ url: each })) }));
    const tooLarge: Failure = { kind: 'result-too-large', text: 'it is larger than `limits.body`' };
    world.downloads.answer = (asked) => (asked.includes('large') ? tooLarge : notThere);
    await world.run({ manifest: one });
    expect(world.events).toContainEqual(
      expect.objectContaining({ type: 'result-held', kind: 'result-too-large' }),
    );
    expect(world.downloads.log).toHaveLength(5);
  });

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

  it('is a failed attempt once its host has said four times that it is gone', async () => {
    const world = worldAnswering((_, nth) => (nth <= 4 ? { ...notThere, isGone: true } : undefined));
    const result = await world.run({ manifest: one });
    expect(result?.ending.kind).toBe('complete');
    expect(world.downloads.log).toHaveLength(5);
    expect(attempts(world)).toEqual([
      { state: 'failed', failure_kind: 'download-failed' },
      { state: 'saved', failure_kind: null },
    ]);
  });

  it('costs no second job if its host says more than four times that it is gone, and 503 in between', async () => {
    const world = worldAnswering((_, nth) =>
      nth > 40 ? undefined : { ...notThere, ...(nth % 3 > 0 && { isGone: true }) },
    );
    expect((await world.run({ manifest: one }))?.ending.kind).toBe('complete');
    expect(world.service.jobs.length).toBe(1);
  });

  it('is no failure of the scene if the address is refused: the job stays in flight', async () => {
    const world = worldAnswering(() => ({ kind: 'url-refused', text: 'no https' }));
    const result = await world.run({ manifest: one });
    expect(result).toMatchObject({ ending: { kind: 'halted' }, counts: { failed: 0, active: 1 } });
    expect(world.downloads.log).toEqual([url]);
    expect(world.service.jobs.length).toBe(1);
  });

  it('from a kept answer is requested at the service again, which may have a newer address', async () => {
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

  it('begins anew at a newer address of the service if its address has expired', async () => {
    const world = worldAnswering((asked) => (asked === url ? { ...notThere, isGone: true } : undefined));
    let asked = 0;
    world.service.instead.status = () => {
      asked += 1;
      const at = asked === 1 ? url : 'https://cdn.example/newer.png';
      return { kind: 'completed', status: 'COMPLETED', pictures: [{ url: at }] };
    };
    expect((await world.run({ manifest: one }))?.ending.kind).toBe('complete');
    expect(world.downloads.log).toEqual([url, 'https://cdn.example/newer.png']);
    expect(world.service.jobs.length).toBe(1);
  });

  it('fails the attempt if the same bytes that are no picture come twice', async () => {
    const world = new World((_, nth) => ({
      pictures: [{ url: nth === 1 ? 'https://cdn.example/bad' : url }],
    }));
    await world.run({ manifest: one });
    expect(attempts(world).map(({ failure_kind }) => failure_kind)).toEqual(['bad-picture', null]);
    expect(world.downloads.log).toEqual(['https://cdn.example/bad', 'https://cdn.example/bad', url]);
  });
});

const minute = 60_000;
const down: Failure = { kind: 'download-failed', text: 'cdn.example answered 503' };
const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

/** The first scene's file never comes while the service keeps it; the others come at once. */
function worldWithoutFirst(): World {
  return worldAnswering((asked) => (asked.includes('scene 0') && asked.endsWith('.png') ? down : undefined));
}

describe('a host that does not answer', () => {
  it('for some minutes costs no second job', async () => {
    const world = new World(byAddress);
    world.downloads.answer = () => (world.clock.now() - world.started < 8 * minute ? down : undefined);
    expect((await world.run({ manifest: list(6) }))?.ending.kind).toBe('complete');
    expect(world.service.jobs.length).toBe(6);
  });

  it('is shown to status, to explain and to the next run, which knows how long the result is kept', async () => {
    const world = worldAnswering(() => down);
    const settings = { halt: { ...defaultSettings.halt, unreachable: 10 * minute } };
    expect((await world.run({ manifest: one, settings }))?.ending.kind).toBe('halted');
    expect(attempts(world)).toEqual([{ state: 'submitted', failure_kind: 'download-failed' }]);
    const [held] = world.rows<{ status: string; at: number }>(
      'SELECT status, completed_at AS at FROM attempts',
    );
    expect(held?.status).toBe('COMPLETED');
    expect(held?.at).toBeLessThan(world.started + minute);
    // The attempt has not ended, so the latest failure would have no time.
    expect(readLatest(world.db).trouble).toBeUndefined();
  });

  it('for one file keeps no slot, and its job is paid again only after the retention', async () => {
    const world = worldWithoutFirst();
    world.service.behaviour = (scene, nth) => ({
      pictures: [{ url: `https://cdn.example/${scene}.${nth === 1 ? 'png' : 'again'}` }],
      lostAfterMs: Infinity,
    });
    const settings = {
      concurrency: 1,
      keepsMs: 40 * minute,
      halt: { ...defaultSettings.halt, unreachable: 90 * minute },
    };
    const result = await world.run({ manifest: list(20), settings });
    expect(result).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 20 } });
    expect(world.service.jobs.length).toBe(21);
    const saved = world.events.flatMap((event) => (event.type === 'scene-saved' ? [event.scene] : []));
    expect(saved.at(-1)).toBe('s0');
    expect(world.clock.now() - world.started).toBeGreaterThan(40 * minute);
    expect(attempts(world)[0]).toEqual({ state: 'failed', failure_kind: 'download-failed' });
  });

  it('for any file gets two jobs more at most, and loses none although their retention is over', async () => {
    const world = worldAnswering(() => down);
    world.service.behaviour = (...job) => ({ ...byAddress(...job), lostAfterMs: Infinity });
    const settings = { concurrency: 1, keepsMs: 5 * minute };
    const first = await world.run({ manifest: list(9), settings });
    expect(first).toMatchObject({
      ending: { kind: 'halted', text: expect.stringMatching(/could not be downloaded .*503/) as string },
      counts: { active: 2, failed: 0 },
    });
    world.downloads.answer = () => undefined;
    expect((await world.run({ manifest: list(9), settings, afterMs: 60 * minute }))?.ending.kind).toBe(
      'complete',
    );
    expect(world.service.jobs.length).toBe(9);
  });

  it('gets one job more in each further run, and the end names the results that are left and their retention', async () => {
    const world = worldAnswering(() => down);
    world.service.behaviour = (...job) => ({ ...byAddress(...job), lostAfterMs: Infinity });
    const halt = { ...defaultSettings.halt, unreachable: 10 * minute };
    const start = { manifest: list(9), settings: { concurrency: 1, keepsMs: 24 * 60 * minute, halt } };
    const first = await world.run(start);
    expect(first?.held).toMatchObject([{ kind: 'download-failed', count: 2, kept: 0, addresses: 2 }]);
    const keptMs = (first?.held[0]?.keptUntil ?? 0) - world.started;
    expect(Math.round(keptMs / (60 * minute))).toBe(24);
    for (const jobs of [3, 4]) {
      expect(await world.run(start)).toMatchObject({ ending: { kind: 'halted' }, held: [{ count: jobs }] });
      expect(world.service.jobs.length).toBe(jobs);
    }
  });

  it('is the reason for free slots in the statistics of a further run, and not the disk', async () => {
    const world = worldAnswering(() => down);
    world.service.behaviour = (...job) => ({ ...byAddress(...job), lostAfterMs: Infinity });
    const halt = { ...defaultSettings.halt, unreachable: 10 * minute };
    const settings = { concurrency: 1, keepsMs: 24 * 60 * minute, halt };
    await world.run({ manifest: list(20), settings });
    const result = await world.run({ manifest: list(20), settings: { ...settings, concurrency: 8 } });
    expect(world.service.jobs).toHaveLength(3);
    const { tookMs = 0, timeMs } = result?.stats ?? {};
    expect(timeMs?.outage).toBeGreaterThan(0.5 * tookMs);
    expect(timeMs?.disk).toBeLessThan(0.01 * tookMs);
  });

  it('right, but with other bytes each time, ends the run and fails no scene', async () => {
    const world = worldAnswering(() => undefined);
    let nth = 0;
    world.images.check = async () => ({
      kind: 'bad-picture',
      text: 'it is cut',
      digest: `cut ${(nth += 1)}`,
    });
    const settings = { halt: { ...defaultSettings.halt, unreachable: 10 * minute } };
    const result = await world.run({ manifest: list(5), settings });
    expect(result).toMatchObject({ ending: { kind: 'halted' }, counts: { failed: 0, active: 2 } });
    expect(world.service.jobs.length).toBe(2);
  });

  it('until the service has deleted the results ends the run before anything is paid again', async () => {
    const world = worldAnswering(() => down);
    const result = await world.run({ manifest: list(5) });
    expect(result).toMatchObject({
      ending: { kind: 'halted', text: expect.stringMatching(/before the service deleted it/) as string },
    });
    expect(world.service.jobs.length).toBe(defaultSettings.concurrency);
  });

  it('in place of which a proxy answers with its page costs no second job', async () => {
    const world = worldAnswering(() => undefined);
    const { check } = world.images;
    world.images.check = async (picture, provenance) =>
      world.clock.now() - world.started < 8 * minute
        ? { kind: 'bad-picture', text: 'it is an HTML page', digest: 'page', isText: true }
        : check.call(world.images, picture, provenance);
    expect((await world.run({ manifest: one }))?.ending.kind).toBe('complete');
    expect(world.service.jobs.length).toBe(1);
  });
});

describe('if no host is allowed', () => {
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

  it('the attempt stays in flight, although another picture of the job is refused', async () => {
    const world = new World(() => ({ pictures: [{ url: 'http://cdn.example/x' }, { url }] }));
    world.downloads.answer = (asked) =>
      asked.startsWith('http:') ? { kind: 'url-refused', text: 'no https' } : notAllowed;
    const result = await world.run({ manifest: one });
    expect(result?.ending.kind).toBe('halted');
    expect(attempts(world)).toEqual([{ state: 'submitted', failure_kind: 'url-refused' }]);
  });
});

it('leaves an attempt unchanged if the run is aborted while a download waits', async () => {
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

it('leaves an attempt unchanged if the run is aborted during its last try', async () => {
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

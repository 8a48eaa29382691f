/**
 * Promise: while the service keeps a paid clip, a failed download is repeated and the clip is not rendered
 * again.
 */
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Failure } from '../../../src/runner/core/failure.ts';
import type { Behaviour } from '../../fakes/fake-service.ts';
import { defaultSettings, manifestOf, World } from '../../fakes/world.ts';

const minute = 60_000;
const url = 'https://cdn.example/sea.mp4';
const down: Failure = { kind: 'download-failed', text: 'cdn.example answered 503' };
const notAllowed: Failure = { kind: 'urls-not-allowed', text: 'put cdn.example into `output.hosts`' };
const one = manifestOf([['a', 'sea']]);
const two = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
]);
/** The service keeps results for longer than the run waits for hosts. */
const settings = { halt: { ...defaultSettings.halt, unreachable: 10 * minute } };

const clips: Behaviour = (scene) => ({
  pictures: [{ url: `https://cdn.example/${scene}.mp4`, isClip: true }],
});

function worldAnswering(
  answer: (url: string, world: World) => Failure | undefined,
  behaviour: Behaviour = clips,
): World {
  const world = new World(behaviour);
  world.downloads.answer = (asked) => answer(asked, world);
  return world;
}

function downFor(ms: number): (url: string, world: World) => Failure | undefined {
  return (_, world) => (world.clock.now() - world.started < ms ? down : undefined);
}

const kindsOf = (world: World) =>
  world
    .rows<{ failure_kind: string | null }>('SELECT failure_kind FROM attempts')
    .map((row) => row.failure_kind);

it('a clip is saved from its file, which is then removed', async () => {
  const world = worldAnswering(() => undefined);
  let paths: string[] = [];
  const { remove } = world.downloads;
  world.downloads.remove = async (job) => {
    paths = [...paths, ...world.downloads.received.values()];
    await remove.call(world.downloads, job);
  };
  expect((await world.run({ manifest: one }))?.ending.kind).toBe('complete');
  expect([...world.images.files.values()]).toEqual([`picture at ${url}`]);
  expect(paths).toHaveLength(1);
  expect(paths.filter((path) => existsSync(path))).toEqual([]);
});

it('a clip is downloaded later in the run and paid once if its host is down for some minutes', async () => {
  const world = worldAnswering(downFor(8 * minute));
  expect((await world.run({ manifest: one, settings }))?.ending.kind).toBe('complete');
  expect(world.service.jobs.length).toBe(1);
  expect(kindsOf(world)).toEqual([null]);
  // Retries become rarer, and each one asks the service for a new URL first.
  expect(world.downloads.log.length).toBeLessThan(50);
});

it('a clip is left in flight if the host is down for longer, and the next run downloads it', async () => {
  const world = worldAnswering(downFor(20 * minute));
  const first = await world.run({ manifest: two, settings });
  expect(first).toMatchObject({
    ending: { kind: 'halted', text: expect.stringMatching(/could not be downloaded .*next run/) as string },
    counts: { active: 2, failed: 0 },
  });
  expect(await world.run({ manifest: two, settings, afterMs: 10 * minute })).toMatchObject({
    ending: { kind: 'complete' },
  });
  expect(world.service.jobs.length).toBe(2);
});

it('a clip keeps others from being paid for while none can be downloaded', async () => {
  const world = worldAnswering(() => down);
  const manifest = manifestOf(Array.from({ length: 9 }, (_, i) => [`s${i}`, `scene ${i}`]));
  expect((await world.run({ manifest, settings }))?.ending.kind).toBe('halted');
  expect(world.service.jobs.length).toBe(defaultSettings.concurrency);
});

it('a clip is rendered again once the service has deleted it', async () => {
  const world = worldAnswering((asked) =>
    asked === url && world.service.jobs.length < 3 ? down : undefined,
  );
  const endless = { halt: { ...defaultSettings.halt, unreachable: 100 * minute } };
  expect((await world.run({ manifest: two, settings: endless }))?.ending.kind).toBe('complete');
  expect(kindsOf(world)).toHaveLength(3);
  expect(new Set(kindsOf(world))).toEqual(new Set(['expired', null]));
});

it('a clip is downloaded from its kept address while that lasts, although the service has forgotten the job', async () => {
  let isAllowed = false;
  const world = worldAnswering((_, { clock }) => {
    if (!isAllowed) return notAllowed;
    return clock.elapsed() < 5 * minute ? down : undefined;
  });
  expect((await world.run({ manifest: one, settings }))?.ending.kind).toBe('halted');
  isAllowed = true;
  world.service.instead.status = () => ({ kind: 'missing', text: 'gone', isDeleted: true });
  const second = await world.run({ manifest: one, settings, afterMs: 24 * 60 * minute });
  expect(second?.ending.kind).toBe('complete');
  expect(world.service.jobs.length).toBe(1);
});

it('a clip gives its file back while it waits for a setting', async () => {
  const world = worldAnswering(() => undefined);
  world.images.check = async () => ({ kind: 'other-file-kind', text: 'it is a WebM' });
  expect((await world.run({ manifest: one }))?.ending.kind).toBe('halted');
  expect(world.downloads.received.size).toBe(0);
  expect(world.service.jobs.length).toBe(1);
});

/** Makes the store refuse each clip with this digest for some time. */
function refusedFor(ms: number, world: World, digestOf: (nth: number) => string, isText?: true): void {
  const { check } = world.images;
  let nth = 0;
  world.images.check = async (picture, provenance) => {
    if (world.clock.now() - world.started >= ms) return check.call(world.images, picture, provenance);
    nth += 1;
    const text = 'the clip cannot be used: it is damaged';
    return { kind: 'bad-clip', text, digest: digestOf(nth), ...(isText && { isText }) };
  };
}

it.each<[string, number, (nth: number) => string, true?]>([
  ['the page of a proxy comes in its place for some minutes', 5 * minute, () => 'page', true],
  ['a proxy cuts it, each time elsewhere', minute, (nth) => `cut ${nth}`],
])('a clip is downloaded again and paid once if %s', async (_, ms, digestOf, isText) => {
  const world = worldAnswering(() => undefined);
  refusedFor(ms, world, digestOf, isText);
  expect((await world.run({ manifest: one, settings }))?.ending.kind).toBe('complete');
  expect([...world.images.files.values()]).toEqual([`picture at ${url}`]);
  expect(world.service.jobs.length).toBe(1);
});

it('a clip is kept as damaged, and not rendered again, once the same damaged bytes came twice', async () => {
  const world = worldAnswering(() => undefined);
  refusedFor(Infinity, world, () => 'cut');
  expect(await world.run({ manifest: one, settings })).toMatchObject({ counts: { failed: 1 } });
  expect(kindsOf(world)).toEqual(['bad-clip']);
  expect([...world.images.files]).toEqual([['a.png.damaged', `picture at ${url}`]]);
  expect(world.downloads.log).toEqual([url, url]);
  expect(world.service.jobs.length).toBe(1);
});

it('a clip that came is kept if another one of its job is gone', async () => {
  const other = 'https://cdn.example/other.mp4';
  const world = worldAnswering(
    (asked, { service }) =>
      asked === other && service.jobs.length < 2 ? { ...down, isGone: true } : undefined,
    () => ({ pictures: [url, other].map((at) => ({ url: at, isClip: true as const })) }),
  );
  expect((await world.run({ manifest: one, settings }))?.ending.kind).toBe('complete');
  expect([...world.images.files.keys()].toSorted()).toEqual(['a-2.png', 'a.png', 'a.png.kept']);
  expect(kindsOf(world)).toEqual(['download-failed', null]);
});

it('a clip is given up in the end if the service names an address for ever at which nothing is', async () => {
  const world = worldAnswering(
    (_, { service }) => (service.jobs.length < 2 ? down : undefined),
    (...job) => ({ ...clips(...job), lostAfterMs: Infinity }),
  );
  const short = { keepsMs: 6 * minute, halt: { ...defaultSettings.halt, unreachable: 4 * minute } };
  expect((await world.run({ manifest: one, settings: short }))?.ending.kind).toBe('halted');
  const second = await world.run({ manifest: one, settings: short, afterMs: 3 * minute });
  expect(second?.ending.kind).toBe('complete');
  expect(kindsOf(world)).toEqual(['download-failed', null]);
});

it('a clip loses nothing if the program dies three times during its download', async () => {
  const world = worldAnswering(() => undefined);
  world.downloads.answer = () => {
    world.killer.isDead = true;
    return undefined;
  };
  for (let death = 0; death < 4; death++) await world.run({ manifest: one, settings, afterMs: 1_000 });
  world.downloads.answer = () => undefined;
  expect(await world.run({ manifest: one, settings })).toMatchObject({ ending: { kind: 'complete' } });
  expect(world.service.jobs.length).toBe(1);
});

/**
 * Promise: a run survives a single refusal of key, account or endpoint. A lasting refusal ends the run, after
 * it has collected the results that are paid for.
 */
import { describe, expect, it } from 'vitest';
import type { FailureKind } from '../../../src/runner/core/failure.ts';
import type { HealthReply, StatusReply, SubmitReply } from '../../../src/runner/pipeline/ports.ts';
import { defaultSettings, manifestOf, World } from '../../fakes/world.ts';

const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));
const refusal = (kind: FailureKind): SubmitReply & StatusReply & HealthReply & { kind: 'failure' } => ({
  kind: 'failure',
  failure: { kind, text: `refused by ${kind}` },
});
const noHealth = (): HealthReply => ({ kind: 'unknown', text: '404' });
const settings = { concurrency: 5 };
const refusals = (world: World) =>
  world.events.flatMap((event) => (event.type === 'access-refused' ? [event.waitMs] : []));
const regained = (world: World) => world.events.filter(({ type }) => type === 'access-regained').length;
const inFlight = (world: World) => world.rows("SELECT 1 FROM attempts WHERE state = 'submitted'").length;

/** Returns a function that is true for `lastsMs` ms, beginning with its nth call. */
function window(world: World, nth: number, lastsMs: number): () => boolean {
  let asked = 0;
  let since: number | undefined;
  return () => {
    if (++asked < nth) return false;
    since ??= world.clock.elapsed();
    return world.clock.elapsed() <= since + lastsMs;
  };
}

/** Runs each case with the health of the endpoint and without it. */
describe.each([
  ['with health', undefined],
  ['without health', noHealth],
])('a passing refusal, %s', (_, health) => {
  it.each([
    ['status', 'key-refused'],
    ['status', 'account-unusable'],
    ['submit', 'key-refused'],
    ['submit', 'account-unusable'],
    ['submit', 'endpoint-unknown'],
  ] as const)('of %s as %s costs a moment, and no job twice', async (operation, kind) => {
    for (const lastsMs of [0, 20_000]) {
      const world = new World();
      const isRefused = window(world, 7, lastsMs);
      world.service.instead[operation] = () => (isRefused() ? refusal(kind) : undefined);
      if (health !== undefined) world.service.instead.health = health;
      const result = await world.run({ manifest: list(40), settings });
      expect(result?.ending.kind).toBe('complete');
      expect(world.service.jobs).toHaveLength(40);
      expect(world.rows("SELECT 1 FROM attempts WHERE state <> 'saved'")).toEqual([]);
      expect(refusals(world)).toHaveLength(lastsMs === 0 ? 1 : 5);
      expect(regained(world)).toBe(1);
    }
  });
});

it('a refusal of everything at once is checked by one request at a time, with growing waits', async () => {
  const world = new World(() => ({ queueMs: 0, executionMs: 2_000 }));
  const isRefused = (): boolean => world.clock.elapsed() >= 10_000;
  const asked = (): number => world.service.log.length;
  let before = 0;
  const refuse = () => (isRefused() ? ((before ||= asked()), refusal('key-refused')) : undefined);
  world.service.instead = { submit: refuse, status: refuse, health: refuse };
  const result = await world.run({ manifest: list(500), settings: { concurrency: 20 } });
  expect(result?.ending.kind).toBe('not-allowed');
  expect(result?.ending.text).toContain('refused by key-refused; refused');
  expect(refusals(world)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  // The bound allows the requests that were on their way, and two for each of the five waits.
  expect(asked() - before).toBeLessThan(20 + 2 * 5);
  expect(result?.counts).toMatchObject({ failed: 0, active: inFlight(world) });
  expect(inFlight(world)).toBeGreaterThan(0);
});

it.each(['account-unusable', 'endpoint-unknown', 'key-refused'] as const)(
  'a refusal of submissions alone (%s) is believed although health and status answer, and everything in flight is collected',
  async (kind) => {
    const world = new World(() => ({ executionMs: 50_000 }));
    let sent = 0;
    const readAt: number[] = [];
    world.service.instead.submit = () => (++sent > 12 ? refusal(kind) : undefined);
    world.service.instead.status = () => (readAt.push(world.clock.elapsed()), undefined);
    const result = await world.run({ manifest: list(40), settings });
    expect(result?.ending.kind).toBe('not-allowed');
    expect(world.service.jobs).toHaveLength(12);
    expect(result?.counts).toMatchObject({ saved: 12, waiting: 28, active: 0, failed: 0 });
    // The bound allows twelve accepted jobs, a refusal for each slot, and one retry for each of the five
    // waits.
    expect(sent).toBeLessThanOrEqual(12 + settings.concurrency + 5);
  },
);

it('a refusal of submissions holds up no status request for longer than the first wait', async () => {
  const world = new World((scene) => ({ queueMs: 0, executionMs: 4_000 * (1 + Number(scene.slice(6))) }));
  let refusedAt = Infinity;
  world.service.instead.submit = () => {
    if (world.service.jobs.length < 8) return undefined;
    refusedAt = Math.min(refusedAt, world.clock.elapsed());
    return refusal('account-unusable');
  };
  const result = await world.run({ manifest: list(40), settings: { concurrency: 8 } });
  expect(result?.counts).toMatchObject({ saved: 8, active: 0 });
  const late = world.service.jobs.filter(({ completesAt }) => completesAt > world.started + refusedAt);
  expect(late.length).toBeGreaterThan(0);
  const settled = world.rows<{ settled_at: number; job_id: string }>('SELECT * FROM attempts');
  for (const { id, completesAt } of late) {
    const row = settled.find(({ job_id }) => job_id === id);
    expect((row?.settled_at ?? Infinity) - completesAt).toBeLessThan(15_000);
  }
});

it('a refusal at the first request of a run is believed at once', async () => {
  for (const operation of ['submit', 'status'] as const) {
    const world = new World();
    if (operation === 'status') await world.run({ manifest: list(3), hang: 'service.status', until: 10_000 });
    world.service.instead[operation] = () => refusal('key-refused');
    const sent = world.service.jobs.length;
    const result = await world.run({ manifest: list(3), settings });
    expect(result?.ending).toEqual({ kind: 'not-allowed', text: 'refused by key-refused' });
    expect(refusals(world)).toEqual([]);
    expect(inFlight(world)).toBe(sent);
    expect(world.clock.elapsed()).toBeLessThan(1_000);
  }
});

it('a refusal of one job alone, while others are read, ends nothing and pauses the run for some seconds', async () => {
  const world = new World();
  world.service.instead.status = (jobId) => (jobId === 'job-3' ? refusal('key-refused') : undefined);
  const timeouts = { ...defaultSettings.timeouts, queue: 60_000 };
  const result = await world.run({ manifest: list(30), settings: { ...settings, timeouts } });
  expect(result?.ending.kind).toBe('complete');
  expect(refusals(world).length).toBeLessThanOrEqual(5);
  expect(world.rows("SELECT failure_kind FROM attempts WHERE state = 'failed'")).toEqual([
    { failure_kind: 'job-overdue' },
  ]);
});

it('a refusal of results alone, while running jobs can be polled, is believed: nothing more is paid for that cannot be collected', async () => {
  const world = new World((scene) => ({ queueMs: 0, executionMs: 4_000 * (1 + Number(scene.slice(6)) * 3) }));
  world.service.instead.status = (jobId) => {
    const job = world.service.jobs.find(({ id }) => id === jobId);
    return job !== undefined && job.completesAt <= world.clock.now()
      ? refusal('account-unusable')
      : undefined;
  };
  const result = await world.run({ manifest: list(60), settings });
  expect(result?.ending.kind).toBe('not-allowed');
  expect(world.service.jobs.length).toBeLessThan(2 * settings.concurrency);
  expect(result?.counts).toMatchObject({ failed: 0, saved: 0, active: world.service.jobs.length });
});

it('a refusal of the health alone, which this key may not request, ends nothing', async () => {
  const world = new World();
  let asked = 0;
  world.service.instead.status = () => (++asked === 7 ? refusal('key-refused') : undefined);
  world.service.instead.health = () => refusal('key-refused');
  const result = await world.run({
    manifest: list(20),
    settings: { ...settings, service: { kind: 'jobs' } },
  });
  expect(result?.ending.kind).toBe('complete');
});

it('a refusal of the health that was answered before is believed as that of any other request', async () => {
  const world = new World(() => ({ executionMs: 10_000 }));
  const isRefused = (): boolean => world.clock.elapsed() >= 20_000;
  world.service.instead.submit = () => (isRefused() ? refusal('account-unusable') : undefined);
  world.service.instead.health = () => (isRefused() ? refusal('account-unusable') : undefined);
  const result = await world.run({
    manifest: list(40),
    settings: { ...settings, service: { kind: 'jobs' } },
  });
  expect(result?.ending.kind).toBe('not-allowed');
  expect(result?.counts).toMatchObject({ active: 0, failed: 0 });
  expect(world.service.log.filter((line) => line.startsWith('submit')).length).toBeLessThan(40);
});

it('refusals between which nothing is answered at all give way to the rules of an outage', async () => {
  const world = new World();
  const isDown = (): boolean => world.clock.elapsed() > 10_000 && world.clock.elapsed() < 400_000;
  let wasRefused = false;
  world.service.instead.status = () => {
    if (!isDown()) return undefined;
    if (wasRefused) return refusal('poll-failed');
    wasRefused = true;
    return refusal('key-refused');
  };
  world.service.instead.submit = () => (isDown() ? refusal('not-reached') : undefined);
  world.service.instead.health = () => (isDown() ? refusal('poll-failed') : undefined);
  const result = await world.run({ manifest: list(40), settings });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(40);
  expect(refusals(world).length).toBeLessThanOrEqual(9);
});

it('a refusal does not delay a stop, and nothing more is sent then', async () => {
  const world = new World();
  let sent = 0;
  world.service.instead.submit = () => (++sent > 6 ? refusal('account-unusable') : undefined);
  const result = await world.run({
    manifest: list(40),
    settings,
    onEvent: ({ type }, stop) => {
      if (type === 'access-refused') stop.request('drain', { kind: 'interrupted', text: 'Ctrl-C' });
    },
  });
  expect(result?.ending).toEqual({ kind: 'interrupted', text: 'Ctrl-C' });
  expect(result?.counts).toMatchObject({ saved: 6, waiting: 34, active: 0 });
  expect(world.clock.elapsed()).toBeLessThan(30_000);
});

it('a refusal of a cancellation is checked again as well', async () => {
  const world = new World(() => ({ queueMs: 3_600_000 }));
  await world.run({ manifest: list(30), settings: { concurrency: 30 }, until: 20_000 });
  const isRefused = window(world, 25, 5_000);
  world.service.instead.cancel = () => (isRefused() ? refusal('key-refused') : undefined);
  const result = await world.cancel();
  expect(result).toMatchObject({ ending: { kind: 'complete' }, left: [] });
  expect(refusals(world).length).toBeGreaterThan(0);
});

/** Promise: a run uses the full rate that the service allows. */
import { describe, expect, it } from 'vitest';
import { load, tooMuch, within, type LoadOptions } from '../../fakes/load.ts';
import {
  fixedWindow,
  seeded,
  slidingWindow,
  tokenBucket,
  Workers,
  type Limit,
} from '../../fakes/limited-service.ts';
import { isWhole, rest } from '../../fakes/tier.ts';
import { defaultSettings, manifestOf, World } from '../../fakes/world.ts';

const seed = 20_261;

/** Returns the share of `perSecond` that the service accepted from `fromMs` on. */
async function shareOf(perSecond: number, options: Omit<LoadOptions, 'seed'>, fromMs = 0): Promise<number> {
  const { accepted } = await load({ seed, ...options });
  const { lastsMs } = options;
  return within(accepted, fromMs, lastsMs) / ((perSecond * (lastsMs - fromMs)) / 1_000);
}

const submitting = (perTenSeconds: number) => ({
  ...defaultSettings.rate,
  submit: { atOnce: 200, perTenSeconds },
});

rest.describe.each<[string, () => Limit]>([
  ['a bucket of 20', () => tokenBucket(200, 20)],
  ['a bucket of 200', () => tokenBucket(200, 200)],
  ['seconds of 200', () => fixedWindow(200, 1_000)],
  ['any ten seconds of 2000', () => slidingWindow(2_000, 10_000)],
])('200 requests a second, in %s,', (_, limit) => {
  it.each([2_000, 4_000])('are used if the settings say %i in ten seconds', async (perTenSeconds) => {
    const settings = { concurrency: 200, rate: submitting(perTenSeconds) };
    const options = { isOneTooMany: limit(), executionMs: 200, settings, scenes: 6_000, lastsMs: 25_000 };
    expect(await shareOf(200, options), 'of what is allowed').toBeGreaterThan(0.9);
  });
});

describe.each([60, 200])(
  'a service that accepts %i submissions in ten seconds, which no setting states,',
  (most) => {
    const limits = { fixedWindow, slidingWindow };
    it.each(['fixedWindow', 'slidingWindow'] as const)('is given them (%s)', async (kind) => {
      const settings = { concurrency: 64 };
      const isOneTooMany = limits[kind](most, 10_000);
      const lastsMs = isWhole ? 100_000 : 40_000;
      const scenes = (most * lastsMs) / 10_000 + 100;
      const options = { isOneTooMany, executionMs: 2_000, settings, scenes, lastsMs };
      expect(await shareOf(most / 10, options, 10_000), 'of what is allowed').toBeGreaterThan(0.9);
    });
  },
);

describe.each([
  { executionMs: 2_000, lastsMs: 120_000 },
  { executionMs: 300_000, lastsMs: isWhole ? 3_600_000 : 900_000 },
])('a service that holds ten jobs of $executionMs ms', ({ executionMs, lastsMs }) => {
  it.each([undefined, 1_000, 10_000, 60_000])('is kept full (Retry-After: %s)', async (retryAfterMs) => {
    const isOneTooMany = (_: number, open: number): boolean => open >= 10;
    const settings = { concurrency: 64 };
    const options = { isOneTooMany, executionMs, settings, scenes: 1_500, lastsMs };
    const retry = retryAfterMs === undefined ? {} : { retryAfterMs };
    expect(await shareOf(10_000 / executionMs, { ...options, ...retry })).toBeGreaterThan(0.9);
  });
});

const list = (count: number): ReturnType<typeof manifestOf> =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

rest.describe.each([
  { queued: 1, executionMs: 2_000 },
  { queued: 2, executionMs: 5_000 },
  { queued: 1, executionMs: 20_000 },
  { queued: 2, executionMs: 5_000, retryAfterMs: 60_000 },
])('workers of which 8 become 2 and 8 again (%o)', ({ queued, executionMs, retryAfterMs }) => {
  it(`have work within a minute of each change (seed ${seed})`, async () => {
    const random = seeded(seed);
    const world = new World();
    world.random = seeded(seed + 1);
    const count = (now: number): number => (now < 90_000 || now >= 180_000 ? 8 : 2);
    const workers = new Workers(count, queued, () => executionMs * (0.6 + 0.8 * random()));
    serve(world, workers, retryAfterMs);
    await world.run({ manifest: list(3_000), settings: { concurrency: 64 }, until: 270_000 });
    expect(workers.shareOfBest(8, 0, 60_000), 'in the first minute').toBeGreaterThan(0.85);
    expect(workers.shareOfBest(2, 90_000, 150_000), 'with 2').toBeGreaterThan(0.85);
    expect(workers.shareOfBest(8, 180_000, 240_000), 'with 8 again').toBeGreaterThan(0.85);
    expect(world.rows("SELECT count(*) AS n FROM scenes WHERE state = 'failed'")).toEqual([{ n: 0 }]);
  });
});

function serve(world: World, workers: Workers, retryAfterMs: number | undefined): void {
  const ends = new Map<string, number>();
  let submitted = 0;
  world.service.submit = async () => {
    const now = world.clock.elapsed();
    const jobId = `job-${++submitted}`;
    if (workers.take(now, (endsAt) => ends.set(jobId, endsAt)))
      return { kind: 'accepted', jobId, status: 'IN_QUEUE' };
    return tooMuch(retryAfterMs);
  };
  world.service.status = async ({ jobId }) => {
    workers.passTo(world.clock.elapsed());
    const endsAt = ends.get(jobId);
    if (endsAt === undefined) return { kind: 'running', status: 'IN_QUEUE', isExecuting: false };
    if (endsAt > world.clock.elapsed()) return { kind: 'running', status: 'IN_PROGRESS', isExecuting: true };
    return {
      kind: 'completed',
      status: 'COMPLETED',
      pictures: [{ base64: Buffer.from(jobId).toString('base64') }],
    };
  };
}

/** Other clients use up the limit of the account, or a proxy sheds load. */
rest.describe.each([
  { share: 0.02, least: 0.9 },
  { share: 0.1, least: 0.8 },
  { share: 0.3, least: 0.5 },
])('a service that refuses $share of all status requests, whoever sends them,', ({ share, least }) => {
  it(`accepts jobs hardly slower for it (seed ${seed})`, async () => {
    const savedOf = async (refused: number): Promise<number> => {
      const random = seeded(seed);
      const world = new World(() => ({ queueMs: 0, executionMs: 400 }));
      world.random = seeded(seed + 1);
      world.service.instead.status = () => (random() < refused ? tooMuch() : undefined);
      await world.run({ manifest: list(3_500), settings: { concurrency: 64 }, until: 30_000 });
      return world.images.files.size;
    };
    expect((await savedOf(share)) / (await savedOf(0)), 'of what is saved otherwise').toBeGreaterThan(least);
  });
});

rest.it('a service that refuses every second submission is given half of the rate', async () => {
  let count = 0;
  const isOneTooMany = (): boolean => ++count % 2 === 0;
  const settings = { concurrency: 200 };
  const options = { isOneTooMany, executionMs: 400, settings, scenes: 3_000, lastsMs: 40_000 };
  expect(await shareOf(0.99 * 50, options)).toBeGreaterThan(0.9);
});

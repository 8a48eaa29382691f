/** Promise: what the service allows is used, and it seldom has to say that it is too much. */
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
import { defaultSettings, manifestOf, World } from '../../fakes/world.ts';

const seed = 20_261;
const lastsMs = 40_000;
/** A limit that nobody told the program of has to be found out first. */
const fromMs = 10_000;
/** Of a service that allows 200 requests a second. */
const steady: Record<string, () => Limit> = {
  'a bucket of 20': () => tokenBucket(200, 20),
  'a bucket of 200': () => tokenBucket(200, 200),
  'seconds of 200': () => fixedWindow(200, 1_000),
};
const limits: Record<string, () => Limit> = {
  ...steady,
  'a bucket of 1': () => tokenBucket(200, 1),
  'any ten seconds of 2000': () => slidingWindow(2_000, 10_000),
};
/** `perTenSeconds`: what pipeline.yaml says. */
const rateOf = (perTenSeconds: number): typeof defaultSettings.rate => ({
  submit: { atOnce: 200, perTenSeconds },
  status: { atOnce: 400, perTenSeconds: 10_000 },
});

async function sharesOf(options: Partial<LoadOptions>): Promise<{ used: number; refused: number }> {
  const defaults = { seed, lastsMs, latencyMs: [0.5, 0] as [number, number], jobMs: 1, concurrency: 1_000 };
  const { taken, refused } = await load({ ...defaults, limits: {}, ...options });
  const used =
    within(taken.submit, fromMs, lastsMs) +
    (options.limits?.status ? within(taken.status, fromMs, lastsMs) : 0);
  const refusals = refused.submit.length + refused.status.length;
  const answers = refusals + taken.submit.length + taken.status.length;
  return { used: used / ((200 * (lastsMs - fromMs)) / 1_000), refused: refusals / answers };
}

describe.each(Object.entries(limits))('200 requests a second, in %s,', (_, limit) => {
  it(`are used, and seldom exceeded, where the settings say so (seed ${seed})`, async () => {
    const { used, refused } = await sharesOf({ rate: rateOf(2_000), limits: { submit: [limit()] } });
    expect(used, 'of what is allowed').toBeGreaterThan(0.9);
    expect(refused, 'of the answers').toBeLessThan(0.02);
  });
});

describe.each(Object.entries(steady))('200 requests a second, in %s,', (_, limit) => {
  it(`are found out where the settings say twice as many (seed ${seed})`, async () => {
    const { used, refused } = await sharesOf({ rate: rateOf(4_000), limits: { submit: [limit()] } });
    expect(used, 'of what is allowed').toBeGreaterThan(0.9);
    expect(refused, 'of the answers').toBeLessThan(0.02);
  });
});

describe('a service that bears few at the beginning', () => {
  it('is not sent a thousand at once', async () => {
    const world = new World();
    const sentAt: number[] = [];
    world.service.instead.submit = () => {
      sentAt.push(world.clock.elapsed());
      const failure = { kind: 'overloaded', text: '429' } as const;
      return world.service.jobs.length < 10 ? undefined : { kind: 'failure', failure };
    };
    await world.run({
      manifest: list(1_000),
      settings: { concurrency: 1_000, rate: rateOf(100_000) },
      until: 2_000,
    });
    expect(world.service.jobs).toHaveLength(10);
    expect(sentAt.length).toBeLessThan(50);
  });
});

describe('200 requests a second of all kinds together', () => {
  it(`are used, and seldom exceeded (seed ${seed})`, async () => {
    const limit = tokenBucket(200, 20);
    const shared = { submit: [limit], status: [limit] };
    const { used, refused } = await sharesOf({ rate: rateOf(1_000), limits: shared, latencyMs: [10, 5] });
    expect(used, 'of what is allowed').toBeGreaterThan(0.9);
    expect(refused, 'of the answers').toBeLessThan(0.02);
  });
});

const list = (count: number): ReturnType<typeof manifestOf> =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));

describe.each([
  { queued: 1, executionMs: 2_000 },
  { queued: 2, executionMs: 5_000 },
  { queued: 1, executionMs: 20_000 },
  { queued: 2, executionMs: 5_000, retryAfterMs: 60_000 },
])('workers of which 8 become 2 and 8 again (%o)', ({ queued, executionMs, retryAfterMs }) => {
  it(`have work within a minute of each change, and seldom refuse any (seed ${seed})`, async () => {
    const random = seeded(seed);
    const world = new World();
    const count = (now: number): number => (now < 90_000 || now >= 180_000 ? 8 : 2);
    const workers = new Workers(count, queued, () => executionMs * (0.6 + 0.8 * random()));
    const { refusedAt, answers } = serve(world, workers, retryAfterMs);
    await world.run({ manifest: list(3_000), settings: { concurrency: 64 }, until: 270_000 });
    expect(workers.shareOfBest(8, 0, 60_000), 'in the first minute').toBeGreaterThan(0.85);
    expect(workers.shareOfBest(2, 90_000, 150_000), 'with 2').toBeGreaterThan(0.85);
    expect(workers.shareOfBest(8, 180_000, 240_000), 'with 8 again').toBeGreaterThan(0.85);
    expect(refusedAt.length, `429 among ${answers()} answers`).toBeLessThan(0.15 * answers());
    expect(within(refusedAt, 30_000, 90_000), '429 in a minute in which nothing changes').toBeLessThan(40);
    expect(world.rows("SELECT count(*) AS n FROM scenes WHERE state = 'failed'")).toEqual([{ n: 0 }]);
  });
});

function serve(
  world: World,
  workers: Workers,
  retryAfterMs: number | undefined,
): { refusedAt: number[]; answers: () => number } {
  const refusedAt: number[] = [];
  const ends = new Map<string, number>();
  let submitted = 0;
  let answers = 0;
  world.service.submit = async () => {
    answers += 1;
    const now = world.clock.elapsed();
    const jobId = `job-${++submitted}`;
    if (workers.take(now, (endsAt) => ends.set(jobId, endsAt)))
      return { kind: 'accepted', jobId, status: 'IN_QUEUE' };
    refusedAt.push(now);
    return tooMuch(retryAfterMs);
  };
  world.service.status = async ({ jobId }) => {
    answers += 1;
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
  return { refusedAt, answers: () => answers };
}

/** Other clients use up what the account may send, or a proxy sheds load: it is not of our number nor of our pace. */
describe.each([
  { share: 0.02, least: { submit: 0.6, status: 0.55 } },
  { share: 0.1, least: { submit: 0.75, status: 0.55 } },
  { share: 0.3, least: { submit: 0.55, status: 0.4 } },
])(
  'a service that refuses $share of all submissions or status requests, whoever sends them,',
  ({ share, least }) => {
    it.each(['submit', 'status'] as const)(
      `takes jobs hardly slower for it (%s, seed ${seed})`,
      async (operation) => {
        const random = seeded(seed);
        const undisturbed = await load({ ...shortJobs, limits: {} });
        const { taken } = await load({ ...shortJobs, limits: { [operation]: [() => random() < share] } });
        const part = taken.submit.length / undisturbed.taken.submit.length;
        expect(part, 'of what is taken otherwise').toBeGreaterThan(least[operation]);
      },
    );
  },
);

const shortJobs = {
  seed,
  lastsMs: 60_000,
  latencyMs: [1, 1] as [number, number],
  jobMs: 400,
  concurrency: 64,
};

describe('a service that refuses every second submission', () => {
  it(`is not left alone (seed ${seed})`, async () => {
    let count = 0;
    const undisturbed = await load({ ...shortJobs, limits: {} });
    const { taken } = await load({ ...shortJobs, limits: { submit: [() => ++count % 2 === 0] } });
    expect(taken.submit.length / undisturbed.taken.submit.length).toBeGreaterThan(0.1);
  });
});

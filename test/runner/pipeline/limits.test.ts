/**
 * Promise: the cost limit holds while jobs are in flight, and no job is submitted that is not expected to
 * finish in time.
 */
import { describe, expect, it } from 'vitest';
import { readExperience } from '../../../src/runner/checkpoint/read-for-plan.ts';
import { readSpending } from '../../../src/runner/checkpoint/read-totals.ts';
import { batchCost, type PriceList, type Pricing } from '../../../src/runner/core/spending.ts';
import { Stop } from '../../../src/runner/pipeline/stop.ts';
import { leftBy } from '../../account/fake-world.ts';
import { firstTier, sampled } from '../../fakes/tier.ts';
import type { Behaviour } from '../../fakes/fake-service.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));
const pricing = { perSecond: 0.01, currency: 'USD' };
const byPicture = { perPicture: 0.003, currency: 'USD' };
const four = ['a', 'b', 'c', 'd'].map((text) => ({ base64: Buffer.from(text).toString('base64') }));

/** Execution times are between 2 and 20 s, and are the same each time for a scene. */
const uneven: Behaviour = (scene) => ({
  executionMs: 2_000 + ((Number(scene.split(' ')[1]) * 7_919) % 18_001),
});

/** Returns the amount that the service will bill. */
function bill(world: World): number {
  return world.service.jobs.reduce((sum, job) => sum + job.plan.executionMs / 1000, 0) * pricing.perSecond;
}

/** Returns the cost that the run reported last. */
function said(world: World): number {
  return world.events.flatMap((event) => ('cost' in event ? [event.cost?.spent ?? NaN] : [])).at(-1) ?? NaN;
}

function stored(world: World, price: Pricing): number {
  return batchCost(readSpending(world.db, price.at), 0, price).spent;
}

/** Makes the service omit execution times. */
function hideTimes(world: World): void {
  const status = world.service.status.bind(world.service);
  world.service.status = async (...asked) => {
    const reply = await status(...asked);
    if (!('executionTimeMs' in reply)) return reply;
    const { executionTimeMs: _, ...rest } = reply;
    return rest;
  };
}

firstTier.describe('limits.cost', () => {
  it.each([1, 16, 64])(
    'is exceeded by one job at most, with %i lanes, and nearly used up',
    async (concurrency) => {
      const world = new World(uneven);
      const settings = { concurrency, pricing, limits: { cost: 10 } };
      const result = await world.run({ manifest: list(500), settings });
      expect(result?.ending.kind).toBe('limit-reached');
      expect(result?.ending.text).toContain('10.');
      expect(result?.counts).toMatchObject({ active: 0, failed: 0 });
      expect(bill(world)).toBeGreaterThan(10 - 0.2);
      expect(bill(world)).toBeLessThanOrEqual(10 + 0.2);
    },
  );

  it('holds over a crash and the next run', async () => {
    const world = new World(uneven);
    const settings = { concurrency: 16, pricing, limits: { cost: 5 } };
    await world.run({ manifest: list(500), settings, until: 60_000 });
    const result = await world.run({ manifest: list(500), settings, afterMs: minutes });
    expect(result?.ending.kind).toBe('limit-reached');
    expect(bill(world)).toBeLessThanOrEqual(5.2);
    const submitted = world.service.jobs.length;
    const again = await world.run({ manifest: list(500), settings, afterMs: 60 * minutes });
    expect(again?.ending.kind).toBe('limit-reached');
    expect(world.service.jobs).toHaveLength(submitted);
    const raised = await world.run({
      manifest: list(500),
      settings: { ...settings, limits: { cost: 6 } },
      afterMs: 60 * minutes,
    });
    expect(raised?.ending.kind).toBe('limit-reached');
    expect(world.service.jobs.length).toBeGreaterThan(submitted);
  });

  it('sends one job at a time while the cost of a job is unknown', async () => {
    const world = new World(() => ({ executionMs: 30_000 }));
    await world.run({
      manifest: list(50),
      settings: { concurrency: 16, pricing, limits: { cost: 100 } },
      until: 25_000,
    });
    expect(world.service.jobs).toHaveLength(1);
  });

  it('counts failed jobs and unanswered submissions', async () => {
    const world = new World((scene, nth) => {
      if (scene === 'scene 3') return { reply: { kind: 'unanswered', text: '502' } };
      return nth === 1 ? { failure: { kind: 'job-failed', text: 'no memory' } } : {};
    });
    const settings = { concurrency: 2, pricing, limits: { cost: 0.5 }, halt: never };
    const result = await world.run({ manifest: list(100), settings });
    expect(result?.ending.kind).toBe('limit-reached');
    expect(bill(world)).toBeLessThanOrEqual(0.5 + 0.04);
  });

  it.each([1, 16, 64])('is exact if pictures have a price, with %i lanes', async (concurrency) => {
    const world = new World(uneven);
    const settings = { concurrency, pricing: byPicture, limits: { cost: 0.3 } };
    const result = await world.run({ manifest: list(500), settings });
    expect(result?.ending).toMatchObject({
      kind: 'limit-reached',
      text: expect.stringContaining('0.30 of 0.30') as string,
    });
    expect(world.service.jobs).toHaveLength(100);
    await world.run({ manifest: list(500), settings });
    expect(world.service.jobs).toHaveLength(100);
  });

  it('learns how many pictures a job brings before it sends the second', async () => {
    const world = new World((scene) => ({ ...uneven(scene, 1, {}), pictures: [...four, ...four] }));
    const settings = { concurrency: 16, pricing: byPicture, limits: { cost: 0.1 } };
    await world.run({ manifest: list(500), settings, until: 1_000 });
    expect(world.service.jobs).toHaveLength(1);
    await world.run({ manifest: list(500), settings, afterMs: minutes });
    expect(world.service.jobs).toHaveLength(5);
  });

  it('sends by the price of a picture at once if `pricing.expect` is set, and is exceeded by one job at most with four of them', async () => {
    const world = new World((scene) => ({ ...uneven(scene, 1, {}), pictures: four }));
    const settings = { concurrency: 16, pricing: { ...byPicture, expect: 9_000 }, limits: { cost: 0.1 } };
    await world.run({ manifest: list(500), settings, until: 1_000 });
    expect(world.service.jobs).toHaveLength(9);
    await world.run({ manifest: list(500), settings, afterMs: minutes });
    expect(world.service.jobs).toHaveLength(9);
  });

  it('counts a picture that did not pass, and none of a job that the service ended', async () => {
    const world = new World((_, nth) =>
      nth === 1
        ? { failure: { kind: 'job-failed', text: 'no memory' } }
        : nth === 2
          ? { pictures: [{ base64: Buffer.from('bad').toString('base64') }] }
          : {},
    );
    const settings = { concurrency: 1, pricing: byPicture };
    await world.run({ manifest: list(3), settings });
    const costs = world.events.flatMap((event) => ('cost' in event ? [event.cost?.spent] : []));
    expect(costs.at(-1)).toBeCloseTo(6 * byPicture.perPicture);
    expect(batchCost(readSpending(world.db), 0, byPicture).spent).toBeCloseTo(6 * byPicture.perPicture);
  });

  it('keeps the cost of pictures that are rendered again', async () => {
    const world = new World(() => ({ pictures: four }));
    const settings = { pricing: byPicture };
    await world.run({ manifest: list(2), settings });
    await world.putBack({ kinds: [], ids: ['s0'], notAt: undefined, isAgain: true });
    await world.run({ manifest: list(2), settings });
    expect(batchCost(readSpending(world.db), 0, byPicture).spent).toBeCloseTo(12 * byPicture.perPicture);
  });

  it('keeps them if others bring fewer, and although a picture is missing', async () => {
    const world = new World((scene) => ({ ...(scene === 'scene 0' && { pictures: four }) }));
    await world.run({ manifest: list(3), settings: { pricing: byPicture } });
    const before = stored(world, byPicture);
    expect(before).toBeCloseTo(6 * byPicture.perPicture);
    await world.putBack({ kinds: [], ids: ['s0'], notAt: undefined, isAgain: true });
    expect(stored(world, byPicture)).toBeCloseTo(before);
    world.images.files.delete('s1.png');
    await world.repair();
    expect(stored(world, byPicture)).toBeCloseTo(before);
    await world.run({ manifest: list(3), settings: { pricing: byPicture } });
    expect(stored(world, byPicture)).toBeCloseTo(11 * byPicture.perPicture);
    expect(said(world)).toBeCloseTo(11 * byPicture.perPicture);
  });

  it('counts lost jobs as average ones, however late they are noticed', async () => {
    const world = new World(() => ({ executionMs: 600 }));
    const settings = { concurrency: 16, pricing, limits: { cost: 0.5 } };
    await world.run({ manifest: list(64), settings: { ...settings, limits: {} }, until: 1_500 });
    const lost = new Set(world.service.jobs.map(({ id }) => id));
    expect(lost.size).toBe(16);
    expect(world.rows('SELECT 1 FROM attempts WHERE executing_at IS NOT NULL')).not.toEqual([]);
    world.service.instead.status = (id) =>
      lost.has(id) ? { kind: 'missing', text: '404', isDeleted: true } : undefined;
    const result = await world.run({ manifest: list(64), settings, afterMs: 70_000 });
    expect(result).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 64 } });
    for (const spent of [said(world), stored(world, pricing), readExperience(world.db, pricing).spent])
      expect(spent).toBeCloseTo(80 * 0.006);
  });

  it('counts no time between two runs if the service reports no times', async () => {
    const world = new World(() => ({ executionMs: 10_000 }));
    hideTimes(world);
    const settings = { concurrency: 4, pricing };
    await world.run({ manifest: list(12), settings, until: 15_000 });
    expect(world.rows("SELECT 1 FROM attempts WHERE state = 'submitted'")).toHaveLength(4);
    const result = await world.run({ manifest: list(12), settings, afterMs: 8 * 60 * minutes });
    expect(result?.counts).toMatchObject({ saved: 12 });
    expect(said(world)).toBeGreaterThan(1);
    expect(said(world)).toBeLessThan(2);
    expect(stored(world, pricing)).toBeCloseTo(said(world));
  });

  it('is the same live and stored, whatever became of the jobs', async () => {
    const world = new World((scene, nth) => {
      if (scene === 'scene 3') return nth < 3 ? { reply: { kind: 'unanswered', text: '502' } } : {};
      if (scene === 'scene 4' && nth === 1)
        return { pictures: [{ base64: Buffer.from('bad').toString('base64') }] };
      if (scene === 'scene 5')
        return { failure: { kind: 'job-failed', text: 'no memory' }, executionMs: 2_000 };
      if (scene === 'scene 6') return { executionMs: 7_000_000 };
      return scene === 'scene 7' ? { reply: { kind: 'input-refused', text: '400' } } : { pictures: four };
    });
    world.service.instead.status = (id) =>
      id === world.service.jobs[0]?.id ? { kind: 'missing', text: '404', isDeleted: true } : undefined;
    const prices = { ...pricing, perPicture: 0.02, perMegapixel: 0.5, perSecondOfVideo: 0.1 };
    const all = { ...prices, expectMs: 3_000 };
    const settings = { pricing: { ...prices, expect: 3_000 }, concurrency: 3 };
    await world.run({ manifest: list(12), settings });
    expect(stored(world, all)).toBeCloseTo(said(world));
    expect(readExperience(world.db, all).spent).toBeCloseTo(said(world));
  });

  it('is shown with each job that ended', async () => {
    const world = new World(() => ({ executionMs: 10_000 }));
    await world.run({ manifest: list(3), settings: { pricing } });
    const costs = world.events.flatMap((event) => ('cost' in event ? [event.cost?.spent] : []));
    expect(costs.map((spent) => spent?.toFixed(2))).toEqual(['0.10', '0.20', '0.30']);
  });

  it('goes by the time that jobs were seen to take, if the service does not say it', async () => {
    const world = new World(() => ({ executionMs: 10_000 }));
    hideTimes(world);
    const settings = { pricing: { ...pricing, expect: 1_000 }, limits: { cost: 1 } };
    await world.run({ manifest: list(3), settings });
    expect(said(world)).toBeGreaterThan(0.25);
    expect(said(world)).toBeLessThan(0.5);
    expect(stored(world, { ...pricing, expectMs: 1_000 })).toBeCloseTo(said(world));
  });

  it('does not end a batch that has nothing left to submit', async () => {
    const world = new World(() => ({ executionMs: 10_000 }));
    const result = await world.run({ manifest: list(3), settings: { pricing, limits: { cost: 0.29 } } });
    expect(result?.ending.kind).toBe('complete');
  });
});

/** Prices are between 0.02 and 0.2, and are the same each time for a scene. */
const priced: Behaviour = (scene, nth, input) => ({
  ...uneven(scene, nth, input),
  cost: (uneven(scene, nth, input).executionMs ?? 0) / 100_000,
});
const at = 'output.cost';
const stating = (behaviour: Behaviour): World => {
  const world = new World(behaviour);
  world.service.pricesAt = at;
  return world;
};
const statedBill = (world: World): number =>
  world.service.jobs.reduce((sum, { plan }) => sum + (plan.cost ?? 0), 0);
const warnings = (world: World): string[] =>
  world.events.flatMap((event) => (event.type === 'warning' ? [event.text] : []));

describe('limits.cost by the prices that jobs state', () => {
  firstTier.it.each([
    [1, {}],
    [16, {}],
    [64, {}],
    // The rate is far too low, so only the stated prices can hold the limit.
    [64, { perPicture: 0.0001, expect: 9_000 }],
    [16, { perSecond: 0.00001 }],
  ])(
    'is exceeded by one job at most, with %i lanes and %j, and nearly used up',
    async (concurrency, rates) => {
      const world = stating(priced);
      const settings = { concurrency, pricing: { at, currency: 'USD', ...rates }, limits: { cost: 10 } };
      const result = await world.run({ manifest: list(500), settings });
      expect(result?.ending.kind).toBe('limit-reached');
      expect(statedBill(world)).toBeGreaterThan(10 - 0.4);
      expect(statedBill(world)).toBeLessThanOrEqual(10 + 0.2);
      expect(said(world)).toBeCloseTo(statedBill(world));
      const submitted = world.service.jobs.length;
      await world.run({ manifest: list(500), settings, afterMs: minutes });
      expect(world.service.jobs).toHaveLength(submitted);
    },
  );

  firstTier.it('holds over a crash and the next run, and counts no job twice', async () => {
    const world = stating(priced);
    const settings = { concurrency: 16, pricing: { at, currency: 'USD' }, limits: { cost: 5 } };
    await world.run({ manifest: list(500), settings, until: 60_000 });
    const result = await world.run({ manifest: list(500), settings, afterMs: minutes });
    expect(result?.ending.kind).toBe('limit-reached');
    expect(statedBill(world)).toBeLessThanOrEqual(5.2);
    expect(stored(world, { at, currency: 'USD' })).toBeCloseTo(statedBill(world));
  });

  firstTier.it('sends one job at a time until one states its price', async () => {
    const world = stating(() => ({ executionMs: 30_000, cost: 0.1 }));
    const settings = { concurrency: 16, pricing: { at, currency: 'USD' }, limits: { cost: 100 } };
    await world.run({ manifest: list(50), settings, until: 25_000 });
    expect(world.service.jobs).toHaveLength(1);
  });

  firstTier.it(
    'sends nothing after a job without a price, because the cost of a job is unknown',
    async () => {
      const world = stating(uneven);
      const settings = { concurrency: 16, pricing: { at, currency: 'USD' }, limits: { cost: 5 } };
      for (const afterMs of [0, minutes]) {
        const result = await world.run({ manifest: list(50), settings, afterMs });
        expect(result?.ending.kind).toBe('limit-reached');
        expect(result?.ending.text).toContain('`output.cost`');
        expect(world.service.jobs).toHaveLength(1);
      }
      // With a rate, the run can send at full speed.
      const rated = { ...settings, pricing: { at, perPicture: 0.1, currency: 'USD' } };
      const result = await world.run({ manifest: list(50), settings: rated, afterMs: minutes });
      expect(result?.counts.saved).toBe(50);
      expect(said(world)).toBeCloseTo(5);
    },
  );

  firstTier.it(
    'estimates a job that states none, by a rate or as the others, and says so once a run',
    async () => {
      const some: Behaviour = (scene) => (Number(scene.split(' ')[1]) % 3 === 2 ? {} : { cost: 0.5 });
      for (const [rates, each] of [
        [{}, 0.5],
        [{ perPicture: 0.1 }, 0.1],
        [{ perSecond: 0.01 }, 0.04],
      ] as const) {
        const world = stating(some);
        const price = { at, currency: 'USD', ...rates };
        await world.run({ manifest: list(9), settings: { concurrency: 2, pricing: price } });
        expect(said(world)).toBeCloseTo(6 * 0.5 + 3 * each);
        expect(batchCost(readSpending(world.db, at), 0, price)).toMatchObject({ stated: 3, statedJobs: 6 });
        expect(stored(world, price)).toBeCloseTo(said(world));
        expect(readExperience(world.db, price).spent).toBeCloseTo(said(world));
        expect(warnings(world)).toEqual([expect.stringContaining('`output.cost`')]);
      }
    },
  );

  firstTier.it(
    'counts the price of each job of a scene: failed, cancelled, repeated and rendered again',
    async () => {
      const world = stating((scene, nth) => {
        if (scene === 'scene 0' && nth === 1)
          return { cost: 0.3, failure: { kind: 'job-failed', text: 'no memory' } };
        if (scene === 'scene 1') return { cost: 0.2, executionMs: nth === 1 ? 7_000_000 : 1_000 };
        if (scene === 'scene 2' && nth === 1)
          return { cost: 0.4, pictures: [{ base64: Buffer.from('bad').toString('base64') }] };
        return { cost: 0.1 };
      });
      const price = { at, perPicture: 5, perSecond: 1, currency: 'USD' };
      const settings = { concurrency: 2, pricing: price };
      const result = await world.run({ manifest: list(4), settings });
      expect(result?.counts.saved).toBe(4);
      const first = 0.3 + 0.1 + 2 * 0.2 + 0.4 + 0.1 + 0.1;
      expect(said(world)).toBeCloseTo(first);
      expect(stored(world, price)).toBeCloseTo(first);
      await world.putBack({ kinds: [], ids: ['s0', 's3'], notAt: undefined, isAgain: true });
      expect(stored(world, price)).toBeCloseTo(first);
      await world.run({ manifest: list(4), settings });
      expect(said(world)).toBeCloseTo(first + 0.2);
      world.images.files.delete('s1.png');
      await world.repair();
      await world.run({ manifest: list(4), settings });
      expect(said(world)).toBeCloseTo(first + 0.4);
      expect(stored(world, price)).toBeCloseTo(first + 0.4);
    },
  );

  firstTier.it('counts the price of a job whose result the service has deleted', async () => {
    const world = stating(() => ({ cost: 0.1 }));
    world.service.instead.status = (jobId) =>
      jobId === world.service.jobs[0]?.id
        ? { kind: 'missing', text: 'deleted', isDeleted: true, cost: { at, amount: 0.7 } }
        : undefined;
    const price = { at, perPicture: 5, currency: 'USD' };
    await world.run({ manifest: list(2), settings: { concurrency: 1, pricing: price } });
    expect(said(world)).toBeCloseTo(0.7 + 2 * 0.1);
    expect(stored(world, price)).toBeCloseTo(0.7 + 2 * 0.1);
  });

  firstTier.it(
    'bills the pictures of jobs that state no price, and only these, also after they are rendered again',
    async () => {
      const world = stating((scene) => (scene === 'scene 1' ? { pictures: four } : { cost: 0.5 }));
      const price = { at, perPicture: 0.1, currency: 'USD' };
      const settings = { concurrency: 2, pricing: price };
      await world.run({ manifest: list(3), settings });
      expect(said(world)).toBeCloseTo(1 + 0.4);
      await world.putBack({ kinds: [], ids: ['s0', 's1'], notAt: undefined, isAgain: true });
      expect(stored(world, price)).toBeCloseTo(1 + 0.4);
      await world.run({ manifest: list(3), settings });
      expect(said(world)).toBeCloseTo(1.5 + 0.8);
      expect(stored(world, price)).toBeCloseTo(1.5 + 0.8);
    },
  );

  firstTier.it('counts prices of the present path alone, whatever it was before', async () => {
    const world = stating(() => ({ cost: 1_000 }));
    world.service.pricesAt = 'output.seed';
    const settings = (price: PriceList) => ({ concurrency: 1, pricing: price, limits: { cost: 5 } });
    const wrong = await world.run({
      manifest: list(9),
      settings: settings({ at: 'output.seed', currency: 'USD' }),
    });
    expect(wrong?.ending.text).toContain('1000.00 of 5.00 USD');
    world.service.pricesAt = at;
    world.service.behaviour = () => ({ cost: 0.5 });
    const right = await world.run({ manifest: list(9), settings: settings({ at, currency: 'USD' }) });
    expect(right?.counts.saved).toBe(9);
    // The first job has no price at this path. It is estimated by the average of the others.
    expect(said(world)).toBeCloseTo(9 * 0.5);
    expect(stored(world, { perPicture: 0.1, currency: 'USD' })).toBeCloseTo(0.9);
    expect(stored(world, { at: 'output.seed', currency: 'USD' })).toBeCloseTo(9 * 1_000);
  });

  it.each(
    sampled(
      Array.from({ length: 90 }, (_, call) => call + 1),
      { ms: 60 },
    ),
  )('are in the books once, whatever call the program dies at (%i)', async (killAt) => {
    const world = stating((_, nth) =>
      nth === 1
        ? { cost: 0.5, executionMs: 2_000 }
        : { cost: 0.25, executionMs: 1_000, failure: { kind: 'job-failed', text: 'no memory' } },
    );
    const price = { at, currency: 'USD' };
    const settings = { concurrency: 3, pricing: price, halt: never };
    await world.run({ manifest: list(6), settings, killAt });
    await world.run({ manifest: list(6), settings, afterMs: minutes });
    const costs = world.rows(
      "SELECT count(*) AS jobs, sum(cost) AS stated FROM attempts WHERE state IN ('saved', 'failed') AND cost IS NOT NULL",
    );
    const { stated: sum, statedJobs, spent } = batchCost(readSpending(world.db, at), 0, price);
    expect([{ jobs: statedJobs, stated: sum }]).toEqual(costs);
    expect(said(world)).toBeCloseTo(spent);
    // A lost job is estimated by the average of the others. The estimate is never below its bill.
    expect(spent).toBeGreaterThanOrEqual(statedBill(world) - 1e-9);
    const books = leftBy(world).books.attempts.filter(({ state }) => state === 'saved');
    expect(sum).toBeGreaterThanOrEqual(0.5 * books.length - 1e-9);
  });

  firstTier.it('has the price of a result that waited for a setting', async () => {
    const world = stating(() => ({ cost: 0.5, place: 'elsewhere' }));
    const settings = { concurrency: 1, pricing: { at, currency: 'USD' } };
    await world.run({ manifest: list(2), settings });
    world.service.place = 'elsewhere';
    await world.run({ manifest: list(2), settings: { ...settings, outputDigest: 'other' } });
    expect(said(world)).toBeCloseTo(1);
    expect(world.service.jobs).toHaveLength(2);
  });
});

const never = { consecutive: 1_000, percent: 100, minimum: 1, unreachable: 1e9, refused: 30_000 };

firstTier.describe('limits.jobs', () => {
  it('bounds the submissions of the batch, over all its runs', async () => {
    const world = new World();
    const settings = { concurrency: 8, limits: { jobs: 20 } };
    await world.run({ manifest: list(100), settings, until: 6_000 });
    const result = await world.run({ manifest: list(100), settings });
    expect(result?.ending).toMatchObject({
      kind: 'limit-reached',
      text: expect.stringContaining('20') as string,
    });
    expect(world.service.jobs.length).toBeLessThanOrEqual(20);
    // A submission left unanswered by a crash may have become a job, so it counts.
    expect(world.rows("SELECT count(*) AS n FROM attempts WHERE state <> 'refused'")).toEqual([{ n: 20 }]);
    expect(result?.counts.active).toBe(0);
  });

  it('does not count submissions that were surely not accepted', async () => {
    const world = new World((scene) =>
      scene === 'scene 0' ? {} : { reply: { kind: 'input-refused', text: '400' } },
    );
    const result = await world.run({ manifest: list(30), settings: { limits: { jobs: 20 }, halt: never } });
    expect(result?.counts).toMatchObject({ saved: 1, failed: 29 });
    expect(result?.ending.kind).toBe('incomplete');
  });
});

/** Returns the local time as `HH:MM`. */
function onTheWall(epochMs: number): string {
  return new Date(epochMs).toTimeString().slice(0, 5);
}

firstTier.describe('limits.until', () => {
  it('submits nothing that is not expected to be done by then, and is done by then', async () => {
    const world = new World(() => ({ queueMs: 1_000, executionMs: 5 * minutes }));
    const untilAt = world.started + 60 * minutes;
    const result = await world.run({
      manifest: list(500),
      settings: { concurrency: 4, limits: { until: onTheWall(untilAt) } },
    });
    expect(result?.ending.kind).toBe('limit-reached');
    expect(result?.ending.text).toContain('limits.until');
    expect(result?.counts.active).toBe(0);
    expect(world.clock.now()).toBeLessThanOrEqual(untilAt + minutes);
    const last = Math.max(...world.service.jobs.map((job) => job.completesAt));
    expect(last).toBeLessThanOrEqual(untilAt);
    expect(last).toBeGreaterThan(untilAt - 11 * minutes);
  });

  it('holds for submissions that a full service has not taken yet', async () => {
    const full: Behaviour = () => ({ reply: { kind: 'overloaded', text: '429: full' } });
    const world = new World(full);
    const untilAt = world.started + 10 * minutes;
    const result = await world.run({
      manifest: list(2),
      settings: { concurrency: 4, limits: { until: onTheWall(untilAt) } },
    });
    expect(result?.ending.kind).toBe('limit-reached');
    expect(world.clock.now()).toBeLessThanOrEqual(untilAt + minutes);
    expect(result?.counts).toMatchObject({ waiting: 2, active: 0, failed: 0 });
  });
});

firstTier.it(
  'limits.for ends the submissions in time although timers fire early and time passes during the checks',
  async () => {
    const world = new World(() => ({ executionMs: 10 * minutes }));
    const stop = new Stop();
    const stoppedAfterMs: number[] = [];
    stop.draining.addEventListener('abort', () => stoppedAfterMs.push(world.clock.elapsed()));
    // The timer fires a millisecond early, and each later reading of the clock takes a millisecond.
    let looks = 0;
    world.service.instead.submit = () => {
      const { clock, killer } = world;
      const [sleep, elapsed] = [clock.sleep.bind(clock), clock.elapsed.bind(clock)];
      clock.sleep = (ms, signal) => sleep(Math.max(1, ms - 1), signal);
      clock.elapsed = () => {
        const isChecking = elapsed() >= 19_999 && killer.calls.at(-1) === 'checkpoint.nextDue';
        return elapsed() + (isChecking || looks > 0 ? looks++ : 0);
      };
      return undefined;
    };
    const settings = { concurrency: 1, limits: { for: 20_000 } };
    const result = await world.run({ manifest: list(2), settings, stop });
    expect(result?.ending).toMatchObject({ kind: 'limit-reached' });
    expect(stoppedAfterMs).toEqual([expect.closeTo(20_000, -3)]);
  },
);

/**
 * Promise: overload, silence and outages of the service cost time. They lose no scene and cause no flood of
 * unanswered submissions.
 */
import { describe, expect, it } from 'vitest';
import { readRecords } from '../../../src/runner/checkpoint/scene-records.ts';
import type { Event } from '../../../src/runner/pipeline/event.ts';
import type { Stop } from '../../../src/runner/pipeline/stop.ts';
import type { FailureKind } from '../../../src/runner/core/failure.ts';
import type { StatusReply, SubmitReply } from '../../../src/runner/pipeline/ports.ts';
import { pictureOf } from '../../fakes/fake-service.ts';
import { firstTier, isWhole } from '../../fakes/tier.ts';
import { defaultSettings, manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const list = (count: number) =>
  manifestOf(Array.from({ length: count }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]));
const refusing = (
  kind: FailureKind,
  text: string = kind,
): SubmitReply & StatusReply & { kind: 'failure' } => ({
  kind: 'failure',
  failure: { kind, text },
});
const submissions = (world: World): number =>
  world.service.log.filter((line) => line.startsWith('submit')).length;

/** Returns a random source in [0, 1). The same seed gives the same sequence. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('a busy service', () => {
  it('that takes 20 submissions a second is given most of that', async () => {
    const world = new World();
    const taken: number[] = [];
    world.random = seeded(20);
    world.service.instead.submit = () => {
      const now = world.clock.elapsed();
      while ((taken[0] ?? now) <= now - 1_000) taken.shift();
      if (taken.length >= 20) return refusing('overloaded');
      taken.push(now);
      return undefined;
    };
    const count = isWhole ? 3_000 : 800;
    const result = await world.run({ manifest: list(count), settings: { concurrency: 300 } });
    expect(result?.ending.kind).toBe('complete');
    const lasted = (Math.max(...world.service.jobs.map((job) => job.submittedAt)) - world.started) / 1_000;
    expect(lasted, 'the last ones wait up to ten seconds').toBeLessThan(count / (0.9 * 20) + 10);
    expect(world.rows("SELECT count(*) AS n FROM attempts WHERE state <> 'saved'")).toEqual([{ n: 0 }]);
  });

  firstTier.it('that has room for 20 jobs is kept full', async () => {
    const world = new World(() => ({ queueMs: 0, executionMs: 5_000 }));
    world.random = seeded(20);
    world.service.instead.submit = () => {
      const open = world.service.jobs.slice(-100).filter((job) => job.completesAt > world.clock.now());
      return open.length < 20 ? undefined : refusing('overloaded');
    };
    const result = await world.run({ manifest: list(400), settings: { concurrency: 60 } });
    expect(result?.ending.kind).toBe('complete');
    expect(world.clock.elapsed(), 'hardly more than 400 jobs of 5 s, 20 at once').toBeLessThan(115_000);
  });

  it('that refuses everything for a while is sent to at full speed soon after', async () => {
    const world = new World();
    world.service.instead.submit = () =>
      world.clock.elapsed() < 30_000 ? refusing('overloaded') : undefined;
    await world.run({ manifest: list(isWhole ? 2_000 : 700), settings: { concurrency: 200 } });
    const since = world.service.jobs.map((job) => job.submittedAt - world.started - 30_000);
    expect(since.filter((ms) => ms < 30_000).length, 'jobs within half a minute').toBeGreaterThan(500);
    expect(world.rows("SELECT count(*) AS n FROM scenes WHERE state <> 'saved'")).toEqual([{ n: 0 }]);
  });

  firstTier.it('gets no more than the set number of requests in any ten seconds', async () => {
    const world = new World(() => ({ queueMs: 0, executionMs: 100 }));
    const sent: number[] = [];
    world.service.instead.submit = () => (sent.push(world.clock.elapsed()), undefined);
    const rate = { ...defaultSettings.rate, submit: { atOnce: 200, perTenSeconds: 50 } };
    await world.run({ manifest: list(300), settings: { concurrency: 100, rate } });
    for (const [i, at] of sent.entries()) {
      expect(sent.filter((other, j) => j >= i && other < at + 10_000).length).toBeLessThanOrEqual(50);
    }
  });
});

firstTier.describe('a service that refuses most submissions', () => {
  const warningsOf = ({ events }: World): string[] =>
    events.flatMap((event) => (event.type === 'warning' ? event.text : []));

  it('has the run name the setting once', async () => {
    const world = new World(() => ({ queueMs: 0, executionMs: 60_000 }));
    world.random = seeded(20);
    world.service.instead.submit = () => {
      const open = world.service.jobs.slice(-10).filter((job) => job.completesAt > world.clock.now());
      return open.length < 2 ? undefined : refusing('overloaded');
    };
    const result = await world.run({ manifest: list(20), settings: { concurrency: 20 } });
    expect(result?.ending.kind).toBe('complete');
    expect(warningsOf(world)).toEqual([
      expect.stringMatching(
        /^the service refused \d+ of \d+ submissions within a minute\. They are sent again, and no scene fails for it\. Set `rate\.submit\.perTenSeconds` to about 1, or `concurrency` to the number of jobs that the service holds$/,
      ),
    ]);
    expect(world.rows('SELECT DISTINCT attempts FROM scenes')).toEqual([{ attempts: 1 }]);
  });

  it('is not mentioned if it refuses fewer than it accepts', async () => {
    const world = new World(() => ({ queueMs: 0, executionMs: 2_000 }));
    world.random = seeded(20);
    const random = seeded(7);
    world.service.instead.submit = () => (random() < 0.4 ? refusing('overloaded') : undefined);
    await world.run({ manifest: list(800), settings: { concurrency: 20 } });
    expect(warningsOf(world)).toEqual([]);
  });
});

firstTier.describe('a service that names the time to come back', () => {
  const until = 60_000;
  const notNow = (world: World): (SubmitReply & StatusReply & { kind: 'failure' }) | undefined => {
    const retryAfterMs = until - world.clock.elapsed();
    return retryAfterMs > 0 && retryAfterMs <= 50_000
      ? { kind: 'failure', failure: { kind: 'overloaded', text: '429', retryAfterMs } }
      : undefined;
  };

  it('gets no submission before, also not of other scenes', async () => {
    const world = new World(() => ({ queueMs: 0, executionMs: 15_000 }));
    const sentAt: number[] = [];
    world.service.instead.submit = () => (sentAt.push(world.clock.elapsed()), notNow(world));
    const rate = { ...defaultSettings.rate, submit: { atOnce: 200, perTenSeconds: 10 } };
    await world.run({ manifest: list(200), settings: { concurrency: 100, rate } });
    const pausedAt = sentAt.filter((at) => at >= 10_000 && at < 15_000);
    expect(pausedAt, 'the first that is refused').toHaveLength(1);
    const ended = sentAt.filter((at) => at >= 15_000 && at < until).length;
    expect(ended, 'no more than jobs that have ended').toBeLessThanOrEqual(11);
    expect(sentAt.some((at) => at >= until && at < until + 2_000)).toBe(true);
  });

  it('for status requests gets submissions all the same, and no status request', async () => {
    const world = new World(() => ({ queueMs: 0, executionMs: 5_000 }));
    const [asked, sent]: number[][] = [[], []];
    world.service.instead.submit = () => (sent?.push(world.clock.elapsed()), undefined);
    world.service.instead.status = () => (asked?.push(world.clock.elapsed()), notNow(world));
    const rate = { ...defaultSettings.rate, submit: { atOnce: 200, perTenSeconds: 10 } };
    const result = await world.run({ manifest: list(60), settings: { concurrency: 100, rate } });
    expect(result?.counts).toMatchObject({ saved: 60 });
    const inPause = (at: number): boolean => at >= 11_000 && at < until;
    expect(asked?.filter(inPause)).toEqual([]);
    expect(sent?.filter(inPause).length).toBeGreaterThan(45);
  });
});

describe('a service that asks to be asked again at once', () => {
  const atOnce = (kind: FailureKind): StatusReply & SubmitReply & { kind: 'failure' } => ({
    kind: 'failure',
    failure: { kind, text: 'Retry-After: 0', retryAfterMs: 0 },
  });

  firstTier.it('while it knows nothing of a job is asked with growing waits all the same', async () => {
    const world = new World();
    let asked = 0;
    world.service.instead.status = () => {
      if (world.clock.elapsed() >= 10 * minutes) return undefined;
      asked += 1;
      return atOnce('poll-failed');
    };
    const result = await world.run({ manifest: list(1) });
    expect(result?.counts).toMatchObject({ saved: 1 });
    expect(asked, 'status requests in ten minutes').toBeLessThan(30);
  });

  it('while it is full is asked with growing waits all the same', async () => {
    const scenes = isWhole ? 1_000 : 200;
    const world = new World();
    let asked = 0;
    world.service.instead.submit = (scene) => {
      if (scene !== 'scene 0' || world.clock.elapsed() >= 10 * minutes) return undefined;
      asked += 1;
      return atOnce('overloaded');
    };
    const result = await world.run({ manifest: list(scenes), settings: { concurrency: 20 } });
    expect(result?.counts).toMatchObject({ saved: scenes });
    expect(asked, 'submissions in ten minutes').toBeLessThan(150);
  });
});

firstTier.it(
  'a service that asks to be left alone for ten minutes is polled for results all the same: they are deleted in thirty',
  async () => {
    const world = new World();
    let refusals = 4;
    world.service.instead.status = () =>
      refusals-- > 0
        ? { kind: 'failure', failure: { kind: 'overloaded', text: '429', retryAfterMs: 10 * minutes } }
        : undefined;
    const result = await world.run({ manifest: list(1), settings: { concurrency: 1 } });
    expect(result?.counts).toMatchObject({ saved: 1 });
    expect(world.clock.elapsed()).toBeLessThan(9 * minutes);
  },
);

firstTier.describe('lost answers', () => {
  it('of one submission in seven do not slow the others down', async () => {
    const world = new World();
    const random = seeded(7);
    world.service.instead.submit = () => (random() < 0.15 ? refusing('unanswered', '502') : undefined);
    await world.run({ manifest: list(600), settings: { concurrency: 30 } });
    const lasted = Math.max(...world.service.jobs.map((job) => job.submittedAt)) - world.started;
    // 600 jobs of 5 s in 30 slots take 100 s.
    expect(lasted).toBeLessThan(140_000);
    expect(world.rows("SELECT count(*) AS n FROM scenes WHERE state <> 'saved'")).toEqual([{ n: 0 }]);
  });

  it('of all submissions lead to single probes at growing intervals, and sending recovers at once', async () => {
    const world = new World();
    world.service.instead.submit = () =>
      world.clock.elapsed() < 10 * minutes ? refusing('unanswered', '502') : undefined;
    const result = await world.run({ manifest: list(100), settings: { concurrency: 20 } });
    expect(result?.ending.kind).toBe('complete');
    expect(submissions(world) - 100, 'submissions that nobody answered').toBeLessThan(20 + 15);
    const first = Math.min(...world.service.jobs.map((job) => job.submittedAt)) - world.started;
    const last = Math.max(...world.service.jobs.map((job) => job.submittedAt)) - world.started;
    expect(first).toBeLessThan(12.1 * minutes);
    expect(last - first).toBeLessThan(2 * minutes);
  });

  it('for half an hour end the run, resumable, with no scene set aside', async () => {
    const world = new World(() => ({ reply: { kind: 'unanswered', text: 'a proxy says 502' } }));
    const result = await world.run({ manifest: list(100), settings: { concurrency: 5 } });
    expect(result?.ending.kind).toBe('halted');
    expect(result?.ending.text).toMatch(/not answered submissions for 3\d min.*a proxy says 502/);
    expect(result?.counts).toMatchObject({ failed: 0, waiting: 100 });
    expect(submissions(world)).toBeLessThan(40);
  });

  it('of the same scene end the run at its limit only while no request is answered', async () => {
    const world = new World(() => ({ reply: { kind: 'unanswered', text: '502' } }));
    const result = await world.run({ manifest: list(1) });
    expect(result?.ending).toMatchObject({
      kind: 'halted',
      text: expect.stringContaining('10 times') as string,
    });
    expect(result?.counts).toMatchObject({ waiting: 1, failed: 0 });
    expect(submissions(world)).toBe(10);
  });

  it('are held if a person wants to decide: nothing is submitted again', async () => {
    const world = new World((scene) =>
      scene === 'scene 1' ? { reply: { kind: 'unanswered', text: '502' } } : {},
    );
    const settings = { retry: { ...defaultSettings.retry, unanswered: 'hold' } } as const;
    const result = await world.run({ manifest: list(3), settings });
    expect(result?.counts).toMatchObject({ saved: 2, failed: 1 });
    expect(submissions(world)).toBe(3);
    expect(world.rows("SELECT failure_kind FROM scenes WHERE state = 'failed'")).toEqual([
      { failure_kind: 'unanswered' },
    ]);
  });

  it('are listed in the report, also if a later one brought the picture', async () => {
    const world = new World((scene, nth) => ({ isAnswerLost: scene === 'scene 1' && nth < 3 }));
    await world.run({ manifest: list(3) });
    const rows = [...readRecords(world.db)].map(({ id, state, attempts, unanswered }) => ({
      id,
      state,
      attempts,
      unanswered,
    }));
    expect(rows).toEqual([
      { id: 's0', state: 'saved', attempts: 1, unanswered: 0 },
      { id: 's1', state: 'saved', attempts: 3, unanswered: 2 },
      { id: 's2', state: 'saved', attempts: 1, unanswered: 0 },
    ]);
  });
});

firstTier.describe('a service whose jobs cannot be polled', () => {
  const lost: SubmitReply = { ...refusing('unanswered', 'it named the job "job 7"'), isEachLost: true };

  it('is paid for no more of them: the run ends, and the paid jobs are declared', async () => {
    const world = new World();
    world.service.instead.submit = () => lost;
    const result = await world.run({ manifest: list(100), settings: { concurrency: 20 } });
    expect(result?.ending).toMatchObject({ kind: 'halted', text: 'Halted: it named the job "job 7"' });
    expect(submissions(world)).toBe(1);
    expect(world.rows("SELECT state FROM attempts WHERE state <> 'refused'")).toEqual([
      { state: 'unanswered' },
    ]);
    expect(result?.counts).toMatchObject({ failed: 0, waiting: 100 });
  });

  it('is paid for one of them, even if it was too busy before for as many as may be in flight', async () => {
    const world = new World();
    world.random = seeded(7);
    let [tries, paid] = [0, 0];
    world.service.instead.submit = () => {
      tries += 1;
      if (tries < 60) return refusing('overloaded');
      // All refused submissions wait for the same moment.
      if (tries === 60)
        return { kind: 'failure', failure: { kind: 'overloaded', text: '429', retryAfterMs: 30_000 } };
      paid += 1;
      return lost;
    };
    const result = await world.run({ manifest: list(100), settings: { concurrency: 20 } });
    expect(result?.ending).toMatchObject({ kind: 'halted' });
    expect(paid).toBe(1);
    expect(result?.counts).toMatchObject({ failed: 0, waiting: 100 });
  });

  const named = 'the service answered with the id of another job, job: ';

  /** Returns a world whose service gives all jobs the same id and picture. */
  function oneForAll(): World {
    const world = new World();
    world.service.instead.submit = () => ({ kind: 'accepted', jobId: 'job', status: '' });
    world.service.instead.status = () => ({
      kind: 'completed',
      status: 'COMPLETED',
      pictures: [pictureOf('of whom?')],
    });
    return world;
  }

  it('is paid for three jobs if it gives all jobs the same id, and no scene gets the picture of another', async () => {
    const world = oneForAll();
    const result = await world.run({ manifest: list(100), settings: { concurrency: 20 } });
    expect(result?.ending).toMatchObject({ kind: 'halted', text: expect.stringContaining(named) as string });
    expect(submissions(world)).toBe(3);
    expect(world.rows('SELECT state, failure_kind FROM attempts ORDER BY attempt')).toEqual([
      { state: 'expired', failure_kind: 'unanswered' },
      { state: 'unanswered', failure_kind: 'unanswered' },
      { state: 'unanswered', failure_kind: 'unanswered' },
    ]);
    expect(world.images.files.size).toBe(0);
    const again = await world.run({ manifest: list(100), settings: { concurrency: 20 } });
    expect(again?.ending.kind).toBe('halted');
    expect(submissions(world)).toBe(5);
    expect(world.images.files.size).toBe(0);
  });

  it('continues if it gives an id again now and then', async () => {
    const world = new World();
    let sent = 0;
    world.service.instead.submit = () => {
      sent += 1;
      return [3, 6].includes(sent) ? { kind: 'accepted', jobId: 'job-1', status: '' } : undefined;
    };
    const result = await world.run({ manifest: list(10), settings: { concurrency: 1 } });
    expect(result?.ending.kind).toBe('complete');
    expect(world.images.files.size).toBe(10);
  });

  it.each(['leave', 'death'])('trusts no such job in a next run, after a %s', async (how) => {
    const world = oneForAll();
    const left = {
      onEvent: (event: Event, stop: Stop): void => {
        if (event.type === 'attempt-failed') stop.request('leave', { kind: 'interrupted', text: 'Ctrl-C' });
      },
    };
    const settings = { concurrency: 20 };
    await world.run({ manifest: list(100), settings, ...(how === 'leave' ? left : { until: 1 }) });
    expect(world.rows("SELECT 1 AS one FROM attempts WHERE state = 'submitted'")).toHaveLength(1);
    world.service.instead.submit = () => undefined;
    await world.run({ manifest: list(1), settings: { ...settings, limits: { jobs: 1 } } });
    expect(world.images.files.has('s0.png')).toBe(false);
    expect(world.rows('SELECT state, failure_kind FROM attempts ORDER BY attempt LIMIT 1')).toEqual([
      { state: 'expired', failure_kind: 'unanswered' },
    ]);
  });

  it('keeps the scenes that were saved before the id came again', async () => {
    const world = oneForAll();
    await world.run({ manifest: list(1) });
    await world.run({ manifest: list(2) });
    expect(world.images.files.size).toBe(1);
    expect(world.rows('SELECT state FROM scenes')).toEqual([{ state: 'saved' }, { state: 'waiting' }]);
  });
});

firstTier.describe('a host that cannot be reached', () => {
  it('is tried for half an hour, then the run ends, resumable; nothing was sent, nothing is set aside', async () => {
    const world = new World(() => ({ reply: { kind: 'not-reached', text: 'the host name is not known' } }));
    const result = await world.run({ manifest: list(50), settings: { concurrency: 10 } });
    expect(result?.ending.kind).toBe('halted');
    expect(result?.ending.text).toContain('the host name is not known');
    expect(result?.counts).toMatchObject({ waiting: 50, failed: 0 });
    expect(world.rows("SELECT count(*) AS n FROM attempts WHERE state <> 'refused'")).toEqual([{ n: 0 }]);
  });

  it('for status requests stops new submissions within minutes, and the run after half an hour, leaving its jobs', async () => {
    const world = new World();
    world.service.instead.status = () =>
      world.clock.elapsed() > 20_000 ? refusing('poll-failed', 'connection refused') : undefined;
    const result = await world.run({ manifest: list(500), settings: { concurrency: 5 } });
    expect(result?.ending.kind).toBe('halted');
    expect(result?.counts.active).toBe(5);
    expect(result?.counts.failed).toBe(0);
    world.service.instead.status = () => undefined;
    const sent = world.service.jobs.length;
    const next = await world.run({ manifest: list(sent), settings: { concurrency: 5 } });
    expect(next?.counts).toMatchObject({ failed: 0, active: 0, waiting: 0 });
  });

  it('comes back before that: everything is collected and nothing submitted twice', async () => {
    const world = new World(() => ({ queueMs: 0, executionMs: 60_000 }));
    const isDown = (): boolean => world.clock.elapsed() > 20_000 && world.clock.elapsed() < 20 * minutes;
    world.service.instead.submit = () => (isDown() ? refusing('not-reached') : undefined);
    world.service.instead.status = () => (isDown() ? refusing('poll-failed') : undefined);
    const result = await world.run({ manifest: list(30), settings: { concurrency: 10 } });
    expect(result?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(30);
  });
});

firstTier.describe('failed attempts', () => {
  it('halt the run when too large a share fails, although some succeed', async () => {
    const world = new World((scene) =>
      Number(scene.split(' ')[1]) % 3 === 0 ? {} : { failure: { kind: 'job-failed', text: 'no memory' } },
    );
    const result = await world.run({ manifest: list(1_000), settings: { concurrency: 4 } });
    expect(result?.ending.kind).toBe('halted');
    expect(result?.ending.text).toMatch(/of \d+ attempts failed.*no memory/);
    expect(world.service.jobs.length).toBeLessThan(60);
    expect(result?.counts.active).toBe(0);
  });

  it('that bring the very same damaged bytes set the scene aside at the second', async () => {
    const world = new World(() => ({ pictures: [{ base64: Buffer.from('bad').toString('base64') }] }));
    const result = await world.run({ manifest: list(1) });
    expect(result?.counts.failed).toBe(1);
    expect(world.service.jobs).toHaveLength(2);
  });
});

/**
 * Promise: a batch saves every scene of its list, repeats failed attempts, and continues after an
 * interruption. These tests use virtual time.
 */
import { describe, expect, it } from 'vitest';
import type { FailureKind } from '../../../src/runner/core/failure.ts';
import { FatalFailure } from '../../../src/runner/core/failure.ts';
import { pictureOf, type Behaviour } from '../../fakes/fake-service.ts';
import { defaultSettings, manifestOf, World } from '../../fakes/world.ts';
import { firstTier, isWhole } from '../../fakes/tier.ts';

const minutes = 60_000;
const abc = manifestOf([
  ['a', 'sea'],
  ['b', 'hills'],
  ['c', 'moon'],
]);

/** Fails the first `times` submissions of the scene. Later submissions succeed. */
function failing(scene: string, times: number, kind: FailureKind): Behaviour {
  return (name, nth) => (name === scene && nth <= times ? { failure: { kind, text: `${kind} ${nth}` } } : {});
}

function answering(scene: string, times: number, kind: FailureKind, retryAfterMs?: number): Behaviour {
  const reply = { kind, text: kind, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  return (name, nth) => (name === scene && nth <= times ? { reply } : {});
}

const attemptStates = (world: World, id: string): string[] =>
  world
    .rows<{ state: string }>(
      `SELECT a.state FROM attempts a JOIN scenes USING (scene) WHERE id = '${id}' ORDER BY number`,
    )
    .map(({ state }) => state);

const sceneStates = (world: World): Record<string, string> =>
  Object.fromEntries(
    world
      .rows<{ id: string; state: string }>('SELECT id, state FROM scenes')
      .map(({ id, state }) => [id, state]),
  );

firstTier.describe('a batch', () => {
  it('saves every scene, submitting in the order of the manifest and never more at once than allowed', async () => {
    const many = manifestOf(Array.from({ length: 40 }, (_, i) => [`s${i}`, `scene ${i}`]));
    const world = new World();
    let most = 0;
    const onEvent = (): void => {
      const now = world.clock.now();
      const open = world.rows<{ n: number }>(
        "SELECT count(*) AS n FROM attempts WHERE state IN ('intended', 'submitted')",
      );
      most = Math.max(
        most,
        open[0]?.n ?? 0,
        world.service.jobs.filter((job) => job.completesAt > now).length,
      );
    };
    const result = await world.run({ manifest: many, settings: { concurrency: 7 }, onEvent });
    expect(result).toMatchObject({ ending: { kind: 'complete' }, counts: { saved: 40 }, report: 'report' });
    expect(most).toBe(7);
    expect(world.events.filter(({ type }) => type === 'recovered')).toEqual([]);
    expect(world.service.jobs.map((job) => job.scene)).toEqual(
      Array.from({ length: 40 }, (_, i) => `scene ${i}`),
    );
    expect(world.images.files.size).toBe(40);
  });

  it('records every instant of an attempt, and the number of its polls', async () => {
    const world = new World(() => ({ queueMs: 3_000, executionMs: 5_000 }));
    const started = world.clock.now();
    await world.run({ manifest: manifestOf([['a', 'sea']]) });
    const [row] = world.rows<Record<string, number>>('SELECT * FROM attempts');
    const job = world.service.jobs[0];
    expect(row).toMatchObject({ status: 'COMPLETED', delay_time_ms: 3_000, execution_time_ms: 5_000 });
    expect(row).toMatchObject({ intended_at: started, submitted_at: started, polls: job?.polls });
    expect(row?.['executing_at']).toBeGreaterThanOrEqual(started + 3_000);
    expect(row?.['completed_at']).toBeGreaterThanOrEqual(started + 8_000);
    expect(row?.['settled_at']).toBeGreaterThanOrEqual(row?.['completed_at'] ?? Infinity);
  });

  it('records when a failed job was seen to be over', async () => {
    const world = new World(failing('hills', 9, 'job-failed'));
    await world.run({ manifest: abc });
    expect(
      world.rows("SELECT count(*) AS n FROM attempts WHERE state = 'failed' AND completed_at IS NULL"),
    ).toEqual([{ n: 0 }]);
  });

  it('does nothing the second time', async () => {
    const world = new World();
    await world.run({ manifest: abc });
    const requests = world.service.log.length;
    const again = await world.run({ manifest: abc, afterMs: 24 * 60 * minutes });
    expect(again?.ending.kind).toBe('complete');
    expect(world.service.log.length).toBe(requests);
  });

  it('saves several pictures of one output under names of their own and keeps seeds exactly', async () => {
    const world = new World(() => ({ pictures: [pictureOf('x'), pictureOf('y'), pictureOf('z')] }));
    await world.run({ manifest: manifestOf([['a', 'sea']]) });
    expect([...world.images.files.keys()].toSorted()).toEqual(['a-2.png', 'a-3.png', 'a.png']);
    expect(world.images.files.get('a-3.png')).toBe('picture of z');
    expect(world.rows('SELECT DISTINCT seed FROM pictures')).toEqual([{ seed: '12345678901234567890' }]);
  });

  it('gives names that would be one file to one scene only, also if they are written at the same moment', async () => {
    const world = new World();
    const same = manifestOf([
      ['Fox', 'one'],
      ['fox', 'two'],
      ['FOX', 'three'],
    ]);
    await world.run({ manifest: same, settings: { concurrency: 3 } });
    const names = [...world.images.files.keys()].map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(3);
  });
});

firstTier.describe('a failed attempt', () => {
  it('is followed by another, after a wait that grows, up to the limit; then the scene has failed with its reason', async () => {
    const world = new World(failing('hills', 3, 'job-failed'));
    const result = await world.run({ manifest: abc });
    expect(result).toMatchObject({ ending: { kind: 'incomplete' }, counts: { saved: 2, failed: 1 } });
    expect(attemptStates(world, 'b')).toEqual(['failed', 'failed', 'failed']);
    const ends = world.events.filter(({ type }) => type === 'attempt-failed');
    expect(ends).toMatchObject([
      { next: 'waiting', attempt: 1, jobId: 'job-2' },
      { next: 'waiting', attempt: 2, jobId: expect.any(String) as string },
      {
        next: 'failed',
        attempt: 3,
        jobId: expect.any(String) as string,
        kind: 'job-failed',
        text: 'job-failed 3',
      },
    ]);
    const sent = world.service.jobs.filter((job) => job.scene === 'hills').map((job) => job.submittedAt);
    const gaps = sent.slice(1).map((at, i) => at - (sent[i] ?? 0));
    expect(gaps[1]).toBeGreaterThan(gaps[0] ?? Infinity);
    expect(world.rows("SELECT failure_kind, failure_text FROM scenes WHERE id = 'b'")).toEqual([
      { failure_kind: 'job-failed', failure_text: 'job-failed 3' },
    ]);
  });

  it('is forgotten once a later one is saved', async () => {
    const world = new World(failing('hills', 2, 'job-cancelled'));
    expect((await world.run({ manifest: abc }))?.ending.kind).toBe('complete');
    expect(attemptStates(world, 'b')).toEqual(['failed', 'failed', 'saved']);
  });

  it('without output is tried once more only', async () => {
    const world = new World(failing('hills', 9, 'no-output'));
    await world.run({ manifest: abc });
    expect(world.service.submissionsOf('hills')).toBe(2);
  });

  it('without output stays that, if the service deletes the job while the output is waited for', async () => {
    const world = new World((scene) => (scene === 'hills' ? { emptyAnswers: 9 } : {}));
    world.service.instead.status = (jobId) =>
      (world.service.completedAnswers.get(jobId) ?? 0) > 1 && isOfHills(world, jobId)
        ? { kind: 'missing', text: 'job not found' }
        : undefined;
    const result = await world.run({ manifest: abc });
    expect(result?.counts).toMatchObject({ saved: 2, failed: 1 });
    expect(attemptStates(world, 'b')).toEqual(['failed', 'failed']);
    expect(world.rows("SELECT failure_kind FROM scenes WHERE id = 'b'")).toEqual([
      { failure_kind: 'no-output' },
    ]);
  });

  it('by a picture that does not pass leaves no file', async () => {
    const bad = { base64: Buffer.from('bad').toString('base64') };
    const world = new World((scene) => (scene === 'hills' ? { pictures: [pictureOf('x'), bad] } : {}));
    const result = await world.run({ manifest: abc });
    expect(result?.counts).toMatchObject({ saved: 2, failed: 1 });
    expect([...world.images.files.keys()].toSorted()).toEqual(['a.png', 'c.png']);
  });
});

firstTier.describe('a submission', () => {
  it('that is refused for its input fails the scene at once', async () => {
    const world = new World(answering('hills', 9, 'input-refused'));
    const result = await world.run({ manifest: abc });
    expect(result).toMatchObject({ ending: { kind: 'incomplete' }, counts: { saved: 2, failed: 1 } });
    expect(world.service.log.filter((line) => line === 'submit hills')).toHaveLength(1);
  });

  it('that was surely not accepted is sent again within its attempt', async () => {
    const world = new World(answering('hills', 5, 'not-reached'));
    expect((await world.run({ manifest: abc }))?.ending.kind).toBe('complete');
    expect(attemptStates(world, 'b')).toEqual(['saved']);
  });

  it('that meets a busy service waits as long as it is told to, and no scene fails of it', async () => {
    const world = new World(answering('hills', 30, 'overloaded', 7 * minutes));
    const started = world.clock.now();
    expect((await world.run({ manifest: abc }))?.ending.kind).toBe('complete');
    expect(attemptStates(world, 'b')).toEqual(['saved']);
    expect(world.clock.now() - started).toBeGreaterThanOrEqual(30 * 7 * minutes);
  });

  it('without an answer is declared, and the scene submitted again', async () => {
    const world = new World(answering('hills', 2, 'unanswered'));
    expect((await world.run({ manifest: abc }))?.ending.kind).toBe('complete');
    expect(attemptStates(world, 'b')).toEqual(['unanswered', 'unanswered', 'saved']);
  });

  it('that is answered with the id of another job brings no picture of another scene', async () => {
    const world = new World();
    const submit = world.service.submit.bind(world.service);
    let first = '';
    world.service.submit = async (...args) => {
      const reply = await submit(...args);
      if (reply.kind !== 'accepted') return reply;
      first ||= reply.jobId;
      return world.service.jobs.length === 2 ? { ...reply, jobId: first } : reply;
    };
    expect((await world.run({ manifest: abc }))?.ending.kind).toBe('complete');
    expect(attemptStates(world, 'b')).toEqual(['unanswered', 'saved']);
    // The wrong answer may have been the one for this scene too, so its job is not trusted.
    expect(attemptStates(world, 'a')).toEqual(['expired', 'saved']);
    expect(new Set(world.images.files.values()).size).toBe(3);
  });

  it('never happens more often than the bound says, whatever becomes of it', async () => {
    const world = new World(answering('hills', 99, 'unanswered'));
    const retry = { ...defaultSettings.retry, submissions: 4, firstWait: 1_000, longestWait: 2_000 };
    await world.run({ manifest: abc, settings: { retry } });
    expect(world.service.log.filter((line) => line === 'submit hills')).toHaveLength(4);
    expect(sceneStates(world)).toMatchObject({ b: 'failed' });
  });
});

firstTier.describe('a refused key', () => {
  it('ends the run after at most as many requests as slots, and leaves every scene unchanged', async () => {
    const many = manifestOf(Array.from({ length: 500 }, (_, i) => [`s${i}`, `scene ${i}`]));
    const world = new World(() => ({ reply: { kind: 'key-refused', text: 'the key was revoked' } }));
    const result = await world.run({ manifest: many, settings: { concurrency: 8 } });
    expect(result?.ending).toEqual({ kind: 'not-allowed', text: 'the key was revoked' });
    expect(world.service.log.filter((line) => line.startsWith('submit')).length).toBeLessThanOrEqual(8);
    expect(result?.counts).toMatchObject({ waiting: 500, failed: 0, active: 0 });
    const again = new World();
    again.db.exec('SELECT 1');
    expect(
      new Set(world.rows<{ state: string }>('SELECT state FROM attempts').map(({ state }) => state)),
    ).toEqual(new Set(['refused']));
  });
});

firstTier.describe('a run after an interruption', () => {
  const interruptAfter = (saved: number) => {
    let seen = 0;
    return (
      event: { type: string },
      stop: { request: (mode: 'leave', ending: { kind: 'interrupted'; text: string }) => void },
    ): void => {
      if (event.type === 'scene-saved') seen += 1;
      if (seen === saved) stop.request('leave', { kind: 'interrupted', text: 'Interrupted' });
    };
  };
  const many = manifestOf(Array.from({ length: 30 }, (_, i) => [`s${i}`, `scene ${i}`]));

  /** No two jobs complete at the same moment. */
  const oneByOne: Behaviour = (scene) => ({
    executionMs: 2_000 + 3_000 * Number(scene.replace('scene ', '')),
  });

  it('polls the jobs in flight first, the oldest before the others, and submits none of them again', async () => {
    const world = new World(oneByOne);
    const first = await world.run({
      manifest: many,
      settings: { concurrency: 10 },
      onEvent: interruptAfter(3),
    });
    expect(first).toMatchObject({ ending: { kind: 'interrupted' } });
    const inFlight = world.rows<{ job_id: string }>(
      "SELECT job_id FROM attempts WHERE state = 'submitted' ORDER BY submitted_at",
    );
    expect(inFlight.length).toBeGreaterThan(4);
    const before = world.service.log.length;
    world.events.length = 0;
    await world.run({ manifest: many, settings: { concurrency: 2 }, afterMs: 20 * minutes });
    expect(world.events).toContainEqual({ type: 'recovered', unanswered: 0, inFlight: inFlight.length });
    const log = world.service.log.slice(before);
    expect(log.slice(0, inFlight.length)).toEqual(inFlight.map(({ job_id }) => `status ${job_id}`));
    for (let i = 0; i < 30; i++) expect(world.service.submissionsOf(`scene ${i}`)).toBe(1);
  });

  it('submits exactly the expired jobs again, after every job in flight was polled', async () => {
    const world = new World();
    await world.run({ manifest: many, settings: { concurrency: 10 }, onEvent: interruptAfter(3) });
    const lost = world.rows<{ id: string }>(
      "SELECT id FROM attempts JOIN scenes USING (scene) WHERE attempts.state = 'submitted'",
    );
    const before = world.service.log.length;
    const halt = { ...defaultSettings.halt, consecutive: 3 };
    const result = await world.run({
      manifest: many,
      settings: { concurrency: 10, halt },
      afterMs: 40 * minutes,
    });
    expect(result?.ending.kind).toBe('complete');
    expect(
      world.service.log.slice(before, before + lost.length).every((line) => line.startsWith('status')),
    ).toBe(true);
    const twice = new Set(lost.map(({ id }) => id.replace('s', 'scene ')));
    for (let i = 0; i < 30; i++) {
      expect(world.service.submissionsOf(`scene ${i}`), `scene ${i}`).toBe(twice.has(`scene ${i}`) ? 2 : 1);
    }
    expect(world.rows("SELECT count(*) AS n FROM attempts WHERE state = 'expired'")).toEqual([
      { n: lost.length },
    ]);
  });

  it('follows jobs where they were sent, whatever the file says today', async () => {
    const world = new World(oneByOne);
    await world.run({ manifest: many, settings: { concurrency: 4 }, onEvent: interruptAfter(1) });
    const elsewhere = { baseUrl: 'https://other.example', id: 'new', version: 'v1' } as const;
    const asked: string[] = [];
    const status = world.service.status.bind(world.service);
    world.service.status = (job) => {
      asked.push(`${job.jobId} ${job.endpoint.baseUrl}`);
      return status(job);
    };
    await world.run({ manifest: many, settings: { endpoint: elsewhere }, afterMs: minutes });
    const oldJobs = new Set(
      world.service.jobs
        .filter((job) => job.endpoint.baseUrl === 'https://service.example')
        .map(({ id }) => id),
    );
    for (const line of asked) {
      const [jobId = '', url] = line.split(' ');
      expect(url, jobId).toBe(oldJobs.has(jobId) ? 'https://service.example' : 'https://other.example');
    }
    expect(asked.some((line) => line.endsWith('https://service.example'))).toBe(true);
  });
});

firstTier.describe('a status request', () => {
  it('that brings nothing readable is made again, and the job is left alone', async () => {
    const world = new World();
    const status = world.service.status.bind(world.service);
    let troubles = 0;
    world.service.status = async (job) => {
      troubles += 1;
      if (troubles % 3 !== 0) return { kind: 'failure', failure: { kind: 'poll-failed', text: '502' } };
      return status(job);
    };
    expect((await world.run({ manifest: abc }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(3);
  });

  it('that does not know a fresh job is made again', async () => {
    const world = new World();
    const status = world.service.status.bind(world.service);
    const submitted = world.clock.now();
    world.service.status = async (job) =>
      world.clock.now() - submitted < 2 * minutes ? { kind: 'missing', text: '404' } : status(job);
    expect((await world.run({ manifest: abc, settings: { concurrency: 3 } }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(3);
  });

  it('is bounded by the deadlines of queue and execution', async () => {
    const world = new World((scene) => (scene === 'hills' ? { queueMs: 999 * minutes } : {}));
    const result = await world.run({ manifest: abc });
    expect(result?.counts).toMatchObject({ saved: 2, failed: 1 });
    expect(world.rows("SELECT DISTINCT failure_kind FROM attempts WHERE state = 'failed'")).toEqual([
      { failure_kind: 'job-overdue' },
    ]);
  });
});

firstTier.describe('a run that should not go on', () => {
  const many = manifestOf(Array.from({ length: 200 }, (_, i) => [`s${i}`, `scene ${i}`]));

  it('halts after so many failed attempts in a row, and collects what is in flight', async () => {
    const world = new World((_, nth) =>
      nth < 99 ? { failure: { kind: 'job-failed', text: 'no memory' } } : {},
    );
    const result = await world.run({ manifest: many, settings: { concurrency: 4 } });
    expect(result?.ending.kind).toBe('halted');
    expect(result?.ending.text).toContain('no memory');
    expect(world.service.jobs.length).toBeLessThanOrEqual(24);
    expect(result?.counts.active).toBe(0);
  });

  it.each([
    [3, 'incomplete', /^67 scenes are not saved$/],
    [2, 'halted', /^Halted: 11 of 21 attempts failed \(`halt\.percent`\)/],
  ])(
    'continues while pictures come between the failures, of which there are few (one in %i)',
    async (nth, kind, text) => {
      const world = new World((scene) =>
        Number(scene.replace('scene ', '')) % nth === 0
          ? { failure: { kind: 'job-failed', text: 'no' } }
          : {},
      );
      const retry = { ...defaultSettings.retry, attempts: 1 };
      const halt = { ...defaultSettings.halt, consecutive: 5, percent: 50, minimum: 20 };
      const result = await world.run({ manifest: many, settings: { concurrency: 1, retry, halt } });
      expect(result?.ending).toEqual({ kind, text: expect.stringMatching(text) as string });
    },
  );

  it('submits nothing after its time is over, and collects what is in flight', async () => {
    const world = new World();
    const result = await world.run({
      manifest: many,
      settings: { concurrency: 4, limits: { for: 60_000 } },
    });
    expect(result?.ending.kind).toBe('limit-reached');
    expect(result?.counts).toMatchObject({ active: 0, failed: 0 });
    expect(result?.counts.saved).toBe(world.service.jobs.length);
    expect(
      Math.max(...world.service.jobs.map((job) => job.submittedAt)) - Date.UTC(2026, 0, 1),
    ).toBeLessThanOrEqual(60_000);
  });

  it('stops in order if the disk takes no picture; the next run saves the result that is still there', async () => {
    const world = new World();
    const write = world.images.write.bind(world.images);
    world.images.write = () =>
      Promise.reject(new FatalFailure({ kind: 'output-unwritable', text: 'the disk is full' }));
    const full = await world.run({ manifest: abc });
    expect(full?.ending).toEqual({ kind: 'output-unwritable', text: 'the disk is full' });
    expect(full?.counts.saved).toBe(0);
    world.images.write = write;
    expect((await world.run({ manifest: abc, afterMs: 5 * minutes }))?.ending.kind).toBe('complete');
    expect(world.service.jobs).toHaveLength(3);
  });
});

describe('an edited manifest', () => {
  it('submits exactly the new and the edited rows of a half-done list', async () => {
    const rows = isWhole ? 10_000 : 300;
    const list = Array.from({ length: rows }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]);
    const world = new World(() => ({ queueMs: 0, executionMs: 200 }));
    let saved = 0;
    // The rate is high enough that no submission waits when the run is stopped.
    const rate = { ...defaultSettings.rate, submit: { atOnce: 200, perTenSeconds: 100_000 } };
    await world.run({
      manifest: manifestOf(list),
      settings: { concurrency: 200, rate },
      onEvent: (event, stop) => {
        if (event.type === 'scene-saved' && ++saved === rows / 2)
          stop.request('drain', { kind: 'interrupted', text: '' });
      },
    });
    const sent = new Set(world.service.jobs.map((job) => job.scene));
    expect(sent.size).toBeGreaterThanOrEqual(rows / 2);
    const edited = shuffled([
      ...list.slice(100).map(edit),
      ...Array.from({ length: 50 }, (_, i): [string, string] => [`n${i}`, `new ${i}`]),
    ]);
    const before = world.service.jobs.length;
    const result = await world.run({ manifest: manifestOf(edited), settings: { concurrency: 500 } });
    expect(result?.ending.kind).toBe('complete');
    const expected = edited.map(([, scene]) => scene).filter((scene) => !sent.has(scene));
    expect(
      world.service.jobs
        .slice(before)
        .map((job) => job.scene)
        .toSorted(),
    ).toEqual(expected.toSorted());
    // Rows that were never sent are forgotten.
    const listed = new Set(edited.map(([, scene]) => scene));
    const gone = [...sent].filter((scene) => !listed.has(scene));
    expect(result?.counts.withdrawn).toBe(gone.length);
  });

  firstTier.it('is complete if it was asked to finish and had nothing left', async () => {
    const world = new World();
    const result = await world.run({
      manifest: abc,
      onEvent: (event, stop) => {
        if (event.type === 'scene-submitted' && event.scene === 'c')
          stop.request('drain', { kind: 'interrupted', text: '' });
      },
    });
    expect(result?.ending).toEqual({ kind: 'complete', text: 'Every scene is saved' });
  });

  firstTier.it(
    'still collects what is in flight for rows that are gone, and keeps their pictures',
    async () => {
      const world = new World();
      await world.run({ manifest: abc, settings: { concurrency: 3 }, onEvent: leaveWhenSubmitted(3) });
      const result = await world.run({ manifest: manifestOf([['a', 'sea']]), afterMs: minutes });
      expect(result?.counts).toMatchObject({ saved: 1, withdrawn: 2 });
      expect([...world.images.files.keys()].toSorted()).toEqual(['a.png', 'b.png', 'c.png']);
      expect(world.service.jobs).toHaveLength(3);
    },
  );

  firstTier.it('is not complete if the job of a row that is gone is left', async () => {
    const world = new World((scene) => ({ executionMs: scene === 'sea' ? 1_000 : 9 * minutes }));
    await world.run({ manifest: abc, settings: { concurrency: 3 }, onEvent: leaveWhenSubmitted(3) });
    const left = await world.run({
      manifest: manifestOf([['a', 'sea']]),
      onEvent: ({ type }, stop) => {
        if (type === 'scene-saved') stop.request('leave', { kind: 'interrupted', text: 'Interrupted' });
      },
    });
    expect(left?.counts).toMatchObject({ saved: 1, withdrawn: 2 });
    expect(left?.ending.kind).toBe('interrupted');
  });

  firstTier.it(
    'keeps the old picture of an edited row beside the new one, under a name that shows this',
    async () => {
      const world = new World();
      await world.run({ manifest: manifestOf([['a', 'sea']]) });
      await world.run({ manifest: manifestOf([['a', 'sea at night']]) });
      const [first, second] = [...world.images.files.keys()].toSorted();
      expect(first).toBe('a.png');
      expect(second).toMatch(/^a\.replaced-[0-9a-f]{8}\.png$/);
      expect(world.images.files.get('a.png')).toBe('picture of job-2');
    },
  );

  firstTier.it(
    'collects the job of a row that was edited while it was in flight, under a name that shows this',
    async () => {
      const world = new World();
      await world.run({ manifest: manifestOf([['a', 'sea']]), onEvent: leaveWhenSubmitted(1) });
      await world.run({ manifest: manifestOf([['a', 'sea at night']]), afterMs: minutes });
      expect(world.images.files.get('a.png')).toBe('picture of job-2');
      expect([...world.images.files.values()].toSorted()).toEqual(['picture of job-1', 'picture of job-2']);
    },
  );

  firstTier.it(
    'pays nothing for a row that was edited back, and its picture takes its name again',
    async () => {
      const world = new World();
      await world.run({ manifest: manifestOf([['a', 'sea']]) });
      await world.run({ manifest: manifestOf([['a', 'sea at night']]) });
      await world.run({ manifest: manifestOf([['a', 'sea']]) });
      expect(world.service.jobs).toHaveLength(2);
      expect(world.images.files.get('a.png')).toBe('picture of job-1');
      expect(sceneStates(world)).toBeTruthy();
      expect(world.rows("SELECT file, name FROM pictures WHERE file = 'a.png'")).toEqual([
        { file: 'a.png', name: 'a.png' },
      ]);
    },
  );

  firstTier.it('takes rows that come back as they were left: saved, in flight or failed', async () => {
    const world = new World(failing('moon', 9, 'job-failed'));
    await world.run({ manifest: abc });
    await world.run({ manifest: manifestOf([['b', 'hills']]) });
    expect(sceneStates(world)).toEqual({ a: 'withdrawn', b: 'saved', c: 'withdrawn' });
    await world.run({ manifest: abc });
    expect(sceneStates(world)).toEqual({ a: 'saved', b: 'saved', c: 'failed' });
    expect(world.service.jobs).toHaveLength(5);
  });

  firstTier.it('keeps bad rows that were skipped apart, and is not complete with them', async () => {
    const bad = [{ position: 2, source: 'list.csv:3', problem: 'the scene is empty' }];
    const world = new World();
    const result = await world.run({ manifest: manifestOf([['a', 'sea']], bad) });
    expect(result).toMatchObject({ ending: { kind: 'incomplete' }, counts: { saved: 1, invalid: 1 } });
  });
});

firstTier.it.each([
  ['is done', {}],
  ['was interrupted', { onEvent: leaveWhenSubmitted(2) }],
  ['may not go on', { behaviour: answering('hills', 1, 'key-refused') }],
] as const)('leaves nothing behind that keeps the program waiting, when it %s', async (_when, given) => {
  const { behaviour, ...options } = { behaviour: undefined, ...given };
  const world = new World(behaviour);
  await world.run({ manifest: abc, ...options });
  expect(world.clock.sleeping).toBe(0);
});

function leaveWhenSubmitted(count: number) {
  let seen = 0;
  return (
    event: { type: string },
    stop: { request: (mode: 'leave', ending: { kind: 'interrupted'; text: string }) => void },
  ): void => {
    if (event.type === 'scene-submitted' && ++seen === count)
      stop.request('leave', { kind: 'interrupted', text: '' });
  };
}

/** Edits every hundredth row. */
function edit([id, scene]: [string, string], i: number): [string, string] {
  return i % 99 === 0 && i / 99 < 100 ? [id, `${scene}, edited`] : [id, scene];
}

function shuffled<T>(items: T[]): T[] {
  const copy = [...items];
  let seed = 12_345;
  for (let i = copy.length - 1; i > 0; i--) {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    const j = seed % (i + 1);
    [copy[i], copy[j]] = [copy[j] as T, copy[i] as T];
  }
  return copy;
}

function isOfHills(world: World, jobId: string): boolean {
  return world.service.jobs.some(({ id, scene }) => id === jobId && scene === 'hills');
}

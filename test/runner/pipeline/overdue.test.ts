/** Promise: an overdue job is cancelled at the service, and a result that came meanwhile is kept. */
import { expect, it } from 'vitest';
import { Stop } from '../../../src/runner/pipeline/stop.ts';
import { moveJob } from '../../fakes/service-jobs.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const one = manifestOf([['a', 'sea']]);
const slow = (ms: number) => new World((_, nth) => (nth === 1 ? { queueMs: ms } : {}));

it('an overdue job is cancelled and rendered by another attempt', async () => {
  const world = slow(999 * minutes);
  const result = await world.run({ manifest: one });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.log.filter((line) => line.startsWith('cancel'))).toEqual(['cancel job-1']);
  expect(world.rows('SELECT state, failure_kind FROM attempts ORDER BY number')).toEqual([
    { state: 'failed', failure_kind: 'job-overdue' },
    { state: 'saved', failure_kind: null },
  ]);
  expect(world.rows('SELECT failure_text FROM attempts WHERE number = 1')).toEqual([
    { failure_text: 'its status is still "IN_QUEUE" 1 h 0 min after its submission (`timeouts.queue`)' },
  ]);
});

it('an overdue job is saved if it completes while it is being cancelled', async () => {
  const world = slow(60 * minutes + 1_000);
  world.service.instead.cancel = () => {
    const [job] = world.service.jobs;
    if (job !== undefined) job.completesAt = world.clock.now();
    return { kind: 'cancelled' };
  };
  const result = await world.run({ manifest: one });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(1);
});

it.each([
  ['429', { kind: 'overloaded', text: '429' }, 30],
  ['429 with a Retry-After', { kind: 'overloaded', text: '429', retryAfterMs: 20_000 }, 5],
  ['502', { kind: 'poll-failed', text: '502' }, 2],
] as const)(
  'an overdue job is cancelled before its scene is rendered again, also if that is refused (%s)',
  async (_, failure, times) => {
    const world = slow(999 * minutes);
    let refusals: number = times;
    const cancelled: boolean[] = [];
    world.service.instead.cancel = () => {
      cancelled.push(refusals === 0);
      if (refusals > 0) refusals -= 1;
      else return undefined;
      return { kind: 'failure', failure };
    };
    const result = await world.run({ manifest: one });
    expect(result?.ending.kind).toBe('complete');
    expect(cancelled).toEqual([...Array<boolean>(times).fill(false), true]);
    expect(world.rows('SELECT failure_text FROM attempts WHERE number = 1')).toEqual([
      { failure_text: expect.stringMatching(/\(`timeouts.queue`\)$/) as unknown },
    ]);
  },
);

it('an overdue job is given up if every cancellation is refused for ten minutes, and the failure says so', async () => {
  const world = slow(999 * minutes);
  world.service.instead.cancel = () => ({ kind: 'failure', failure: { kind: 'overloaded', text: '429' } });
  expect((await world.run({ manifest: one }))?.ending.kind).toBe('complete');
  const [, second] = world.service.jobs;
  expect((second?.submittedAt ?? 0) - world.started).toBeGreaterThan(70 * minutes);
  expect(world.rows('SELECT failure_text FROM attempts WHERE number = 1')).toEqual([
    {
      failure_text: expect.stringContaining('it was not cancelled and may run and be billed: 429') as unknown,
    },
  ]);
});

it('an overdue job is left to the next run if this one ends while its cancellation is refused', async () => {
  const world = slow(999 * minutes);
  const stop = new Stop();
  let refusals = 0;
  world.service.instead.cancel = () => {
    if (++refusals === 3) stop.request('leave', { kind: 'interrupted', text: 'you' });
    return { kind: 'failure', failure: { kind: 'overloaded', text: '429' } };
  };
  await world.run({ manifest: one, stop });
  expect(world.rows('SELECT state FROM attempts')).toEqual([{ state: 'submitted' }]);
});

it('an overdue job is given up also if the service cannot cancel', async () => {
  const world = slow(999 * minutes);
  world.service.instead.cancel = () => ({ kind: 'unsupported', text: '405' });
  expect((await world.run({ manifest: one }))?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(2);
  expect(world.rows('SELECT failure_text FROM attempts WHERE number = 1')).toEqual([
    {
      failure_text:
        'its status is still "IN_QUEUE" 1 h 0 min after its submission (`timeouts.queue`); it was not cancelled and may run and be billed: 405',
    },
  ]);
});

it('an overdue job is given up if only its own status is never answered, while those of others are', async () => {
  const world = new World((scene) => (scene === 'sea' ? {} : { executionMs: 60_000 }));
  const many = manifestOf([
    ['a', 'sea'],
    ...Array.from({ length: 200 }, (_, i): [string, string] => [`s${i}`, `scene ${i}`]),
  ]);
  world.service.instead.status = (id) =>
    id === 'job-1' ? { kind: 'failure', failure: { kind: 'poll-failed', text: '502' } } : undefined;
  const result = await world.run({ manifest: many });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.submissionsOf('sea')).toBe(2);
});

it('an overdue job counts its deadline from the resume, whatever the clock did between the runs', async () => {
  const world = slow(30 * minutes);
  await world.run({ manifest: one, until: 5_000 });
  const [job] = world.service.jobs;
  if (job !== undefined) moveJob(job, 48 * 60 * minutes);
  const result = await world.run({ manifest: one, afterMs: 48 * 60 * minutes });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(1);
});

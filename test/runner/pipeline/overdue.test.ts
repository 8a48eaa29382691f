/** Promise: a job that has had long enough is cancelled at the service, and what it brought in the meantime is kept. */
import { expect, it } from 'vitest';
import { moveJob } from '../../fakes/service-jobs.ts';
import { manifestOf, World } from '../../fakes/world.ts';

const minutes = 60_000;
const one = manifestOf([['a', 'sea']]);
const slow = (ms: number) => new World((_, nth) => (nth === 1 ? { queueMs: ms } : {}));

it('is cancelled and rendered by another attempt', async () => {
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

it('is saved where it completes while it is being cancelled', async () => {
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

it('is given up also where the service cannot cancel', async () => {
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

it('is given up where only its own status is never answered, while those of others are', async () => {
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

it('counts its deadline from the resume, whatever the clock did between the runs', async () => {
  const world = slow(30 * minutes);
  await world.run({ manifest: one, until: 5_000 });
  const [job] = world.service.jobs;
  if (job !== undefined) moveJob(job, 48 * 60 * minutes);
  const result = await world.run({ manifest: one, afterMs: 48 * 60 * minutes });
  expect(result?.ending.kind).toBe('complete');
  expect(world.service.jobs).toHaveLength(1);
});

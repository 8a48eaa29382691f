/**
 * Promise: a submission to Replicate whose answer was lost is found in its list or reported as unanswered. It
 * is never resent unasked.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { losing } from '../../fakes/situations.ts';
import { sendJson } from '../../faults/answers.ts';
import { answerHonestly, type Meet } from '../../fakes/job-server.ts';
import { startReplicate, type ReplicateService } from '../../fakes/replicate-service.ts';
import { failure } from './client.ts';
import { input, lostAt, replicateClient, type DescribedClient } from './described-client.ts';

interface Lost {
  replicate: ReplicateService;
  client: DescribedClient;
  /** Ids of the jobs that were submitted before. */
  jobs: string[];
  /** Id of the job whose answer was lost. */
  lost: string | undefined;
}

it('a submission whose answer was lost is found among those of the account, and polled from then on', async () => {
  const { client, lost, replicate } = await lostAmong([{ prompt: 'another' }, { ...input, seed: 6 }]);
  // Another program uses the same account.
  await replicateClient(replicate.url).job({ ...input, seed: 7 });
  const found = await client.submit(input, lostAt(Date.now()));
  expect(found).toMatchObject({ kind: 'accepted', jobId: lost, idempotencyMs: 3_600_000 });
  expect(replicate.inputs).toHaveLength(4);
});

it('a submission whose answer was lost is found on a later page, however its members are ordered', async () => {
  const { client, lost } = await lostAmong([]);
  for (let seed = 100; seed < 105; seed++) await client.job({ prompt: 'later', seed });
  const reordered = { seed: 5, prompt: 'a hill' };
  expect(await client.submit(reordered, lostAt(Date.now()))).toMatchObject({
    kind: 'accepted',
    jobId: lost,
  });
});

it('a submission whose answer was lost is not taken for the job of another attempt', async () => {
  const { client, jobs, lost } = await lostAmong([input]);
  const isTaken = (id: string): Promise<boolean> => Promise.resolve(jobs.includes(id));
  expect(await client.submit(input, { ...lostAt(Date.now()), isTaken })).toMatchObject({ jobId: lost });
});

it('a submission whose answer was lost is not found if two may be it', async () => {
  const { client, replicate } = await lostAmong([]);
  await replicateClient(replicate.url).job(input);
  expect(await client.submit(input, lostAt(Date.now()))).toMatchObject({ kind: 'not-found' });
});

it('a submission whose answer was lost is not taken for a job whose id has just arrived and is not recorded yet', async () => {
  const { client, lost } = await lostAmong([input]);
  expect(await client.submit(input, lostAt(Date.now()))).toMatchObject({ jobId: lost });
});

it('a submission whose answer was lost is looked for again while another of the same input is on its way, which may be it', async () => {
  const { client, lost, replicate } = await lostAmong([]);
  const held: (() => void)[] = [];
  replicate.meet = (asked) =>
    asked.operation === 'run' ? void held.push(() => answerHonestly(asked)) : answerHonestly(asked);
  const other = client.submit(input);
  await expect.poll(() => held.length).toBe(1);
  // Two searches, because the first one must not make the second believe that no other submission is on its
  // way.
  for (const _ of [1, 2])
    expect(await client.submit(input, lostAt(Date.now()))).toMatchObject({
      kind: 'not-listed',
      text: expect.stringContaining('several submissions at the service have the same input') as string,
    });
  held[0]?.();
  expect(await other).toMatchObject({ kind: 'accepted' });
  expect(await client.submit(input, lostAt(Date.now()))).toMatchObject({ kind: 'accepted', jobId: lost });
});

it('a submission whose answer was lost is not found if it did not arrive, and is not sent', async () => {
  const { client, replicate } = await lostAmong([{ prompt: 'another' }]);
  replicate.jobs.remove(replicate.jobs.all.at(-1)?.id ?? '');
  const early = await client.submit(input, lostAt(Date.now()));
  expect(early, 'it is looked for again').toMatchObject({ kind: 'not-listed' });
  expect(await client.submit(input, lostAt(Date.now() - 31_000))).toMatchObject({ kind: 'not-found' });
  expect(replicate.inputs).toHaveLength(1);
});

it('a submission whose answer was lost is not one of long before', async () => {
  const { client, replicate } = await lostAmong([{ prompt: 'another' }, { prompt: 'a third' }]);
  for (const agoMs of [300_000, 3_300_000]) {
    const before = replicate.requests.length;
    for (const job of replicate.jobs.all) job.submittedAt -= agoMs;
    expect(await client.submit(input, lostAt(Date.now() - 31_000))).toMatchObject({ kind: 'not-found' });
    // Older jobs follow after the first page.
    expect(replicate.requests.length - before).toBe(1);
  }
});

it('a submission whose answer was lost is found by the time that the list states, and without one', async () => {
  const { lost, replicate } = await lostAmong([]);
  const anHour = 3_600_000;
  const listed =
    (createdAt: unknown, dateMs: number): Meet =>
    (asked) => {
      const { status, fields } = asked.take();
      const [result] = fields['results'] as object[];
      const odd = [
        { id: null, input },
        { id: 'x', input: 'a hill', created_at: createdAt },
      ];
      asked.response.setHeader('Date', new Date(dateMs).toUTCString());
      sendJson(
        asked.response,
        { ...fields, results: [...odd, { ...result, created_at: createdAt }] },
        status,
      );
    };
  const late = Date.now() - anHour;
  for (const [createdAt, dateMs] of [
    [new Date(late).toISOString(), late],
    ['yesterday', late],
    [undefined, late],
  ] as const) {
    replicate.meet = listed(createdAt, dateMs);
    // A new client stands for another run, because this one already knows the job.
    expect(await replicateClient(replicate.url).submit(input, lostAt(Date.now()))).toMatchObject({
      jobId: lost,
    });
  }
  replicate.meet = listed(new Date(late).toISOString(), Date.now());
  expect(await replicateClient(replicate.url).submit(input, lostAt(Date.now() - 31_000))).toMatchObject({
    kind: 'not-found',
  });
});

async function lostAmong(others: JsonObject[]): Promise<Lost> {
  const replicate = await startReplicate({ pageSize: 2, plan: () => ({ queueMs: Infinity }) });
  const client = replicateClient(replicate.url);
  const jobs: string[] = [];
  for (const other of others) jobs.push((await client.job(other)).jobId);
  replicate.meet = losing('run', 1);
  expect(await client.submit()).toMatchObject(failure('unanswered'));
  return { replicate, client, jobs, lost: replicate.jobs.all.at(-1)?.id };
}

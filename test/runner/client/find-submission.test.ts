/** Promise: a submission to Replicate whose answer was lost is found in its list, or declared; it is never sent again unasked. */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { losing, refusing } from '../../fakes/situations.ts';
import { startReplicate, type ReplicateService } from '../../fakes/replicate-service.ts';
import { failure } from './client.ts';
import { input, lostAt, replicateClient, type DescribedClient } from './described-client.ts';

interface Lost {
  replicate: ReplicateService;
  client: DescribedClient;
  /** Of the submissions before. */
  jobs: string[];
  /** The id of the job that nobody was told of. */
  lost: string | undefined;
}

it('is found among those of the account, and asked for from then on', async () => {
  const { client, lost, replicate } = await lostAmong([{ prompt: 'another' }, { ...input, seed: 6 }]);
  const found = await client.submit(input, lostAt(Date.now()));
  expect(found).toMatchObject({ kind: 'accepted', jobId: lost });
  expect(replicate.inputs).toHaveLength(3);
});

it('is found on a later page, however its members are ordered', async () => {
  const { client, lost } = await lostAmong([]);
  for (let seed = 100; seed < 105; seed++) await client.job({ prompt: 'later', seed });
  const reordered = { seed: 5, prompt: 'a hill' };
  expect(await client.submit(reordered, lostAt(Date.now()))).toMatchObject({
    kind: 'accepted',
    jobId: lost,
  });
});

it('is not taken for the job of another attempt', async () => {
  const { client, jobs, lost } = await lostAmong([input]);
  const isTaken = (id: string): Promise<boolean> => Promise.resolve(jobs.includes(id));
  expect(await client.submit(input, { ...lostAt(Date.now()), isTaken })).toMatchObject({ jobId: lost });
});

it('is not found where two may be it', async () => {
  const { client, replicate } = await lostAmong([]);
  await replicateClient(replicate.url).job(input);
  expect(await client.submit(input, lostAt(Date.now()))).toMatchObject({ kind: 'not-found' });
});

it('is not taken for a job that this run was just told of, and has not recorded yet', async () => {
  const { client, lost } = await lostAmong([input]);
  expect(await client.submit(input, lostAt(Date.now()))).toMatchObject({ jobId: lost });
});

it('is not found where it did not arrive, and is not sent', async () => {
  const { client, replicate } = await lostAmong([{ prompt: 'another' }]);
  replicate.jobs.all.pop();
  const early = await client.submit(input, lostAt(Date.now()));
  expect(early, 'it is looked for again').toMatchObject(failure('unanswered', 'not in the list yet'));
  expect(await client.submit(input, lostAt(Date.now() - 31_000))).toMatchObject({ kind: 'not-found' });
  expect(replicate.inputs).toHaveLength(1);
});

it('is not one of long before', async () => {
  const { client, replicate } = await lostAmong([]);
  const [job] = replicate.jobs.all;
  if (job !== undefined) job.submittedAt -= 3_600_000;
  expect(await client.submit(input, lostAt(Date.now() - 31_000))).toMatchObject({ kind: 'not-found' });
});

it('is looked for again where the list does not answer', async () => {
  const { client, replicate } = await lostAmong([]);
  replicate.meet = refusing('list', 502, '<html>Bad Gateway</html>');
  expect(await client.submit(input, lostAt(Date.now()))).toMatchObject(failure('unanswered', '502'));
  replicate.meet = refusing('list', 429, { detail: 'Request was throttled.' });
  expect(await client.submit(input, lostAt(Date.now()))).toMatchObject(failure('overloaded'));
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

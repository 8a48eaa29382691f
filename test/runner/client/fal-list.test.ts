/**
 * Promise: a submission to fal whose answer was lost is found in fal's list once its job has ended, and a
 * result that the queue has dropped is read there.
 */
import { describe, expect, it } from 'vitest';
import { readDescription } from '../../../src/runner/config/read-description.ts';
import { falKey, startFal, type FalOptions, type FalService } from '../../fakes/fal-service.ts';
import { losing, refusing } from '../../fakes/situations.ts';
import { ended, failure } from './client.ts';
import {
  describedClient,
  falClient,
  input,
  lostAt,
  model,
  type DescribedClient,
} from './described-client.ts';

const overdue = (): number => Date.now() - 3_600_001;

describe('a submission whose answer was lost', () => {
  it('is found by its input, on any page, and is polled at addresses that are built from its id', async () => {
    const { client, fal, lost } = await lostAtFal({ pageSize: 1 });
    for (const prompt of ['b', 'c']) await client.job({ prompt });
    const found = await client.submit(input, lostAt(Date.now()));
    const at = `${fal.url}/fal-ai/flux/requests/${lost}`;
    expect(found).toEqual({
      kind: 'accepted',
      jobId: lost,
      status: '',
      kept: { status_url: `${at}/status`, response_url: at, cancel_url: `${at}/cancel` },
      idempotencyMs: 30 * 86_400_000,
    });
    expect(fal.requests.filter(({ path }) => path.includes('cursor='))).toHaveLength(2);
    const endpoint = { baseUrl: fal.url, id: model, version: 'fal' };
    const kept = 'kept' in found && found.kept ? { kept: found.kept } : {};
    expect(await client.status({ endpoint, jobId: lost, ...kept })).toMatchObject({ kind: 'completed' });
    expect(fal.inputs).toHaveLength(3);
  });

  it('is looked for again while it may wait or run, and then counts as never accepted', async () => {
    const { client, fal } = await lostAtFal({ plan: () => ({ queueMs: Infinity }) });
    expect(await client.submit(input, lostAt(Date.now()))).toMatchObject({ kind: 'not-listed' });
    expect(await client.submit(input, lostAt(overdue()))).toMatchObject({ kind: 'not-found' });
    expect(fal.inputs).toHaveLength(1);
  });

  it('is found although a job that was sent long before has ended after it', async () => {
    const { client, fal, lost } = await lostAtFal({ pageSize: 1 });
    for (const prompt of ['b', 'c']) await client.job({ prompt });
    for (const job of fal.jobs.all.slice(1)) job.submittedAt -= 600_000;
    expect(await client.submit(input, lostAt(Date.now()))).toMatchObject({ kind: 'accepted', jobId: lost });
  });

  it('is not taken for a job that was sent later, long before, or with another input', async () => {
    const { client, fal, lost } = await lostAtFal({});
    const sentAt = Date.now();
    await client.job({ ...input, seed: 6 });
    await falClient(fal.url).job(input);
    const later = fal.jobs.all.at(-1);
    if (later !== undefined) later.submittedAt += 120_000;
    expect(await client.submit(input, lostAt(sentAt, sentAt + 180_000))).toMatchObject({ kind: 'not-found' });
    expect(await client.submit(input, lostAt(sentAt))).toMatchObject({ jobId: lost });
    for (const job of fal.jobs.all) job.submittedAt -= 600_000;
    expect(await client.submit(input, lostAt(sentAt))).toMatchObject({ kind: 'not-listed' });
  });

  it.each([
    [401, { detail: 'not for this key' }],
    [403, { detail: 'not for this key' }],
    [502, 'Bad Gateway'],
  ])('is looked for again if the list answers %i, however long ago it was sent', async (status, body) => {
    const { client, fal } = await lostAtFal({});
    fal.meet = refusing('list', status, body);
    expect(await client.submit(input, lostAt(overdue()))).toEqual({
      kind: 'not-listed',
      text: expect.stringContaining(String(status)) as string,
    });
  });

  it('is looked for again if it may have been sent late', async () => {
    const { client } = await lostAtFal({ plan: () => ({ queueMs: Infinity }) });
    expect(await client.submit(input, lostAt(overdue(), Date.now()))).toMatchObject({ kind: 'not-listed' });
  });

  it('is looked for again if the list is too long to be read', async () => {
    const { client, fal } = await lostAtFal({ pageSize: 1 });
    for (let seed = 100; seed < 150; seed++) await client.job({ prompt: 'another', seed });
    expect(await client.submit(input, lostAt(overdue()))).toMatchObject({ kind: 'not-listed' });
    expect(fal.inputs).toHaveLength(51);
  });

  it('is not looked for at fal if the pipeline has its queue elsewhere', async () => {
    const { fal } = await lostAtFal({});
    const client = describedClient(fal.url, readDescription('fal', '', {}), model, falKey);
    expect(await client.submit(input, lostAt(Date.now()))).toEqual({
      kind: 'not-found',
      text: 'the list of jobs is at another host than this `endpoint.baseUrl`',
    });
  });
});

describe('a job that the queue no longer has', () => {
  const forgotten = { retentionMs: 0 };
  const detail = [{ loc: ['body'], msg: 'too many steps' }];

  it.each([
    ['is completed', {}, { kind: 'completed', status: 'COMPLETED' }],
    [
      'was refused by the model',
      { plan: () => ({ failure: { status: 422, fields: { detail } } }) },
      ended('input-refused', 'too many steps'),
    ],
    [
      'failed without a word',
      { plan: () => ({ failure: { status: 500, fields: {} } }) },
      ended('failed-inside', '500'),
    ],
    [
      'failed while the account was empty, which it may no longer be',
      { plan: () => ({ failure: { status: 403, fields: { detail: 'Exhausted balance' } } }) },
      ended('failed-inside', '403'),
    ],
  ] satisfies [string, FalOptions, object][])('%s according to the list', async (_, options, reply) => {
    const client = falClient((await startFal({ ...forgotten, ...options })).url);
    expect(await client.status(await client.job())).toMatchObject(reply);
  });

  it('runs, according to the list', async () => {
    const fal = await startFal({ plan: () => ({ queueMs: Infinity, lostAfterMs: 0 }), listsAll: true });
    const client = falClient(fal.url);
    expect(await client.status(await client.job())).toEqual({
      kind: 'running',
      status: 'IN_QUEUE',
      isExecuting: false,
    });
  });

  it('has no result that can be read', async () => {
    const fal = await startFal(forgotten);
    const client = falClient(fal.url);
    const job = await client.job();
    fal.meet = refusing('list', 403, { detail: 'not for this key' });
    expect(await client.status(job)).toEqual({
      ...failure('picture-refused', 'not for this key'),
      done: { status: 'COMPLETED' },
    });
    fal.meet = refusing('list', 502, 'Bad Gateway');
    expect(await client.status(job)).toEqual(failure('poll-failed', '502'));
    fal.meet = refusing('list', 200, { items: [], has_more: false, next_cursor: null });
    expect(await client.status(job)).toMatchObject({ kind: 'missing' });
    const { request_id: _, ...item } = { request_id: job.jobId, status_code: 200, json_output: null };
    fal.meet = refusing('list', 200, { items: [{ ...item, request_id: 'another' }] });
    expect(await client.status(job)).toMatchObject({ kind: 'missing' });
    fal.meet = refusing('list', 200, { items: [{ ...item, request_id: job.jobId }] });
    expect(await client.status(job)).toMatchObject({ kind: 'missing' });
  });
});

async function lostAtFal(
  options: FalOptions,
): Promise<{ fal: FalService; client: DescribedClient; lost: string }> {
  const fal = await startFal({ ...options, meet: losing('run', 1) });
  const client = falClient(fal.url);
  expect(await client.submit()).toMatchObject(failure('unanswered'));
  return { fal, client, lost: fal.jobs.all[0]?.id ?? '' };
}

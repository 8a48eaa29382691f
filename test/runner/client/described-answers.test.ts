/** Promise: whatever a job at fal or Replicate comes to is taken for what it means. */
import { expect, it } from 'vitest';
import { startFal } from '../../fakes/fal-service.ts';
import { startReplicate } from '../../fakes/replicate-service.ts';
import { falSituations, replicateSituations } from '../../fakes/situations.ts';
import { ended, failure, withheld } from './client.ts';
import { falClient, replicateClient } from './described-client.ts';

const accepted = { kind: 'accepted' };

const ofFal: Record<keyof typeof falSituations, { submit: object; status?: object }> = {
  'brings a picture': {
    submit: accepted,
    status: { kind: 'completed', status: 'COMPLETED', pictures: [{ seed: '5' }] },
  },
  'brings three pictures': {
    submit: accepted,
    status: { kind: 'completed', pictures: [{ seed: '5' }, { seed: '5' }, { seed: '5' }] },
  },
  'brings none': { submit: accepted, status: ended('failed-inside', 'its list of images is empty') },
  waits: { submit: accepted, status: { kind: 'running', status: 'IN_QUEUE', isExecuting: false } },
  runs: { submit: accepted, status: { kind: 'running', status: 'IN_PROGRESS', isExecuting: true } },
  'is in a state that nobody knows': {
    submit: accepted,
    status: { kind: 'running', status: 'PAUSED', isExecuting: false },
  },
  'is refused by the model': {
    submit: accepted,
    status: ended('content-refused', 'The content was flagged by a content checker.'),
  },
  'fails in the model': { submit: accepted, status: withheld('poll-failed', 'Internal server error') },
  'fails with its runner': {
    submit: accepted,
    status: ended('failed-inside', 'Runner disconnected unexpectedly'),
  },
  'is forgotten': { submit: accepted, status: { kind: 'missing' } },
  'has a model that is not there': { submit: failure('endpoint-unknown', 'Path /fal-ai/flux/dev not found') },
  'comes with a revoked key': { submit: failure('key-refused', 'No user found for Key ID and Secret') },
  'comes from an account without money': { submit: failure('account-unusable', 'Exhausted balance') },
  'is one too many': {
    submit: { kind: 'failure', failure: { kind: 'overloaded', retryAfterMs: 7_000 } },
  },
  'has its answer lost': { submit: failure('unanswered') },
  'meets a proxy': { submit: accepted, status: failure('poll-failed', '502') },
};

const ofReplicate: Record<keyof typeof replicateSituations, { submit: object; status?: object }> = {
  'brings a picture': {
    submit: accepted,
    status: { kind: 'completed', status: 'succeeded', pictures: [{}] },
  },
  'brings three pictures': { submit: accepted, status: { kind: 'completed', pictures: [{}, {}, {}] } },
  'brings none': { submit: accepted, status: ended('no-output') },
  waits: { submit: accepted, status: { kind: 'running', status: 'starting', isExecuting: false } },
  runs: { submit: accepted, status: { kind: 'running', status: 'processing', isExecuting: true } },
  'is in a state that nobody knows': {
    submit: accepted,
    status: { kind: 'running', status: 'paused', isExecuting: false },
  },
  fails: { submit: accepted, status: ended('job-failed', 'CUDA out of memory (code: E1001)') },
  'is aborted': { submit: accepted, status: ended('job-timed-out') },
  'is forgotten': { submit: accepted, status: { kind: 'missing' } },
  'has a model that is not there': {
    submit: failure('endpoint-unknown', 'The specified version does not exist'),
  },
  'has an input that is refused': { submit: failure('input-refused', 'Must be less than or equal to 4') },
  'comes with a revoked key': { submit: failure('key-refused', 'valid authentication token') },
  'comes from an account without money': { submit: failure('account-unusable', 'insufficient credit') },
  'is one too many': {
    submit: { kind: 'failure', failure: { kind: 'overloaded', retryAfterMs: 7_000 } },
  },
  'has its answer lost': { submit: failure('unanswered') },
  'meets a proxy': { submit: accepted, status: failure('poll-failed', '502') },
};

it.each(namesOf(falSituations))('fal, with a job that %s', async (name) => {
  const client = falClient((await startFal(falSituations[name])).url);
  const { submit, status } = ofFal[name];
  expect(await client.submit()).toMatchObject(submit);
  if (status === undefined) return;
  const job = await client.job();
  expect(await client.status(job)).toMatchObject(status);
});

it.each(namesOf(replicateSituations))('Replicate, with a job that %s', async (name) => {
  const client = replicateClient((await startReplicate(replicateSituations[name])).url);
  const { submit, status } = ofReplicate[name];
  expect(await client.submit()).toMatchObject(submit);
  if (status !== undefined) expect(await client.status(await client.job())).toMatchObject(status);
});

function namesOf<Name extends string>(situations: Record<Name, unknown>): Name[] {
  return Object.keys(situations) as Name[];
}

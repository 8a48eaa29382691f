/**
 * Promise: the runner recognizes every fault of a submission, a poll or a job as the failure that the table
 * states.
 */
import { describe, expect, it } from 'vitest';
import { folderPlace } from '../../src/runner/images/folder-place.ts';
import { createImageStore } from '../../src/runner/images/image-store.ts';
import type { StatusReply, SubmitReply } from '../../src/runner/pipeline/ports.ts';
import { clientOf, type TestClient } from '../runner/client/client.ts';
import { temporaryFolder } from '../runner/images/store.ts';
import { badEnds } from './bad-ends.ts';
import { faultyService } from './faulty-service.ts';
import { pictureDamages } from './picture-damages.ts';
import { closedDoors, type RequestFault, statusFaults, submitFaults } from './request-faults.ts';

/**
 * Expected reply for each fault of a submission, and whether the service has accepted the job. `accepted`
 * means that the fault had no effect.
 */
const submissions: Record<string, [string, 'taken' | 'not taken']> = {
  'rate-limited': ['overloaded', 'not taken'],
  'rate-limited-seconds': ['overloaded', 'not taken'],
  'rate-limited-date': ['overloaded', 'not taken'],
  'queue-full': ['overloaded', 'not taken'],
  unavailable: ['unanswered', 'not taken'],
  reset: ['unanswered', 'not taken'],
  'reset-taken': ['unanswered', 'taken'],
  'no-answer': ['unanswered', 'not taken'],
  'no-answer-taken': ['unanswered', 'taken'],
  'html-5xx': ['unanswered', 'not taken'],
  'html-5xx-taken': ['unanswered', 'taken'],
  cut: ['unanswered', 'taken'],
  'cut-behind-id': ['accepted', 'taken'],
  'cut-chunks': ['unanswered', 'taken'],
  'longer-than-told': ['accepted', 'taken'],
  'shorter-than-told': ['accepted', 'taken'],
  'not-gzip': ['unanswered', 'taken'],
  empty: ['unanswered', 'taken'],
  'html-200': ['unanswered', 'taken'],
  unreadable: ['unanswered', 'taken'],
  late: ['accepted', 'taken'],
  dripping: ['accepted', 'taken'],
  'number-as-status': ['unanswered', 'not taken'],
  'in-progress-202': ['accepted', 'taken'],
  'key-refused': ['key-refused', 'not taken'],
  'key-refused-inside': ['key-refused', 'not taken'],
  forbidden: ['key-refused', 'not taken'],
  'out-of-credit': ['account-unusable', 'not taken'],
  'endpoint-gone': ['endpoint-unknown', 'not taken'],
  redirect: ['endpoint-unknown', 'not taken'],
  'method-refused': ['endpoint-unknown', 'not taken'],
};

/** Expected outcome of the first poll of a finished job, for each fault of a poll. */
const looks: Record<string, string> = {
  'rate-limited': 'overloaded',
  'rate-limited-seconds': 'overloaded',
  'rate-limited-date': 'overloaded',
  unavailable: 'poll-failed',
  reset: 'poll-failed',
  'no-answer': 'poll-failed',
  'html-5xx': 'poll-failed',
  cut: 'poll-failed',
  'cut-chunks': 'poll-failed',
  'longer-than-told': 'poll-failed',
  'shorter-than-told': 'poll-failed',
  'not-gzip': 'poll-failed',
  empty: 'poll-failed',
  'html-200': 'poll-failed',
  unreadable: 'poll-failed',
  late: 'saved',
  dripping: 'saved',
  'number-as-status': 'poll-failed',
  'unknown-word': 'running as REHYDRATING',
  running: 'running as RUNNING',
  'no-status': 'poll-failed',
  'status-is-number': 'poll-failed',
  'nothing-yet-202': 'running as 202',
  'back-in-queue': 'running as IN_QUEUE',
  'early-output': 'running as IN_PROGRESS',
  'other-job': 'poll-failed',
  'key-refused': 'key-refused',
  forbidden: 'key-refused',
  'out-of-credit': 'account-unusable',
  'endpoint-gone': 'missing',
  redirect: 'poll-failed',
};

const faults: Record<string, RequestFault> = { ...closedDoors, ...submitFaults, ...statusFaults };

describe('a submission', () => {
  it.each(Object.entries(submissions))('%s: %s', async (name, [kind, taken]) => {
    const service = await faultyService({ run: faults[name] });
    const client = impatientClient(service);
    expect(nameOf(await client.submit())).toBe(kind);
    expect(service.inputs).toHaveLength(taken === 'taken' ? 1 : 0);
    expect(await client.submit(), 'sent again').toMatchObject({ kind: 'accepted' });
  });
});

describe('a poll of a job', () => {
  it.each(Object.entries(looks))('%s: %s', async (name, kind) => {
    const service = await faultyService({ status: faults[name] });
    const client = impatientClient(service);
    const jobId = idIn(await client.submit());
    expect(await lookAt(client, jobId)).toBe(kind);
    expect(await lookAt(client, jobId), 'asked again').toBe('saved');
  });
});

describe('a job', () => {
  const ends = [
    ...Object.entries(badEnds).map(([name, { kind, fields }]) => ({ name, kind, end: () => fields(1) })),
    ...Object.entries(pictureDamages).map(([name, { kind, of }]) => {
      const end = (picture: Buffer) => ({
        status: 'COMPLETED',
        output: [{ rendered_image: of(picture, 1), seed: 4 }],
      });
      return { name, kind, end };
    }),
  ];

  it.each(ends)('$name: $kind', async ({ kind, end }) => {
    const service = await faultyService({ end });
    const client = impatientClient(service);
    const [bad, good] = [idIn(await client.submit()), idIn(await client.submit())];
    expect(await lookAt(client, bad)).toBe(kind);
    expect(await lookAt(client, good), 'the next job').toBe('saved');
  });
});

it('this test covers every fault', () => {
  expect(Object.keys(submissions).toSorted()).toEqual(
    Object.keys({ ...closedDoors, ...submitFaults }).toSorted(),
  );
  expect(Object.keys(looks)).toEqual(expect.arrayContaining(Object.keys(statusFaults)));
});

/** Returns the client of the runner with a short timeout. */
function impatientClient({ url }: { url: string }): TestClient {
  return clientOf(url, { requestTimeoutMs: 1_500 });
}

function nameOf(reply: SubmitReply): string {
  return reply.kind === 'failure' ? reply.failure.kind : reply.kind;
}

function idIn(reply: SubmitReply): string {
  if (reply.kind !== 'accepted') throw new Error(nameOf(reply));
  return reply.jobId;
}

/** Polls the job. Returns `saved`, the kind of failure, or the state of the job. */
async function lookAt(client: TestClient, jobId: string): Promise<string> {
  const reply: StatusReply = await client.status(undefined, jobId);
  switch (reply.kind) {
    case 'completed': {
      const [picture] = reply.pictures;
      if (picture === undefined || 'url' in picture) return 'an address';
      const store = createImageStore(folderPlace(temporaryFolder()), { minSide: 8, blank: true });
      const checked = await store.check(picture);
      return 'content' in checked ? 'saved' : checked.kind;
    }
    case 'running':
      return `running as ${reply.status}`;
    case 'missing':
      return reply.kind;
    case 'ended':
    case 'failure':
      return reply.failure.kind;
  }
}

/** Promise: each fault that can be asked for is what its name says, and the runner takes it for what the failure table says. */
import { describe, expect, it } from 'vitest';
import { createImageStore } from '../../../src/runner/images/image-store.ts';
import type { StatusReply, SubmitReply } from '../../../src/runner/pipeline/ports.ts';
import { faultTable } from '../../../src/service/faults/fault-table.ts';
import type { TestClient } from '../../runner/client/client.ts';
import { temporaryFolder } from '../../runner/images/store.ts';
import { faultyService, first, impatientClient, scripted } from './faulty-service.ts';

const statuses = [500, 502, 503, 504, 520, 521, 522, 523, 524];

/** What a submission is taken for, and whether the job is taken on; an accepted one is as if nothing had happened. */
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
  ...Object.fromEntries(statuses.map((status) => [`html-${status}`, ['unanswered', 'not taken']])),
  ...Object.fromEntries(statuses.map((status) => [`html-${status}-taken`, ['unanswered', 'taken']])),
  cut: ['unanswered', 'taken'],
  'cut-behind-id': ['accepted', 'taken'],
  'cut-chunks': ['unanswered', 'taken'],
  'longer-than-told': ['accepted', 'taken'],
  'shorter-than-told': ['accepted', 'taken'],
  'not-gzip': ['unanswered', 'taken'],
  empty: ['unanswered', 'taken'],
  'html-200': ['unanswered', 'taken'],
  late: ['accepted', 'taken'],
  dripping: ['accepted', 'taken'],
  'number-as-status': ['unanswered', 'not taken'],
  'in-progress-202': ['accepted', 'taken'],
  'no-id': ['unanswered', 'taken'],
  'key-refused': ['key-refused', 'not taken'],
  'key-refused-inside': ['key-refused', 'not taken'],
  forbidden: ['key-refused', 'not taken'],
  'out-of-credit': ['account-unusable', 'not taken'],
  'endpoint-gone': ['endpoint-unknown', 'not taken'],
  redirect: ['endpoint-unknown', 'not taken'],
  'method-refused': ['endpoint-unknown', 'not taken'],
  'input-refused': ['input-refused', 'not taken'],
  'body-too-large': ['input-refused', 'not taken'],
};

/** What the first look at a finished job is taken for. */
const looks: Record<string, string> = {
  'rate-limited': 'overloaded',
  'rate-limited-seconds': 'overloaded',
  'rate-limited-date': 'overloaded',
  unavailable: 'poll-failed',
  reset: 'poll-failed',
  'no-answer': 'poll-failed',
  ...Object.fromEntries(statuses.map((status) => [`html-${status}`, 'poll-failed'])),
  cut: 'poll-failed',
  'cut-chunks': 'poll-failed',
  'longer-than-told': 'poll-failed',
  'shorter-than-told': 'poll-failed',
  'not-gzip': 'poll-failed',
  empty: 'poll-failed',
  'html-200': 'poll-failed',
  late: 'saved',
  dripping: 'saved',
  'job-not-found': 'missing',
  'number-as-status': 'poll-failed',
  'unknown-word': 'running as REHYDRATING',
  running: 'running as RUNNING',
  'no-status': 'poll-failed',
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

/** What the job is taken for, however often it is looked at. */
const jobs: Record<string, string> = {
  failed: 'job-failed',
  'failed-json': 'job-failed',
  'failed-list': 'job-failed',
  'failed-object': 'job-failed',
  'failed-silent': 'job-failed',
  'failed-with-output': 'job-failed',
  'platform-time-out': 'job-failed',
  'timed-out': 'job-timed-out',
  cancelled: 'job-cancelled',
  'no-output': 'no-output',
  'null-output': 'no-output',
  'empty-output': 'no-output',
  'error-inside': 'failed-inside',
  'no-images-inside': 'failed-inside',
  'code-inside': 'failed-inside',
  'worker-error-inside': 'failed-inside',
  'picture-cut': 'bad-picture',
  'picture-without-end': 'bad-picture',
  'picture-less-a-byte': 'bad-picture',
  'picture-and-garbage': 'bad-picture',
  'picture-wrong-checksum': 'bad-picture',
  'picture-flipped-bit': 'bad-picture',
  'picture-few-rows': 'bad-picture',
  'picture-of-zeros': 'bad-picture',
  'picture-empty': 'bad-picture',
  'picture-html': 'bad-picture',
  'picture-junk': 'bad-picture',
  'picture-base64-cut': 'bad-picture',
  'picture-one-colour': 'blank-picture',
  'picture-tiny': 'picture-too-small',
  'picture-path': 'failed-inside',
  'picture-url': 'an address',
  'picture-data-uri': 'saved',
  slow: 'running as IN_PROGRESS',
  'never-ends': 'running as IN_PROGRESS',
  'never-begins': 'running as IN_QUEUE',
  'unknown-at-first': 'missing',
  'expired-at-once': 'missing',
  lost: 'missing',
};

describe('a submission', () => {
  it.each(Object.entries(submissions))('%s: %s', async (fault, [kind, taken]) => {
    const service = await faultyService({ script: [scripted('submit', fault, first)] });
    const client = impatientClient(service);
    expect(nameOf(await client.submit())).toBe(kind);
    expect(await service.accepted()).toBe(taken === 'taken' ? 1 : 0);
    expect(service.met).toEqual([{ at: 'submit', number: 1, fault }]);
    expect(await client.submit(), 'sent again').toMatchObject({ kind: 'accepted' });
  });
});

describe('a look at a job', () => {
  it.each(Object.entries(looks))('%s: %s', async (fault, kind) => {
    const service = await faultyService({ script: [scripted('status', fault, first)] });
    const client = impatientClient(service);
    const jobId = idIn(await client.submit());
    await service.idle();
    expect(await lookAt(client, jobId)).toBe(kind);
    expect(await lookAt(client, jobId), 'asked again').toBe('saved');
  });
});

describe('a job', () => {
  it.each(Object.entries(jobs))('%s: %s', async (fault, kind) => {
    const script = [scripted('job', fault, first)];
    const service = await faultyService({ script });
    const client = impatientClient(service);
    const [bad, good] = [idIn(await client.submit()), idIn(await client.submit())];
    await service.idle();
    expect(await lookAt(client, bad)).toBe(kind);
    expect(await lookAt(client, bad), 'asked again').toBe(kind);
    expect(await lookAt(client, good), 'the next job').toBe('saved');
  });
});

it.each([
  ['submit', submissions],
  ['status', looks],
  ['job', jobs],
] as const)('is told here of every fault of %s that there is', (place, told) => {
  expect(Object.keys(told).toSorted()).toEqual(faultTable[place].map(({ name }) => name).toSorted());
});

it('has no fault of all requests that is none of submissions or looks', () => {
  const known = [...faultTable.submit, ...faultTable.status].map(({ name }) => name);
  expect(known).toEqual(expect.arrayContaining(faultTable.everything.map(({ name }) => name)));
});

function nameOf(reply: SubmitReply): string {
  return reply.kind === 'accepted' ? reply.kind : reply.failure.kind;
}

function idIn(reply: SubmitReply): string {
  if (reply.kind === 'failure') throw new Error(reply.failure.text);
  return reply.jobId;
}

/** What the runner makes of it: `saved`, a failure's kind, or how the job stands. */
async function lookAt(client: TestClient, jobId: string): Promise<string> {
  const reply: StatusReply = await client.status(undefined, jobId);
  switch (reply.kind) {
    case 'completed': {
      const [picture] = reply.pictures;
      if (picture === undefined || 'url' in picture) return 'an address';
      const store = createImageStore(temporaryFolder(), { minSide: 8, isBlankRefused: true });
      const checked = await store.check(picture);
      return 'png' in checked ? 'saved' : checked.kind;
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

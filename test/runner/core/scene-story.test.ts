/** Promise: `show` says for every state of a scene what happens next and what a person can do. */
import { expect, it } from 'vitest';
import { nextStep, type AttemptStory, type SceneVersion } from '../../../src/runner/core/scene-story.ts';

const attempt: AttemptStory = {
  number: 1,
  run: 1,
  state: 'failed',
  endpoint: { baseUrl: 'local', id: 'x', version: 'v2' },
  jobId: 'job-1',
  status: 'FAILED',
  intendedAt: 1_000,
  submittedAt: 1_100,
  executingAt: null,
  completedAt: null,
  settledAt: 5_000,
  delayTimeMs: null,
  executionTimeMs: null,
  cost: null,
  polls: 2,
  failureKind: 'job-failed',
  failureText: 'the job FAILED',
  isCounted: true,
  pictures: [],
  files: [],
};

const scene: SceneVersion = {
  state: 'waiting',
  fingerprint: 'abcdef0123456789',
  source: 'a.csv:2',
  columns: {},
  input: { scene: 'hills' },
  failureKind: null,
  failureText: null,
  dueAt: 0,
  ahead: 0,
  deaths: 0,
  attempts: [],
};

const place = {
  isRunning: false,
  isReplaced: false,
  retryCommand: 'nightrender retry p.yaml --id a',
  now: 10_000,
};
const open: AttemptStory = { ...attempt, state: 'submitted', settledAt: null, failureKind: null };

it.each<[string, Partial<SceneVersion>, Partial<typeof place>, RegExp]>([
  ['fresh', { ahead: 1234 }, {}, /^the next run sends it when its turn comes: 1,234 scenes/],
  [
    'due later',
    { dueAt: 30_000, attempts: [attempt] },
    { isRunning: true },
    /^the run sends it again in 20 s at the earliest; 1 failed of/,
  ],
  ['due', { dueAt: 9_000, attempts: [attempt] }, {}, /^the next run sends it again when/],
  ['put back', { attempts: [{ ...attempt, isCounted: false }] }, {}, /next in line$/],
  ['suspected', { deaths: 2 }, {}, /^the program crashed 2 times .* last and alone/],
  ['intended', { state: 'active', attempts: [{ ...open, jobId: null }] }, {}, /records it as unanswered/],
  ['in flight', { state: 'active', attempts: [open] }, {}, /sent 9 s ago, and no run is working/],
  [
    'failed',
    { state: 'failed', failureKind: 'job-failed', attempts: [attempt] },
    {},
    /failed for good; 1 failed .*`nightrender retry p\.yaml --id a`/,
  ],
  ['held', { state: 'failed', failureKind: 'unanswered' }, {}, /may run and be billed.*retry p\.yaml/],
  ['quarantined', { state: 'failed', failureKind: 'quarantined' }, {}, /crashed repeatedly on it/],
  ['refused', { state: 'failed', failureKind: 'input-refused' }, {}, /edit its row/],
  [
    'replaced',
    { state: 'withdrawn', attempts: [open] },
    { isReplaced: true },
    /\*\.replaced-abcdef01\.png.*still collected$/,
  ],
  ['withdrawn', { state: 'withdrawn', attempts: [attempt] }, {}, /returns, the scene resumes from here$/],
  [
    'withdrawn while it was sent',
    { state: 'withdrawn', attempts: [{ ...open, state: 'intended' }] },
    {},
    /still collected$/,
  ],
  ['unneeded', { state: 'unneeded' }, {}, /^the next run sends it only if the seed before it does not meet/],
  ['unneeded as yet', { state: 'unneeded' }, { isRunning: true }, /^the run sends it only if/],
  ['saved', { state: 'saved' }, {}, /nothing is left to do/],
])('%s', (_, version, at, said) => {
  expect(nextStep({ ...scene, ...version }, { ...place, ...at })).toMatch(said);
});

/** Provides scenes, a batch and a temporary folder for tests of the report. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BatchSummary, RunSpan, SceneRecord } from '../../../src/runner/core/scene-record.ts';
import type { ReportHeader, ReportSource } from '../../../src/runner/report/write-report.ts';

export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'report-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const savedRow: SceneRecord = {
  id: 'harbour',
  state: 'saved',
  files: [],
  pictures: [
    {
      file: 'harbour.png',
      width: 768,
      height: 512,
      bytes: 1234,
      sha256: 'ab12',
      seed: '18446744073709551615',
    },
    { file: 'harbour-2.png', width: 64, height: 32, bytes: 99, sha256: 'cd34' },
    { file: 'sub/harbour-3.png', width: 1, height: 1, bytes: 70, sha256: 'ef56', seed: '0' },
  ],
  jobId: 'job-1',
  endpoint: 'https://api.example/v2/renderer',
  attempts: 2,
  unanswered: 1,
  expired: 0,
  delayTimeMs: 120,
  executionTimeMs: 0,
  statedCost: 0.0125,
  submittedAt: Date.UTC(2024, 1, 29, 23, 59, 59, 7),
  completedAt: Date.UTC(2024, 2, 1),
  savedAt: Date.UTC(2024, 2, 1, 0, 0, 1),
  failureKind: null,
  failureText: null,
  source: 'jobs/scenes.csv:2',
  columns: { id: 'harbour', scene: 'a "red"\nharbour, at dusk', steps: 30, tags: ['x', { y: null }] },
  input: { scene: 'a "red"\nharbour, at dusk', steps: 30 },
};

export const failedRow: SceneRecord = {
  id: 'moon',
  state: 'failed',
  files: [],
  pictures: [],
  jobId: null,
  endpoint: null,
  attempts: 3,
  unanswered: 0,
  expired: 2,
  delayTimeMs: null,
  executionTimeMs: null,
  statedCost: null,
  submittedAt: null,
  completedAt: null,
  savedAt: null,
  failureKind: 'job-failed',
  failureText: 'the job ended as FAILED: "CUDA, out of\nmemory"',
  source: 'jobs/scenes.csv:4',
  columns: { id: 'moon', scene: '=cmd()', steps: null },
  input: { scene: '=cmd()' },
};

export const invalidRow: SceneRecord = {
  ...failedRow,
  id: null,
  state: 'invalid',
  attempts: 0,
  expired: 0,
  failureKind: 'invalid-row',
  failureText: 'is not valid UTF-8',
  source: 'jobs/scenes.csv:5',
  columns: {},
  input: null,
};

export const runSpan: RunSpan = {
  run: 2,
  pid: 17,
  host: 'attic',
  startedAt: Date.UTC(2024, 1, 29),
  endedAt: null,
  exitCode: null,
  ending: null,
};

export const summary: BatchSummary = {
  scenes: { waiting: 0, active: 0, saved: 1, failed: 1, withdrawn: 0, invalid: 1 },
  pictures: { files: 3, bytes: 1403 },
  attempts: { total: 5, submitted: 0, saved: 1, failed: 3, unanswered: 1, expired: 0, refused: 0 },
  held: [],
  part: null,
  cost: null,
  failures: [{ kind: 'job-failed', attempts: 3, lastText: 'the job ended as FAILED' }],
  times: {
    firstSubmittedAt: Date.UTC(2024, 1, 29),
    lastSavedAt: null,
    executionTimeMs: 4200,
    medianDelayTimeMs: 120,
    medianExecutionTimeMs: null,
  },
  lastRun: { ...runSpan, stats: null },
};

export const about: ReportHeader = {
  name: 'my night/out',
  axes: ['season', 'size'],
  batch: {
    manifest: ['jobs/scenes.csv'],
    endpoint: { baseUrl: 'https://api.example/v2', id: 'renderer', version: 'v2' },
  },
  pipeline: '/home/me/my night/pipeline.yaml',
  program: 'nightrender 0.1.0',
  writtenAt: Date.UTC(2024, 2, 1, 6),
};

export function sourceOf(
  rows: Iterable<SceneRecord>,
  columns: string[] = ['id', 'scene', 'steps', 'tags'],
): ReportSource {
  return { rows: () => rows, columns: () => columns, runs: () => [runSpan], summary: () => summary };
}

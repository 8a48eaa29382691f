/** Promise: the statistics of a run stay recorded, and are absent if they are unknown. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sqlite } from '../../../src/lib/sqlite/database.ts';
import { expect, it, onTestFinished } from 'vitest';
import {
  openCheckpoint,
  openCheckpointForReading,
  type OpenFile,
} from '../../../src/runner/checkpoint/open-checkpoint.ts';
import { readNumbers } from '../../../src/runner/checkpoint/read-summary.ts';
import { checkpointSchema } from '../../../src/runner/checkpoint/checkpoint-schema.ts';
import type { RunRecord } from '../../../src/runner/core/scene-record.ts';
import { stats } from '../../fakes/stats.ts';
import { endpoint } from '../../fakes/world.ts';

const ended = { at: 5, exitCode: 0, ending: 'Every scene is saved' };

it('the record of the statistics is read back unchanged, and kept if the end of the run reports none', () => {
  const dir = folder();
  const opened = open(dir);
  expect(lastRunIn(dir)?.stats).toBeNull();
  opened.recordEnd({ ...ended, stats });
  opened.recordEnd({ ...ended, exitCode: 14, ending: 'the disk is full', stats: undefined });
  opened.close();
  expect(lastRunIn(dir)).toMatchObject({ exitCode: 14, ending: 'the disk is full', stats });
});

it('the record of the statistics is absent for a run that died, although the one before it had some', () => {
  const dir = folder();
  const first = open(dir);
  first.recordEnd({ ...ended, stats });
  first.close();
  open(dir).close();
  expect(lastRunIn(dir)).toMatchObject({ run: 2, endedAt: null, stats: null });
});

it('the record of the statistics is absent in a checkpoint of the earlier version, which is read unchanged and then upgraded', () => {
  const dir = folder();
  const path = join(dir, 'checkpoint.sqlite');
  const old = new Sqlite(path);
  for (const statements of checkpointSchema.migrations.slice(0, 3)) old.exec(statements);
  old.pragma(`application_id = ${checkpointSchema.applicationId}`);
  old.pragma('user_version = 3');
  old.exec(`INSERT INTO runs (pid, host, program, started_at, ended_at, exit_code, ending)
    VALUES (1, 'attic', 'nightrender 0.0.9', 3, 4, 0, 'Every scene is saved')`);
  old.close();
  expect(lastRunIn(dir)).toMatchObject({ run: 1, ending: 'Every scene is saved', stats: null });
  const opened = open(dir);
  opened.recordEnd({ ...ended, stats });
  opened.close();
  expect(lastRunIn(dir)).toMatchObject({ run: 2, stats });
});

function open(dir: string): OpenFile {
  return openCheckpoint(dir, 'test', { manifest: ['list.csv'], endpoint, columns: ['id', 'scene'] }, 0);
}

function lastRunIn(dir: string): RunRecord | null {
  const db = openCheckpointForReading(dir);
  if (db === undefined) throw new Error('there is no checkpoint');
  try {
    return readNumbers(db).lastRun;
  } finally {
    db.close();
  }
}

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-stats-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

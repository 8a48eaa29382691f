/**
 * Promise: a checkpoint of any earlier version reads the same before and after the next run upgrades it, and
 * reading it changes nothing.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openForWriting, type Database } from '../../../src/lib/sqlite/database.ts';
import { readReached } from '../../../src/runner/checkpoint/find-loss.ts';
import { rulesOf } from '../../../src/runner/checkpoint/batch-identity.ts';
import { assertSound } from '../../../src/runner/checkpoint/repair-checkpoint.ts';
import { LiveReader } from '../../../src/runner/checkpoint/live-reader.ts';
import { openCheckpointForReading } from '../../../src/runner/checkpoint/open-checkpoint.ts';
import {
  pictureIds,
  readLabels,
  readOutputColumns,
  readSavedJobs,
} from '../../../src/runner/checkpoint/recorded-pictures.ts';
import { readExperience, readFoundAt } from '../../../src/runner/checkpoint/read-for-plan.ts';
import { readRecords, readStory } from '../../../src/runner/checkpoint/scene-records.ts';
import { readLatest, readSummary } from '../../../src/runner/checkpoint/read-summary.ts';
import { checkpointSchema } from '../../../src/runner/checkpoint/checkpoint-schema.ts';
import { fingerprintOf } from '../../../src/runner/core/scene.ts';

const { migrations } = checkpointSchema;
const versions = migrations.slice(1).map((_, i) => i + 1);

it.each(versions)('a checkpoint of format %s reads the same', async (version) => {
  const [dir, later] = [folder(), folder()];
  fill(makeFile(dir, version)).close();
  cpSync(dir, later, { recursive: true });
  openForWriting(fileIn(later), checkpointSchema).close();
  const before = readFileSync(fileIn(dir));
  const read = await readAll(dir);
  expect(read).toEqual(await readAll(later));
  expect(read.rows).toMatchObject([
    { id: 'a', state: 'saved', pictures: [{ file: 'a.png' }], input: { seed: 5 } },
    { id: 'b', state: 'waiting', failureKind: null },
  ]);
  expect(() => assertSound(dir)).not.toThrow();
  expect(readFileSync(fileIn(dir)).equals(before)).toBe(true);
});

it.each(versions)(
  'a checkpoint of format %s reads the same while a program of that version writes to it',
  (version) => {
    const dir = folder();
    const writer = fill(makeFile(dir, version));
    const reader = openCheckpointForReading(dir);
    if (reader === undefined) throw new Error('there is no checkpoint');
    onTestFinished(() => void [reader, writer].map((db) => db.close()));
    expect(readStory(reader, 'b')?.versions[0]?.attempts).toEqual([]);
    writer.exec(`INSERT INTO attempts (scene, number, run, state, base_url, endpoint_id, version, intended_at)
    VALUES (2, 1, 1, 'intended', 'https://gpu.example', 'e', 'v2', 6)`);
    expect(readStory(reader, 'b')?.versions[0]?.attempts).toMatchObject([{ state: 'intended', jobId: null }]);
  },
);

async function readAll(dir: string) {
  const db = openCheckpointForReading(dir);
  if (db === undefined) throw new Error('there is no checkpoint');
  try {
    const live = await new LiveReader(dir).read(0);
    return {
      rows: [...readRecords(db)],
      stories: ['a', 'b'].map((id) => readStory(db, id)),
      summary: await readSummary(db, new AbortController().signal),
      latest: readLatest(db),
      jobs: [...readSavedJobs(db)],
      columns: [readLabels(db), readOutputColumns(db)],
      experience: readExperience(db, undefined),
      foundAt: readFoundAt(db),
      rules: rulesOf(db),
      reached: readReached(db),
      id: pictureIds(db)('a', 1),
      live: [live?.scenes, live?.tally.spending(db).brought, live?.list],
    };
  } finally {
    db.close();
  }
}

/** Adds one saved and one waiting scene. */
function fill(db: Database): Database {
  const scene = db.prepare(
    `INSERT INTO scenes (id, fingerprint, position, source, input, columns, state, attempts)
     VALUES (@id, @fingerprint, @position, 'list.csv', @input, @columns, @state, @attempts)`,
  );
  for (const [position, id, state] of [[1, 'a', 'saved'] as const, [2, 'b', 'waiting'] as const]) {
    const input = { prompt: id, seed: 5 };
    const columns = JSON.stringify({ id, prompt: id, seed: '5' });
    const attempts = state === 'saved' ? 1 : 0;
    const row = { id, position, state, columns, attempts };
    scene.run({ ...row, fingerprint: fingerprintOf(input), input: JSON.stringify(input) });
  }
  db.exec(`
    INSERT INTO runs (pid, host, program, started_at, ended_at, exit_code, ending) VALUES (1, 'attic', 'old', 1, 9, 0, 'all done');
    INSERT INTO attempts (scene, number, run, state, base_url, endpoint_id, version, job_id, intended_at, submitted_at, completed_at, settled_at)
      VALUES (1, 1, 1, 'saved', 'https://gpu.example', 'e', 'v2', 'job-1', 2, 3, 4, 5);
    INSERT INTO pictures (attempt, number, name, file, file_key, width, height, bytes, sha256)
      VALUES (1, 1, 'a.png', 'a.png', 'A.PNG', 8, 8, 99, 'ab')`);
  return db;
}

function makeFile(dir: string, version: number): Database {
  return openForWriting(fileIn(dir), { ...checkpointSchema, migrations: migrations.slice(0, version) });
}

const fileIn = (dir: string): string => join(dir, 'checkpoint.sqlite');

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-earlier-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

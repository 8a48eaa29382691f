/** Promise: `list` shows the same rows as the report, each once, for any number of scenes. */
import { expect, it } from 'vitest';
import { readOutputColumns } from '../../../src/runner/checkpoint/recorded-pictures.ts';
import { readRecords, type RecordChoice } from '../../../src/runner/checkpoint/scene-records.ts';
import type { SceneRecord } from '../../../src/runner/core/scene-record.ts';
import { World } from '../../fakes/world.ts';

const scenes = 1_700;

/** Fills a batch with bad rows between and after the scenes, withdrawn scenes, and attempts of every kind. */
function batch(): World['db'] {
  const { db } = new World();
  db.exec("INSERT INTO runs (run, pid, host, program, started_at) VALUES (1, 1, 'here', 'test', 0)");
  const add = db.prepare<[object]>(`
    INSERT INTO scenes (scene, id, fingerprint, position, source, input, columns, state, attempts, failure_kind, failure_text)
    VALUES (@scene, 'scene-' || @scene, 'f', @position, 'a.csv', '{}', json_object('scene', 'Hill ' || @scene), @state,
      @attempts, @kind, @text)`);
  const attempt = db.prepare<[object]>(`
    INSERT INTO attempts (scene, number, run, state, base_url, endpoint_id, version, job_id, intended_at, failure_kind, failure_text)
    VALUES (@scene, @number, 1, @state, 'local', 'x', 'v2', 'job', 1, @kind, 'it FAILED')`);
  const bad = db.prepare('INSERT INTO bad_rows (position, source, problem) VALUES (?, ?, ?)');
  db.transaction(() => {
    for (let scene = 1; scene <= scenes; scene++) {
      const kind = scene % 3 === 0 ? 'job-failed' : null;
      const state = scene % 5 === 0 ? 'withdrawn' : kind === null ? 'waiting' : 'failed';
      const position = state === 'withdrawn' ? null : scene * 2;
      const attempts = scene % 4;
      const text = kind === null ? null : 'it FAILED';
      add.run({ scene, position, state, attempts, kind, text });
      for (let number = 1; number <= attempts; number++)
        attempt.run({
          scene,
          number,
          state: number === 2 ? 'refused' : 'unanswered',
          kind: number === 3 ? 'no-output' : null,
        });
      if (scene % 2 === 0) bad.run(scene * 2 + 1, `a.csv:${scene}`, 'the scene is empty');
    }
    for (let i = 0; i < 700; i++) bad.run(scenes * 3 + i, 'b.csv', 'invalid UTF-8');
  })();
  return db;
}

it('lists all rows of the report in its order', () => {
  const db = batch();
  const all = [...readRecords(db)];
  const numbers = Array.from({ length: scenes }, (_, i) => i + 1);
  const listed = numbers.flatMap((scene) => [
    ...(scene % 5 === 0 ? [] : [`scene-${scene}.0`]),
    ...(scene % 2 === 0 ? [`a.csv:${scene}`] : []),
  ]);
  const withdrawn = numbers.filter((scene) => scene % 5 === 0).map((scene) => `scene-${scene}.0`);
  const names = all.map(({ id, source }) => id ?? source);
  expect(names.filter((name) => name !== 'b.csv')).toEqual([...listed, ...withdrawn]);
  expect(all.length).toBe(scenes + scenes / 2 + 700);
});

it.each<[string, RecordChoice, (row: SceneRecord) => boolean]>([
  ['a state', { states: ['failed'] }, ({ state }) => state === 'failed'],
  [
    'states',
    { states: ['withdrawn', 'invalid'] },
    ({ state }) => state === 'withdrawn' || state === 'invalid',
  ],
  ['a kind', { kinds: ['job-failed'] }, (row) => row.failureKind === 'job-failed' && row.attempts > 0],
  ['the last kind', { kinds: ['no-output'] }, (row) => row.failureKind === 'no-output'],
  ['a text', { search: 'hill 17' }, ({ columns }) => JSON.stringify(columns).includes('"Hill 17')],
  ['words of a failure', { search: 'failed' }, ({ failureText }) => failureText === 'it FAILED'],
  ['what is wrong with a row', { search: 'utf-8' }, (row) => row.failureText === 'invalid UTF-8'],
  [
    'all of these',
    { states: ['failed'], kinds: ['job-failed'], search: 'scene-9' },
    (row) => row.state === 'failed' && row.attempts > 0 && (row.id ?? '').startsWith('scene-9'),
  ],
])('lists by %s', (_, choice, holds) => {
  const db = batch();
  const expected = [...readRecords(db)].filter(holds);
  expect(expected.length).toBeGreaterThan(0);
  expect([...readRecords(db, choice)]).toEqual(expected);
});

it('columns of clips are there only if a scene has a clip, whatever else outputs contain', () => {
  const { db } = new World();
  db.exec("INSERT INTO runs (run, pid, host, program, started_at) VALUES (1, 1, 'here', 'test', 0)");
  db.exec(`INSERT INTO scenes (scene, id, fingerprint, position, source, input, columns, state, attempts)
    VALUES (1, 'a', 'f', 1, 'a.csv', '{}', '{}', 'saved', 1)`);
  db.exec(`INSERT INTO attempts (attempt, scene, number, run, state, base_url, endpoint_id, version, job_id, intended_at)
    VALUES (1, 1, 1, 1, 'saved', 'local', 'x', 'v2', 'job', 1)`);
  const save = db.prepare<[object]>(`
    INSERT INTO pictures (attempt, number, name, file, file_key, width, height, bytes, sha256, label, output)
    VALUES (1, @number, @file, @file, @file, 1, 1, 1, 'ab', @label, @output)`);
  const clip = '{"clip":{"durationMs":1000}}';
  save.run({ number: 1, file: 'a.png', label: null, output: '{"rest":{"clip":{"durationMs":1}}}' });
  save.run({ number: 2, file: 'a-2.png', label: null, output: '{"clip":{"durationMs":' });
  save.run({ number: 3, file: 'a-turn.mp4', label: 'turn', output: clip });
  expect(readOutputColumns(db)).toEqual([]);
  save.run({ number: 4, file: 'a-4.mp4', label: null, output: clip });
  expect(readOutputColumns(db)).toEqual(['duration_s', 'frame_rate', 'codecs', 'end_open']);
});

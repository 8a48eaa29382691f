/**
 * Promise: the report says what happened to every scene, in formats that other programs read without loss.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SceneRecord } from '../../../src/runner/core/scene-record.ts';
import { csvTable, resultLine } from '../../../src/runner/report/result-columns.ts';
import { writeReport } from '../../../src/runner/report/write-report.ts';
import { about, failedRow, inFolder, invalidRow, savedRow, sourceOf, summary } from './report-fixtures.ts';
import { runs } from '../../fakes/tier.ts';

const rows = [savedRow, failedRow, invalidRow];

async function csvOf(source: Iterable<SceneRecord>, columns?: string[]): Promise<string[][]> {
  return inFolder(async (folder) =>
    parse(await readFile((await writeReport(folder, sourceOf(source, columns), about)).csv), { bom: false }),
  );
}

it('results.csv has a row for each scene, with our columns first, then those of the manifest', async () => {
  const [header = [], ...cells] = await csvOf(rows);
  expect(header.join()).toBe(
    'id,state,file,more_files,width,height,bytes,sha256,seed,job_id,attempts,unanswered,expired,delay_time_ms,execution_time_ms,stated_cost,' +
      'submitted_at,completed_at,saved_at,failure_kind,failure_text,source,scene,steps,tags,endpoint',
  );
  const shown = cells.map((values) =>
    Object.fromEntries(values.map((value, index) => [header[index], value])),
  );
  expect(shown[0]).toEqual({
    id: 'harbour',
    state: 'saved',
    file: 'images/harbour.png',
    more_files: 'images/harbour-2.png|images/sub/harbour-3.png',
    width: '768',
    height: '512',
    bytes: '1234',
    sha256: 'ab12',
    seed: '18446744073709551615',
    job_id: 'job-1',
    attempts: '2',
    unanswered: '1',
    expired: '0',
    delay_time_ms: '120',
    execution_time_ms: '0',
    stated_cost: '0.0125',
    submitted_at: '2024-02-29T23:59:59.007Z',
    completed_at: '2024-03-01T00:00:00.000Z',
    saved_at: '2024-03-01T00:00:01.000Z',
    failure_kind: '',
    failure_text: '',
    source: 'jobs/scenes.csv:2',
    scene: 'a "red"\nharbour, at dusk',
    steps: '30',
    tags: '["x",{"y":null}]',
    endpoint: 'https://api.example/v2/renderer',
  });
  expect(shown[1]).toMatchObject({
    file: '',
    more_files: '',
    attempts: '3',
    submitted_at: '',
    failure_kind: 'job-failed',
    failure_text: 'the job ended as FAILED: "CUDA, out of\nmemory"',
    scene: "'=cmd()",
    steps: 'null',
    tags: '',
  });
  expect(shown[2]).toMatchObject({
    id: '',
    state: 'invalid',
    attempts: '0',
    failure_kind: 'invalid-row',
    scene: '',
  });
});

it('results.csv leaves the size of sound empty', async () => {
  const sound = { file: 'harbour.wav', width: 0, height: 0, bytes: 9, sha256: 'ab' };
  const [, values = []] = await csvOf([{ ...savedRow, pictures: [sound] }]);
  expect(values.slice(2, 7)).toEqual(['images/harbour.wav', '', '', '', '9']);
});

it('a manifest column with a name of ours gets another one, so that no value is lost', async () => {
  const columns = ['State', 'id', 'seed', 'manifest.seed', 'ID', 'Scene', 'endpoint'];
  const row = { ...savedRow, columns: Object.fromEntries(columns.map((name) => [name, `the ${name}`])) };
  const [header = [], values = []] = await csvOf([row], columns);
  expect(header.slice(22)).toEqual([
    'manifest.State',
    'manifest.manifest.seed',
    'manifest.seed',
    'manifest.ID',
    'Scene',
    'manifest.endpoint',
    'endpoint',
  ]);
  expect(values.slice(22, -1)).toEqual(
    ['State', 'seed', 'manifest.seed', 'ID', 'Scene', 'endpoint'].map((name) => `the ${name}`),
  );
  expect(new Set(header.map((name) => name.toLowerCase())).size).toBe(header.length);
});

it('there are columns for words that pictures do not show if a service reports them, and a manifest’s column goes before', () => {
  const [first, ...others] = savedRow.pictures;
  if (first === undefined) throw new Error('a picture was saved');
  const output = { labelled_words: ['buoy', '=ferry'], ignored_words: ['8k'], notes: ['Fifty gulls.'] };
  const columns = { labelled_words: 'mine', scene: 'sea' };
  const row = { ...savedRow, columns, pictures: [{ ...first, output }, ...others] };
  const table = csvTable(['labelled_words', 'scene'], {
    exact: false,
    told: ['labelled_words', 'ignored_words'],
  });
  const [header = [], values = []] = parse(table.header + table.text([row]));
  expect(header.slice(22)).toEqual([
    'output.labelled_words',
    'ignored_words',
    'labelled_words',
    'scene',
    'endpoint',
  ]);
  expect(values.slice(22, -1)).toEqual(['buoy|=ferry', '8k', 'mine', 'sea']);
  expect(JSON.parse(resultLine(row))).toMatchObject({ pictures: [{ seed: first.seed, ...output }, {}, {}] });
});

it('there are columns for the facts of clips if there are any clips', () => {
  const [first] = savedRow.pictures;
  if (first === undefined) throw new Error('a picture was saved');
  const clips: SceneRecord[] = [
    { durationMs: 4_500, frameRate: 23.976, codecs: ['h264', 'aac'] },
    { isEndOpen: true as const },
  ].map((clip) => ({ ...savedRow, columns: {}, pictures: [{ ...first, output: { clip } }] }));
  const table = csvTable(['codecs'], {
    exact: true,
    told: ['duration_s', 'frame_rate', 'codecs', 'end_open'],
  });
  const [header = [], ...shown] = parse(table.header + table.text([...clips, failedRow]));
  expect(header.slice(22)).toEqual([
    'duration_s',
    'frame_rate',
    'output.codecs',
    'end_open',
    'codecs',
    'endpoint',
  ]);
  expect(shown.map((cells) => cells.slice(22, 27))).toEqual([
    ['4.5', '23.976', 'h264|aac', 'false', ''],
    ['', '', '', 'true', ''],
    ['', '', '', '', ''],
  ]);
  expect(clips.map((row) => JSON.parse(resultLine(row)).pictures[0])).toMatchObject([
    { duration_s: 4.5, frame_rate: 23.976, codecs: ['h264', 'aac'], end_open: false },
    { duration_s: null, frame_rate: null, codecs: null, end_open: true },
  ]);
});

it('any text comes back from list --csv and from results.jsonl', async () => {
  const text = fc
    .array(
      fc.oneof(
        fc.constantFrom('"', ',', '\n', '\r', '\r\n', ' ', '\uFEFF', '=', "'"),
        fc.string({ unit: 'binary' }),
      ),
    )
    .map((parts) => parts.join(''));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ id: text, failureText: text, scene: text }), { maxLength: 5 }),
      (texts) =>
        inFolder(async (folder) => {
          const scenes = texts.map(({ id, failureText, scene }) => ({
            ...failedRow,
            id,
            failureText,
            columns: { scene },
          }));
          const files = await writeReport(folder, sourceOf(scenes, ['scene']), about);
          const { header, text: linesOf } = csvTable(['scene'], { exact: true });
          const table: Record<string, string>[] = parse(header + linesOf(scenes), { columns: true });
          expect(
            table.map((row) => ({ id: row['id'], failureText: row['failure_text'], scene: row['scene'] })),
          ).toEqual(texts);
          const lines = (await readFile(files.jsonl, 'utf8')).split('\n').slice(0, -1);
          expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject(
            texts.map(({ id, failureText, scene }) => ({
              id,
              failure: { text: failureText },
              columns: { scene },
            })),
          );
        }),
    ),
    { numRuns: runs(100, { ms: 16 }) },
  );
});

it('results.csv has nothing that a spreadsheet would run as a formula, and numbers as they are', async () => {
  const formulas = ['=HYPERLINK("http://x","y")', '+1+cmd|calc', '-2+3', '@SUM(A1)', '\t=1', '\r=1', '＝1'];
  const plain = ['-5', '+3.2e4', '.5', '-.5e-3', 'a=b', "'=1", '', ' -'];
  const texts = [...formulas, ...plain];
  const scenes = texts.map((text) => ({ ...failedRow, failureText: text, columns: { '=scene': text } }));
  const [header = [], ...cells] = await csvOf(scenes, ['=scene']);
  expect(header[22]).toBe("'=scene");
  const expected = [...formulas.map((text) => `'${text}`), ...plain];
  expect(cells.map((row) => row[22])).toEqual(expected);
  expect(cells.map((row) => row[20])).toEqual(expected);
});

it('results.jsonl has an object a scene, with all pictures and all columns in their types', async () => {
  await inFolder(async (folder) => {
    const { jsonl } = await writeReport(folder, sourceOf(rows), about);
    const lines = (await readFile(jsonl, 'utf8')).split('\n');
    expect(lines.pop()).toBe('');
    const [saved, failed, invalid] = lines.map((line): unknown => JSON.parse(line));
    expect(saved).toEqual({
      id: 'harbour',
      state: 'saved',
      pictures: [
        {
          file: 'images/harbour.png',
          width: 768,
          height: 512,
          bytes: 1234,
          sha256: 'ab12',
          seed: '18446744073709551615',
        },
        { file: 'images/harbour-2.png', width: 64, height: 32, bytes: 99, sha256: 'cd34', seed: null },
        { file: 'images/sub/harbour-3.png', width: 1, height: 1, bytes: 70, sha256: 'ef56', seed: '0' },
      ],
      jobId: 'job-1',
      attempts: 2,
      unanswered: 1,
      expired: 0,
      delayTime: 120,
      executionTime: 0,
      statedCost: 0.0125,
      submittedAt: '2024-02-29T23:59:59.007Z',
      completedAt: '2024-03-01T00:00:00.000Z',
      savedAt: '2024-03-01T00:00:01.000Z',
      failure: null,
      source: 'jobs/scenes.csv:2',
      columns: savedRow.columns,
      endpoint: 'https://api.example/v2/renderer',
    });
    expect(failed).toMatchObject({
      pictures: [],
      submittedAt: null,
      failure: { kind: 'job-failed', text: failedRow.failureText },
    });
    expect(invalid).toMatchObject({
      id: null,
      state: 'invalid',
      failure: { kind: 'invalid-row' },
      columns: {},
    });
  });
});

it('summary.json has the numbers, what they are about and when they were written', async () => {
  await inFolder(async (folder) => {
    const files = await writeReport(folder, sourceOf(rows), about);
    expect(JSON.parse(await readFile(files.summary, 'utf8'))).toEqual({
      formatVersion: 1,
      program: 'nightrender 0.1.0',
      writtenAt: '2024-03-01T06:00:00.000Z',
      batch: about.batch,
      ...summary,
      times: { ...summary.times, firstSubmittedAt: '2024-02-29T00:00:00.000Z' },
      lastRun: { ...summary.lastRun, startedAt: '2024-02-29T00:00:00.000Z' },
    });
  });
});

it('the results are only a header, without a last run, for a batch without scenes and runs', async () => {
  await inFolder(async (folder) => {
    const source = { ...sourceOf([]), summary: () => ({ ...summary, lastRun: null }) };
    const files = await writeReport(join(folder, 'new', 'report'), source, about);
    expect(files).toEqual({
      index: join(folder, 'new/report/index.html'),
      csv: join(folder, 'new/report/results.csv'),
      jsonl: join(folder, 'new/report/results.jsonl'),
      summary: join(folder, 'new/report/summary.json'),
    });
    expect((await readFile(files.csv, 'utf8')).split('\n')).toHaveLength(2);
    expect(await readFile(files.jsonl, 'utf8')).toBe('');
    expect(JSON.parse(await readFile(files.summary, 'utf8'))).toMatchObject({ lastRun: null });
  });
});

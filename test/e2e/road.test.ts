/**
 * Promise: the built program renders real lists in every format, continues after edits, and rebuilds the
 * report.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import sharp from 'sharp';
import { expect, it } from 'vitest';
import { firstTier, isWhole, rest } from '../fakes/tier.ts';
import { type Night, nightOf, nightWith, pipeline, root, small } from './cli.ts';
import { startStandIn } from './stand-ins.ts';

const realList = join(root, '../shared/data/parti-prompts.tsv');

firstTier.it(
  'renders a list of prompts with quotes, commas, many scripts and repetitions as it comes',
  async () => {
    await expectRendered(join(root, 'test/fixtures/prompts.tsv'), 40);
  },
);

it.skipIf(!isWhole || !existsSync(realList))(
  'renders a real list of 1,632 prompts as it comes (skipped in `npm test`, and if the list is not beside the project)',
  () => expectRendered(realList, 1632),
);

/** Expects that every row of the list has its unchanged prompt and its own picture. */
async function expectRendered(list: string, count: number): Promise<void> {
  const night = nightWith({
    'pipeline.yaml': pipeline('local', `${small.replace('scene }}', 'Prompt }}')}concurrency: 64\n`),
  });
  await night.run('--manifest', list).exits(0);
  // In results.csv, a text that begins like a formula is prefixed with an apostrophe.
  const { stdout } = await night.list('--csv');
  const rows: Record<string, string>[] = parse(stdout, { columns: true });
  expect(rows).toHaveLength(count);
  const given = readFileSync(list, 'utf8').replace(/\n$/, '').split('\n').slice(1);
  const columns = ['Prompt', 'Category', 'Challenge', 'Note'];
  expect(rows.map((row) => columns.map((name) => row[name]).join('\t'))).toEqual(given);
  expect(new Set(rows.map((row) => row['file'])).size).toBe(count);
  for (const row of rows) expect(existsSync(night.path('out', row['file'] ?? '')), row['id']).toBe(true);
  await sharp(night.path('out', rows[Math.floor(count / 2)]?.['file'] ?? '')).stats();
}

firstTier.it.each([
  ['scenes.tsv', 'id\tscene\na\tsea\nb\thills\n'],
  ['scenes.jsonl', '{"id":"a","scene":"sea"}\n{"id":"b","scene":"hills"}\n'],
  ['scenes.csv.gz', gzipSync('id,scene\na,sea\nb,"hills,\nfar away"\n')],
  ['scenes.txt', 'sea\nhills\n'],
] as const)('reads %s', async (name, content) => {
  const { url } = await startStandIn();
  const night = nightWith({ 'pipeline.yaml': pipeline(url) });
  night.write(name, content);
  await night.run('--manifest', name).exits(0);
  expect(results(night).map((row) => row['state'])).toEqual(['saved', 'saved']);
});

rest.it('reads standard input', async () => {
  const night = nightWith({ 'pipeline.yaml': pipeline('local', small) });
  const run = night.with({ stdin: 'id,scene\na,sea\n' }).program('run', 'pipeline.yaml', '--manifest', '-');
  await run.finish().exits(0);
  expect(results(night).map((row) => row['source'])).toEqual(['standard input:2']);
});

firstTier.it('rebuilds the report from the checkpoint alone', async () => {
  const night = nightOf('local', 3, small);
  await night.run('--quiet');
  const before = night.read('out/report/results.csv');
  night.write('out/report/results.csv', 'spoilt');
  const { stdout } = await night.do('report').exits(0);
  expect(stdout.split('\n').slice(0, 4)).toEqual([
    'out/report/index.html',
    'out/report/results.csv',
    'out/report/results.jsonl',
    'out/report/summary.json',
  ]);
  expect(night.read('out/report/results.csv')).toBe(before);
});

function results(night: Night): Record<string, string>[] {
  return parse(readFileSync(night.path('out/report/results.csv')), { columns: true });
}

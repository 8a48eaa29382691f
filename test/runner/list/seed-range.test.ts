/** Promise: seeds fit a signed 32-bit integer, and a batch with larger seeds keeps every scene. */
import { fingerprintOf, type ListedScene, newestRules } from '../../../src/runner/core/scene.ts';
import { hash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Sqlite } from '../../../src/lib/sqlite/database.ts';
import { openCheckpoint, readRecordedList } from '../../../src/runner/checkpoint/open-checkpoint.ts';
import { beginBatch } from '../../../src/batch/begin.ts';
import { readLists } from '../../../src/batch/lists.ts';
import type { Config } from '../../../src/runner/config/config.ts';
import { readConfig } from '../../../src/runner/config/read-config.ts';
import type { Plan } from '../../../src/runner/core/batch-plan.ts';
import { tempFolder } from '../config/pipeline-file.ts';
import { unstopped } from '../../fakes/world.ts';
import { listOptions } from './list-options.ts';

const rows = ['r1', 'r2', 'r3', 'r4'];

function batchWith(seeds: number): Config {
  const folder = tempFolder();
  writeFileSync(join(folder, 'a.csv'), `id,scene\n${rows.map((id) => `${id},hills\n`).join('')}`);
  const pipeline = join(folder, 'pipeline.yaml');
  const text = `manifest: a.csv\nendpoint: {baseUrl: local, id: painter}\noutput: {dir: out}\nscenes: {seeds: ${seeds}}\n`;
  writeFileSync(pipeline, text);
  const config = readConfig(pipeline, [], {});
  mkdirSync(config.output.dir);
  return config;
}

/** Plans the batch, as `run` does before it sends anything. */
async function planned(config: Config): Promise<{ plan: Plan | undefined; seeds: number[] }> {
  const { dir } = config.output;
  const scenes = await readLists(config, listOptions(), 'own');
  const { opened } = await beginBatch(join(config.folder, 'pipeline.yaml'), config, scenes, dir);
  try {
    const plan = await opened.checkpoint.reconcile(scenes.list, unstopped);
    const claimed = await opened.checkpoint.claim(100, config.endpoint, 0);
    return { plan, seeds: claimed.map(({ input }) => Number(input['seed'])) };
  } finally {
    await opened.close();
    scenes.list.close();
  }
}

/** Leaves a batch of an earlier version: seeds of 32 bits, without a record of their range. */
async function leaveOldBatch({ output, endpoint }: Config): Promise<ListedScene[]> {
  const scenes = rows.flatMap((row) =>
    [1, 2].map((n): ListedScene => {
      const seed = Number.parseInt(hash('sha256', `${row}\n${n}`).slice(0, 8), 16);
      const input = { scene: 'hills', seed };
      const columns = JSON.stringify({ id: row, scene: 'hills', seed });
      const place = { position: 2 * rows.indexOf(row) + n, source: 'a.csv' };
      const rest = { input: JSON.stringify(input), fingerprint: fingerprintOf(input), columns, ...place };
      return { id: `${row}-s${n}`, ...rest };
    }),
  );
  const identity = { manifest: ['a.csv'], endpoint, columns: ['id', 'scene', 'seed'], axes: ['seed'] };
  const opened = openCheckpoint(output.dir, 'nightrender 1.0.0', identity, 0);
  await opened.checkpoint.reconcile({ scenes: () => scenes, badRows: () => [] }, unstopped);
  opened.close();
  return scenes;
}

it('the seeds of a new batch are below 2^31', async () => {
  const config = batchWith(20);
  const { plan, seeds } = await planned(config);
  expect(plan).toMatchObject({ added: 80 });
  expect(new Set(seeds).size).toBe(80);
  expect(Math.max(...seeds)).toBeLessThan(2 ** 31);
  expect(readRecordedList(config.output.dir).rules).toBe(newestRules);
});

it('a batch with seeds of 32 bits keeps every scene, and more seeds of it are of the same range', async () => {
  const config = batchWith(2);
  const old = await leaveOldBatch(config);
  expect(old.some(({ columns }) => (JSON.parse(columns) as { seed: number }).seed >= 2 ** 31)).toBe(true);
  const repeated = { rows: 3, isSkipped: false };
  const kept = { added: 0, changed: 0, unchanged: 8, withdrawn: 0, repeated };
  expect((await planned(config)).plan).toEqual(kept);
  expect((await planned(config)).plan).toEqual(kept);
  const more = { ...config, scenes: { matrix: [], zip: [], exclude: [], seeds: 3 } };
  expect((await planned(more)).plan).toEqual({ ...kept, added: 4 });
  // The range is also kept if a run without `scenes.seeds` came between.
  await planned({ ...config, scenes: undefined });
  expect((await planned(more)).plan).toMatchObject({ added: 0, changed: 0, unchanged: 12 });
});

it('keeps the rules of an earlier version even if the record of its batch is lost', async () => {
  const config = batchWith(2);
  await leaveOldBatch(config);
  const db = new Sqlite(join(config.output.dir, 'checkpoint.sqlite'));
  // A run of such a version did not record the rules by which it read its list.
  db.exec('UPDATE runs SET rules = NULL; DELETE FROM batch');
  db.close();
  expect(readRecordedList(config.output.dir).rules).toBe(1);
});

/**
 * Promise: if the checkpoint is lost, pictures are adopted or kept aside as the user decides, and never paid
 * for again silently.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Sqlite } from '../../src/lib/sqlite/database.ts';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import type { BatchIdentity } from '../../src/runner/checkpoint/batch-identity.ts';
import type { RulesVersion } from '../../src/runner/core/scene.ts';
import { openCheckpoint } from '../../src/runner/checkpoint/open-checkpoint.ts';
import { firstTier, isWhole, rest, sampled } from '../fakes/tier.ts';
import { withCheckpoint } from './marked-scenes.ts';
import { finishedNight, type Night, nightWith, pipeline, scenes } from './cli.ts';

const small = 'input: {scene: "{{ scene }}", width: 48, height: 32}\n';

/** Renders five scenes, then removes the checkpoint. */
async function lost(metadata: string): Promise<{ night: Night; images: string; jobs: () => number }> {
  const text = pipeline('local', small).replace('  dir: out\n', `  dir: out\n  metadata: ${metadata}\n`);
  const night = await finishedNight({ 'pipeline.yaml': text, 'scenes.csv': scenes(5) });
  for (const name of ['', '-wal', '-shm'])
    rmSync(night.path(`out/checkpoint.sqlite${name}`), { force: true });
  return { night, images: night.path('out/images'), jobs: () => night.localJobs() };
}

it.each(sampled(['none', 'embed', 'sidecar'], { ms: 400 }))(
  '`--adopt` takes matching pictures (metadata: %s), and the run renders the others',
  async (metadata) => {
    const { night, images, jobs } = await lost(metadata);
    const cut = readFileSync(join(images, 's1.png')).subarray(0, -20);
    writeFileSync(join(images, 's1.png'), cut);
    if (metadata === 'embed') renameSync(join(images, 's2.png'), join(images, 'renamed by hand.png'));
    const plan = await night.plan('--adopt');
    expect(plan.stdout + plan.stderr).toContain('which pictures can be adopted (--adopt)');
    const run = await night.run('--adopt').exits(0);
    const byName =
      metadata === 'none' ? ', 4 of them by name only: an edited row may have its old picture' : '';
    expect(run.stderr).toContain(
      `4 pictures in the folder adopted for 4 scenes${byName}; 1 not used: s1.png: `,
    );
    expect(run.stderr).toContain('1 file that was there is kept as <name>.former in out/images\n');
    expect(jobs()).toBe(6);
    expect(readFileSync(join(images, 's1.png.former'))).toEqual(cut);
    await night.verify().prints('checked   5\ngood      5\n');
  },
);

firstTier.it.each([
  ['their prompts', {}],
  ['their ids, as earlier versions did', { name: "  name: '{{ id }}.png'\n" }],
])(
  '`--adopt` takes pictures of a list without ids that were named by %s',
  async (_, { name = '' }: { name?: string }) => {
    const text = pipeline('local', small).replace('scenes.csv', 'prompts.txt');
    const named = text.replace('  dir: out\n', `  dir: out\n${name}`);
    const night = await finishedNight({
      'pipeline.yaml': named.replace('{{ scene }}', '{{ prompt }}'),
      'prompts.txt': 'a bench\na boat\n',
    });
    const before = readdirSync(night.path('out/images')).toSorted();
    for (const end of ['', '-wal', '-shm'])
      rmSync(night.path(`out/checkpoint.sqlite${end}`), { force: true });
    night.write('pipeline.yaml', text.replace('{{ scene }}', '{{ prompt }}'));
    await night.run('--adopt').exits(0).warns('2 pictures in the folder adopted for 2 scenes');
    expect(night.localJobs()).toBe(2);
    expect(readdirSync(night.path('out/images')).toSorted()).toEqual(before);
  },
);

const sweep = `input: {scene: '{{ prompt }}', guidance: '{{ guidance }}', seed: '{{ seed }}', width: 32, height: 32}\n`;

/**
 * Rules of version 0.2.0 in November 2026: each scene has its own seeds, and lines keep white space at their
 * ends.
 */
const formerRules: RulesVersion = 2;

it.each([['newer', undefined], ...(isWhole ? [['older', formerRules] as const] : [])] as const)(
  '`--adopt` finds the %s rules of a batch with a sweep and text lines, and keeps these rules for added values',
  async (_, rules) => {
    const text = (guidance: string): string =>
      pipeline('local', `${sweep}scenes: {matrix: {guidance: ${guidance}}, seeds: 2}\n`)
        .replace('scenes.csv', 'list.txt')
        .replace('  dir: out\n', '  dir: out\n  metadata: embed\n');
    const night = nightWith({ 'pipeline.yaml': text('[3, 7]'), 'list.txt': ' a bench \na boat\n' });
    if (rules !== undefined) beginWith(rules, night);
    await night.run().exits(0);
    const jobs = (): number => night.localJobs();
    const seeds = (): number => new Set(resultsIn(night.cwd).map((row) => row['seed'])).size;
    expect([jobs(), seeds()]).toEqual([8, rules === undefined ? 4 : 8]);
    for (const name of ['', '-wal', '-shm'])
      rmSync(night.path(`out/checkpoint.sqlite${name}`), { force: true });

    const adopted = await night.run('--adopt');
    expect([adopted.code, jobs()], adopted.stderr).toEqual([0, 8]);
    night.write('pipeline.yaml', text('[3, 7, 9]'));
    const more = await night.run();
    expect([more.code, jobs(), seeds()], more.stderr).toEqual([0, 12, rules === undefined ? 4 : 12]);
  },
);

rest.it(
  '`--adopt` takes the rules of a batch from most of its pictures, even if recorded jobs saved none, or else from the report',
  async () => {
    const text = (metadata: string, more = ''): string =>
      pipeline('local', `${sweep}scenes: {matrix: {guidance: [3, 7]}, seeds: 2}\n${more}`)
        .replace('scenes.csv', 'list.txt')
        .replace('  dir: out\n', `  dir: out\n  metadata: ${metadata}\n`);
    const made = async (metadata: string, rules: RulesVersion): Promise<Night> => {
      const night = nightWith({ 'pipeline.yaml': text(metadata), 'list.txt': ' a bench \na boat\n' });
      beginWith(rules, night);
      await night.run().exits(0);
      return night;
    };
    const [old, other] = [await made('embed', formerRules), await made('embed', 3)];
    const images = old.path('out/images');
    const foreign = readdirSync(other.path('out/images'))[0] ?? '';
    renameSync(old.path('out'), old.path('before'));
    old.write('pipeline.yaml', text('embed', 'check: {minSide: 9000}\nretry: {attempts: 1}\n'));
    await old.run().exits(3);
    old.write('pipeline.yaml', text('embed'));
    cpSync(old.path('before/images'), images, { recursive: true });
    cpSync(other.path('out/images', foreign), join(images, 'aaa.png'));

    const unnamed = await made('none', formerRules);
    for (const name of ['', '-wal', '-shm'])
      rmSync(unnamed.path(`out/checkpoint.sqlite${name}`), { force: true });
    for (const night of [old, unnamed]) {
      await night.run('--adopt').exits(0);
      expect(night.localJobs()).toBe(8);
      const saved = resultsIn(night.cwd).filter(({ state }) => state === 'saved');
      expect(new Set(saved.map((row) => row['manifest.seed'])).size).toBe(8);
    }
  },
);

firstTier.it('a batch with a damaged record keeps its rules', async () => {
  const lines = { 'list.txt': 'a bench \na boat\n' };
  const text = pipeline('local', `${sweep}scenes: {matrix: {guidance: [3, 7]}, seeds: 2}\n`);
  const night = await finishedNight({ 'pipeline.yaml': text.replace('scenes.csv', 'list.txt'), ...lines });
  withCheckpoint(night.cwd, (db) => db.exec('DELETE FROM batch'));
  await night.verify('--repair');
  const again = await night.run();
  expect([again.code, night.localJobs()], again.stderr).toEqual([0, 8]);
});

/** Creates a checkpoint whose batch has begun and has no scenes yet. */
function beginWith(rules: RulesVersion, night: Night): void {
  mkdirSync(night.path('out'));
  openCheckpoint(night.path('out'), 'nightrender 0.2.0', begun(rules), 0).close();
}

function begun(rules: RulesVersion): BatchIdentity {
  const endpoint = { baseUrl: 'local', id: 'scene-renderer', version: 'v2' } as const;
  return { manifest: ['list.txt'], endpoint, columns: [], rules };
}

function resultsIn(cwd: string): Record<string, string>[] {
  return parse(readFileSync(join(cwd, 'out/report/results.csv')), { columns: true });
}

firstTier.it('--fresh keeps every picture as .former, and forgets nothing that is on record', async () => {
  const { night, images, jobs } = await lost('sidecar');
  await night
    .run('--fresh')
    .exits(0)
    .warns('5 files that were there are kept as <name>.former in out/images\n');
  expect(jobs()).toBe(10);
  const former = readdirSync(images).filter((name) => name.endsWith('.former'));
  expect(former.filter((name) => name.includes('.png'))).toHaveLength(5);
  expect(former.filter((name) => name.includes('.json'))).toHaveLength(5);
  await night.run('--fresh').exits(0);
  expect(jobs()).toBe(10);
  expect(existsSync(join(images, 's0.png.former-2'))).toBe(false);
});

firstTier.it.each(['--adopt', '--fresh'])(
  'a run asks about pictures whose records were lost with the log and its mark, and continues with %s',
  async (way) => {
    const { night, jobs } = await lost('sidecar');
    const out = night.path('out');
    rmSync(join(out, '.checkpoint.json'));
    // An empty first page is all that a checkpoint contains before SQLite moves its log into it.
    const db = new Sqlite(join(out, 'checkpoint.sqlite'));
    db.pragma('journal_mode = WAL');
    db.close();
    await night
      .run('--quiet')
      .fails(2, '5 scenes that wait have a picture in the folder', '`nightrender run pipeline.yaml --adopt`');
    await night.plan().exits(2);
    await night.run('--quiet', way).exits(0);
    expect(jobs()).toBe(way === '--adopt' ? 5 : 10);
  },
);

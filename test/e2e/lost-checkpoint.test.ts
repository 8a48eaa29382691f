/** Promise: if the checkpoint is lost, pictures are taken over or kept aside as the user says, and never paid again silently. */
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
import { isWhole, rest, sampled } from '../fakes/tier.ts';
import { withCheckpoint } from './marked-scenes.ts';
import { finishedBatch, folderWith, inProcess, jobsOf, pipeline, scenes } from './cli.ts';

const small = 'input: {scene: "{{ scene }}", width: 48, height: 32}\n';

/** Five scenes are rendered, then the checkpoint is removed. */
async function lost(metadata: string): Promise<{ cwd: string; images: string; jobs: () => number }> {
  const text = pipeline('local', small).replace('  dir: out\n', `  dir: out\n  metadata: ${metadata}\n`);
  const cwd = await finishedBatch({ 'pipeline.yaml': text, 'scenes.csv': scenes(5) });
  for (const name of ['', '-wal', '-shm']) rmSync(join(cwd, `out/checkpoint.sqlite${name}`), { force: true });
  return { cwd, images: join(cwd, 'out/images'), jobs: () => jobsOf(join(cwd, 'out/local-service')) };
}

it.each(sampled(['none', 'embed', 'sidecar'], { ms: 400 }))(
  'takes over what fits (metadata: %s), and renders what does not',
  async (metadata) => {
    const { cwd, images, jobs } = await lost(metadata);
    const cut = readFileSync(join(images, 's1.png')).subarray(0, -20);
    writeFileSync(join(images, 's1.png'), cut);
    if (metadata === 'embed') renameSync(join(images, 's2.png'), join(images, 'renamed by hand.png'));
    const plan = await inProcess(['plan', 'pipeline.yaml', '--adopt'], { cwd });
    expect(plan.stdout + plan.stderr).toContain('which pictures can be adopted (--adopt)');
    const run = await inProcess(['run', 'pipeline.yaml', '--adopt'], { cwd });
    expect(run.code, run.stderr).toBe(0);
    const byName =
      metadata === 'none' ? ', 4 of them by name only: an edited row may have its old picture' : '';
    expect(run.stderr).toContain(
      `4 pictures in the folder adopted for 4 scenes${byName}; 1 not used: s1.png: `,
    );
    expect(run.stderr).toContain('1 picture that was there is kept as <name>.former in out/images\n');
    expect(jobs()).toBe(6);
    expect(readFileSync(join(images, 's1.png.former'))).toEqual(cut);
    const verified = await inProcess(['verify', 'pipeline.yaml'], { cwd });
    expect(verified.stdout).toContain('checked   5\ngood      5\n');
  },
);

it.each([
  ['their prompts', {}],
  ['their ids, as earlier versions did', { name: "  name: '{{ id }}.png'\n" }],
])(
  'takes over pictures of a list without ids that were named by %s',
  async (_, { name = '' }: { name?: string }) => {
    const text = pipeline('local', small).replace('scenes.csv', 'prompts.txt');
    const named = text.replace('  dir: out\n', `  dir: out\n${name}`);
    const cwd = await finishedBatch({
      'pipeline.yaml': named.replace('{{ scene }}', '{{ prompt }}'),
      'prompts.txt': 'a bench\na boat\n',
    });
    const before = readdirSync(join(cwd, 'out/images')).toSorted();
    for (const end of ['', '-wal', '-shm']) rmSync(join(cwd, `out/checkpoint.sqlite${end}`), { force: true });
    writeFileSync(join(cwd, 'pipeline.yaml'), text.replace('{{ scene }}', '{{ prompt }}'));
    const run = await inProcess(['run', 'pipeline.yaml', '--adopt'], { cwd });
    expect([run.code, run.stderr]).toEqual([
      0,
      expect.stringContaining('2 pictures in the folder adopted for 2 scenes'),
    ]);
    expect(jobsOf(join(cwd, 'out/local-service'))).toBe(2);
    expect(readdirSync(join(cwd, 'out/images')).toSorted()).toEqual(before);
  },
);

const sweep = `input: {scene: '{{ prompt }}', guidance: '{{ guidance }}', seed: '{{ seed }}', width: 32, height: 32}\n`;

/** As 0.2.0 of November 2026 left a batch: seeds of each scene's own, and lines with white space at their ends. */
const formerRules: RulesVersion = 2;

it.each([['newer', undefined], ...(isWhole ? [['older', formerRules] as const] : [])] as const)(
  'takes over a sweep and lines of %s rules by these, and values that come later keep them',
  async (_, rules) => {
    const text = (guidance: string): string =>
      pipeline('local', `${sweep}scenes: {matrix: {guidance: ${guidance}}, seeds: 2}\n`)
        .replace('scenes.csv', 'list.txt')
        .replace('  dir: out\n', '  dir: out\n  metadata: embed\n');
    const cwd = folderWith({ 'pipeline.yaml': text('[3, 7]'), 'list.txt': ' a bench \na boat\n' });
    if (rules !== undefined) beginWith(rules, cwd);
    const first = await inProcess(['run', 'pipeline.yaml'], { cwd });
    expect(first.code, first.stderr).toBe(0);
    const jobs = (): number => jobsOf(join(cwd, 'out/local-service'));
    const seeds = (): number => new Set(resultsIn(cwd).map((row) => row['seed'])).size;
    expect([jobs(), seeds()]).toEqual([8, rules === undefined ? 4 : 8]);
    for (const name of ['', '-wal', '-shm'])
      rmSync(join(cwd, `out/checkpoint.sqlite${name}`), { force: true });

    const adopted = await inProcess(['run', 'pipeline.yaml', '--adopt'], { cwd });
    expect([adopted.code, jobs()], adopted.stderr).toEqual([0, 8]);
    writeFileSync(join(cwd, 'pipeline.yaml'), text('[3, 7, 9]'));
    const more = await inProcess(['run', 'pipeline.yaml'], { cwd });
    expect([more.code, jobs(), seeds()], more.stderr).toEqual([0, 12, rules === undefined ? 4 : 12]);
  },
);

rest.it(
  'asks most of the pictures, also where jobs are on record that saved none, and else the report',
  async () => {
    const text = (metadata: string, more = ''): string =>
      pipeline('local', `${sweep}scenes: {matrix: {guidance: [3, 7]}, seeds: 2}\n${more}`)
        .replace('scenes.csv', 'list.txt')
        .replace('  dir: out\n', `  dir: out\n  metadata: ${metadata}\n`);
    const made = async (metadata: string, rules: RulesVersion): Promise<string> => {
      const cwd = folderWith({ 'pipeline.yaml': text(metadata), 'list.txt': ' a bench \na boat\n' });
      beginWith(rules, cwd);
      const run = await inProcess(['run', 'pipeline.yaml'], { cwd });
      expect(run.code, run.stderr).toBe(0);
      return cwd;
    };
    const [old, other] = [await made('embed', formerRules), await made('embed', 3)];
    const images = join(old, 'out/images');
    const foreign = readdirSync(join(other, 'out/images'))[0] ?? '';
    renameSync(join(old, 'out'), join(old, 'before'));
    writeFileSync(
      join(old, 'pipeline.yaml'),
      text('embed', 'check: {minSide: 9000}\nretry: {attempts: 1}\n'),
    );
    expect((await inProcess(['run', 'pipeline.yaml'], { cwd: old })).code).toBe(3);
    writeFileSync(join(old, 'pipeline.yaml'), text('embed'));
    cpSync(join(old, 'before/images'), images, { recursive: true });
    cpSync(join(other, 'out/images', foreign), join(images, 'aaa.png'));

    const unnamed = await made('none', formerRules);
    for (const name of ['', '-wal', '-shm'])
      rmSync(join(unnamed, `out/checkpoint.sqlite${name}`), { force: true });
    for (const cwd of [old, unnamed]) {
      const adopted = await inProcess(['run', 'pipeline.yaml', '--adopt'], { cwd });
      expect([adopted.code, jobsOf(join(cwd, 'out/local-service'))], adopted.stderr).toEqual([0, 8]);
      const saved = resultsIn(cwd).filter(({ state }) => state === 'saved');
      expect(new Set(saved.map((row) => row['manifest.seed'])).size).toBe(8);
    }
  },
);

it('a batch whose own record is damaged keeps its rules', async () => {
  const lines = { 'list.txt': 'a bench \na boat\n' };
  const text = pipeline('local', `${sweep}scenes: {matrix: {guidance: [3, 7]}, seeds: 2}\n`);
  const cwd = await finishedBatch({ 'pipeline.yaml': text.replace('scenes.csv', 'list.txt'), ...lines });
  withCheckpoint(cwd, (db) => db.exec('DELETE FROM batch'));
  await inProcess(['verify', 'pipeline.yaml', '--repair'], { cwd });
  const again = await inProcess(['run', 'pipeline.yaml'], { cwd });
  expect([again.code, jobsOf(join(cwd, 'out/local-service'))], again.stderr).toEqual([0, 8]);
});

/** A checkpoint whose batch has begun and has no scenes yet. */
function beginWith(rules: RulesVersion, cwd: string): void {
  mkdirSync(join(cwd, 'out'));
  openCheckpoint(join(cwd, 'out'), 'nightrender 0.2.0', begun(rules), 0).close();
}

function begun(rules: RulesVersion): BatchIdentity {
  const endpoint = { baseUrl: 'local', id: 'scene-renderer', version: 'v2' } as const;
  return { manifest: ['list.txt'], endpoint, columns: [], rules };
}

function resultsIn(cwd: string): Record<string, string>[] {
  return parse(readFileSync(join(cwd, 'out/report/results.csv')), { columns: true });
}

it('--fresh keeps every picture as .former, and forgets nothing that is on record', async () => {
  const { cwd, images, jobs } = await lost('sidecar');
  const run = await inProcess(['run', 'pipeline.yaml', '--fresh'], { cwd });
  expect(run.code, run.stderr).toBe(0);
  expect(run.stderr).toContain('5 pictures that were there are kept as <name>.former in out/images\n');
  expect(jobs()).toBe(10);
  const former = readdirSync(images).filter((name) => name.endsWith('.former'));
  expect(former.filter((name) => name.includes('.png'))).toHaveLength(5);
  expect(former.filter((name) => name.includes('.json'))).toHaveLength(5);
  const again = await inProcess(['run', 'pipeline.yaml', '--fresh'], { cwd });
  expect(again.code, again.stderr).toBe(0);
  expect(jobs()).toBe(10);
  expect(existsSync(join(images, 's0.png.former-2'))).toBe(false);
});

it.each(['--adopt', '--fresh'])(
  'asks about pictures whose records were lost with the log and the mark, and %s leads on',
  async (way) => {
    const { cwd, jobs } = await lost('sidecar');
    const out = join(cwd, 'out');
    rmSync(join(out, '.checkpoint.json'));
    // A first page without tables: all that a checkpoint holds before SQLite has moved its log into it.
    const db = new Sqlite(join(out, 'checkpoint.sqlite'));
    db.pragma('journal_mode = WAL');
    db.close();
    const refused = await inProcess(['run', 'pipeline.yaml', '--quiet'], { cwd });
    expect(refused.code, refused.stderr).toBe(2);
    expect(refused.stderr).toContain('5 scenes that wait have a picture in the folder');
    expect(refused.stderr).toContain('`nightrender run pipeline.yaml --adopt`');
    expect((await inProcess(['plan', 'pipeline.yaml'], { cwd })).code).toBe(2);
    const run = await inProcess(['run', 'pipeline.yaml', '--quiet', way], { cwd });
    expect(run.code, run.stderr).toBe(0);
    expect(jobs()).toBe(way === '--adopt' ? 5 : 10);
  },
);

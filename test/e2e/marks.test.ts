/**
 * Promise: scenes starred or marked in `watch` are the ones that `list`, `export`, `retry` and a stage take,
 * and a scene marked once is not paid for twice.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { GalleryData, MarkChange } from '../../src/runner/core/gallery-data.ts';
import { MarksFile } from '../../src/runner/files/marks-file.ts';
import { folderWith, inProcess, pipeline, Program, withKey } from './cli.ts';
import { startStandIn } from './stand-ins.ts';

const stage = (url: string): string =>
  pipeline(url, "input: {scene: '{{ prompt }} in detail'}\n")
    .replace('manifest: scenes.csv', 'scenes: {from: pipeline.yaml, ids: marks}')
    .replace('dir: out', 'dir: large');

/** Creates a batch of four saved scenes, s0 to s3, and a stage that takes the starred ones. */
async function finished() {
  const service = await startStandIn();
  const cwd = folderWith({
    'pipeline.yaml': pipeline(service.url, "input: {scene: '{{ scene }}'}\n"),
    'large.yaml': stage(service.url),
    'scenes.csv': `id,scene\n${[0, 1, 2, 3].map((n) => `s${n},a boat ${n}`).join('\n')}\n`,
  });
  const start = (...args: string[]) => inProcess(args, { cwd, ...withKey });
  expect((await start('run', 'pipeline.yaml', '--quiet')).code).toBe(0);
  const mark = (changes: Record<string, MarkChange['mark']>): void =>
    new MarksFile(join(cwd, 'out')).change(
      Object.entries(changes).map(([id, each]) => ({ id, mark: each })),
      Date.now(),
    );
  return { cwd, service, start, mark };
}

const sum = (counts: Iterable<number>): number => [...counts].reduce((all, count) => all + count, 0);

it('the report contains the marks, so that it shows them without `watch`', async () => {
  const { cwd, start, mark } = await finished();
  const data = (): Pick<GalleryData, 'marks' | 'sendsSeed'> => {
    const page = readFileSync(join(cwd, 'out/report/index.html'), 'utf8');
    return JSON.parse(/<script[^>]* id="data"[^>]*>([^<]*)</.exec(page)?.[1] ?? '');
  };
  expect(data()).not.toHaveProperty('marks');
  expect(data()).not.toHaveProperty('sendsSeed');
  mark({ s1: 'star', s2: 'reject' });
  mark({ s2: null });
  expect((await start('report', 'pipeline.yaml')).code).toBe(0);
  expect(data().marks).toEqual([['s1', 'star', expect.any(Number)]]);
  // Unreadable marks do not prevent a report.
  rmSync(join(cwd, 'out/marks.jsonl'));
  mkdirSync(join(cwd, 'out/marks.jsonl'));
  expect((await start('report', 'pipeline.yaml')).code).toBe(0);
  expect(data()).not.toHaveProperty('marks');
});

it('`list`, `export` and a stage take the starred scenes', async () => {
  const { cwd, service, start, mark } = await finished();
  for (const args of [
    ['list', 'pipeline.yaml', '--starred'],
    ['export', 'pipeline.yaml', 'chosen', '--to', 'imagefolder', '--starred'],
    ['plan', 'large.yaml'],
  ]) {
    const { code, stderr } = await start(...args);
    expect(stderr).toContain('no scene of this batch is starred; `nightrender watch` shows the pictures');
    expect(code).toBe(2);
  }
  mark({ s1: 'star', s3: 'star', s2: 'reject', gone: 'star' });
  mark({ s3: null });
  const listed = await start('list', 'pipeline.yaml', '--starred');
  expect(listed.stdout).toMatch(/^s1 +saved/);
  expect(listed.stdout.trim().split('\n')).toHaveLength(1);
  expect(listed.stderr).toContain('marks.jsonl:4: no matching scene has the id "gone"');
  const exported = await start('export', 'pipeline.yaml', 'chosen', '--to', 'imagefolder', '--starred');
  expect(exported.code, exported.stderr).toBe(0);
  const shown = readdirSync(join(cwd, 'chosen')).filter((name) => !name.startsWith('.'));
  expect(shown.toSorted()).toEqual(['metadata.jsonl', 's1.png']);
  const large = await start('run', 'large.yaml', '--quiet');
  expect(large.code, large.stderr).toBe(0);
  expect(service.submissions().get('a boat 1 in detail')).toBe(1);
  expect(sum(service.submissions().values())).toBe(5);
});

it('retry --marked renders each marked scene again, once, and keeps the picture', async () => {
  const { cwd, service, start, mark } = await finished();
  const none = await start('retry', 'pipeline.yaml', '--marked');
  expect(none.stderr).toContain('no scene of this batch is marked to be rendered again');
  mark({ s0: 'again', s2: 'star', gone: 'again' });
  const before = readFileSync(join(cwd, 'out/marks.jsonl'), 'utf8');
  const { code, stdout, stderr } = await start('retry', 'pipeline.yaml', '--marked');
  expect(code, stderr).toBe(0);
  expect(stdout).toContain('1 scene waits to be rendered again:\n  s0 (saved)');
  expect(readdirSync(join(cwd, 'out/images'))).toContain('s0.png.former');
  expect(new MarksFile(join(cwd, 'out')).read().marks.get('s0')).toBeUndefined();
  expect((await start('run', 'pipeline.yaml', '--quiet')).code).toBe(0);
  expect(service.submissions().get('a boat 0')).toBe(2);
  // After a crash before the mark was removed, the picture is newer than the mark.
  writeFileSync(join(cwd, 'out/marks.jsonl'), before);
  const again = await start('retry', 'pipeline.yaml', '--marked');
  expect(again.stderr).toContain('each scene that is marked has been rendered since, waits, or is gone');
  expect(again.code).toBe(2);
  expect(sum(service.submissions().values())).toBe(5);
});

it('a line of marks that a crash has cut loses only its mark, and the next mark is kept', async () => {
  const { cwd, start, mark } = await finished();
  mark({ s1: 'star', s2: 'star' });
  const path = join(cwd, 'out/marks.jsonl');
  writeFileSync(path, readFileSync(path, 'utf8').slice(0, -5));
  mark({ s3: 'star' });
  const { stdout, stderr } = await start('list', 'pipeline.yaml', '--starred');
  expect(stdout.match(/^s\d/gm)).toEqual(['s1', 's3']);
  expect(stderr).toContain('marks.jsonl: 1 line cannot be read, the first is 2; skipped.');
});

it('`watch` saves marks only for scenes of the batch, and says why it cannot save a mark', async () => {
  const { cwd } = await finished();
  const program = new Program(['watch', 'pipeline.yaml', '--json', '--port', '0'], { cwd });
  const { url, link } = await program.event('watching');
  const headers = { 'content-type': 'application/json', 'x-nightrender-watch': '1' };
  const post = (path: string, body: object, more = {}): Promise<Response> =>
    fetch(`${String(url)}${path}`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify(body),
    });
  const entered = await post('session', { password: String(link).split('#password=')[1] });
  const { token } = (await entered.json()) as { token: string };
  const cookie = entered.headers.get('set-cookie')?.split(';')[0];
  const owner = { cookie, 'x-nightrender-watch': token };
  const star = (id: string) => ({ id, mark: 'star' });
  expect((await post('marks', [star('s1'), star('gone'), star('__proto__')], owner)).status).toBe(204);
  const path = join(cwd, 'out/marks.jsonl');
  expect(readFileSync(path, 'utf8').match(/"id":"[^"]+"/g)).toEqual(['"id":"s1"']);
  // Marks contain ids, which reveal content of the batch, so the file is private like the checkpoint.
  expect(statSync(path).mode & 0o777).toBe(0o600);
  rmSync(path);
  mkdirSync(path);
  const refused = await post('marks', [star('s2')], owner);
  expect([refused.status, await refused.json()]).toEqual([
    507,
    { error: expect.stringContaining('marks.jsonl') },
  ]);
  // The pictures are still shown.
  const news = (await (await fetch(`${String(url)}data.json`)).json()) as { numbers: unknown };
  expect(news.numbers).toMatchObject({ scenes: { saved: 4 } });
});

it('`retry --marked` allows no other choice of scenes, and says which marked scenes it leaves out', async () => {
  const { start, mark } = await finished();
  mark({ s0: 'again', gone: 'again' });
  const beside = await start('retry', 'pipeline.yaml', '--marked', '--id', 's1');
  expect(beside.stderr).toContain('--marked: --id is given as well; leave one of them out');
  expect(beside.code).toBe(2);
  const { stderr, code } = await start('retry', 'pipeline.yaml', '--marked');
  expect(stderr).toContain('1 marked scene is left out: rendered since, waiting, or gone.');
  expect(code).toBe(0);
});

/**
 * Promise: no text of a batch becomes code in the report page, and a reader never sees a mixture of two
 * reports.
 */
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { SceneRecord } from '../../../src/runner/core/scene-record.ts';
import type { GalleryData, GalleryRow } from '../../../src/runner/core/gallery-data.ts';
import { writeReport } from '../../../src/runner/report/write-report.ts';
import {
  about,
  failedRow,
  inFolder,
  invalidRow,
  runSpan,
  savedRow,
  sourceOf,
  summary,
} from './report-fixtures.ts';

const hostile = '</script><script>alert(1)</script><!-- \u2028\u2029 "quoted" \\ \u202eright to left';

it('the gallery gets the data of the report, and every row in order', async () => {
  await inFolder(async (folder) => {
    await writeReport(folder, sourceOf([savedRow, failedRow, invalidRow]), about);
    const data = await dataOf(folder);
    expect(data).toMatchObject({
      title: 'my night/out',
      scenes: { saved: 1, failed: 1, invalid: 1 },
      columns: [
        { name: 'id', choices: null },
        {
          name: 'scene',
          choices: [
            ['a "red"\nharbour, at dusk', 1],
            ['=cmd()', 1],
          ],
        },
        { name: 'steps', choices: [['30', 1]] },
        { name: 'tags', choices: [['["x",{"y":null}]', 1]] },
      ],
      delay: { count: 1, p50Ms: 120, p95Ms: 120, mostMs: 120 },
    });
    const [saved, failed, invalid] = await rowsOf(folder, data);
    expect(saved).toMatchObject({ id: 'harbour', state: 'saved', prompt: 1, savedAt: savedRow.savedAt });
    expect(saved?.pictures?.map(({ file, thumbnail, seed }) => [file, thumbnail, seed])).toEqual([
      ['../images/harbour.png', 'thumbnails/ab/ab12.jpg', '18446744073709551615'],
      ['../images/harbour-2.png', undefined, undefined],
      ['../images/sub/harbour-3.png', undefined, '0'],
    ]);
    expect(failed).toMatchObject({ id: 'moon', prompt: 1, failure: ['job-failed', failedRow.failureText] });
    expect(invalid).toEqual({
      state: 'invalid',
      failure: ['invalid-row', 'is not valid UTF-8'],
      source: invalidRow.source,
    });
  });
});

it('the gallery names each endpoint with the scenes that it rendered', async () => {
  await inFolder(async (folder) => {
    await writeReport(folder, sourceOf([savedRow]), about);
    expect((await dataOf(folder)).endpoint).toBe('renderer at https://api.example/v2');
    const elsewhere = { ...savedRow, endpoint: 'https://other.example/v2/renderer' };
    await writeReport(folder, sourceOf([elsewhere, savedRow, elsewhere]), about);
    expect((await dataOf(folder)).endpoint).toBe(
      'https://other.example/v2/renderer (2), https://api.example/v2/renderer (1)',
    );
  });
});

it('the gallery groups failures, with the command that puts exactly these back', async () => {
  await inFolder(async (folder) => {
    const expired: SceneRecord = { ...failedRow, failureKind: 'expired', failureText: 'gone' };
    await writeReport(folder, sourceOf([failedRow, expired, failedRow, invalidRow]), about);
    const { failures } = await dataOf(folder);
    expect(
      failures.map(({ kind, scenes, causes, command }) => [kind, scenes, causes[0]?.first, command]),
    ).toEqual([
      ['job-failed', 2, [0, 2], "nightrender retry '/home/me/my night/pipeline.yaml' --kind job-failed"],
      ['expired', 1, [1], "nightrender retry '/home/me/my night/pipeline.yaml' --kind expired"],
      ['invalid-row', 1, [3], null],
    ]);
  });
});

it('the gallery joins failures that differ only in numbers, ids and addresses, but not in the status', async () => {
  await inFolder(async (folder) => {
    const texts = [
      'was answered 404: no model "a b"',
      'CUDA out of memory: 2.5 GiB of 40, see https://one.example/logs/ab3f-17',
      'CUDA out of memory: 11 GiB of 40, see https://other.example/logs/x',
      'was answered 500: no model "a b"',
      'CUDA out of memory: 3 GiB of 40, see https://third.example/',
    ];
    const rows = texts.map((failureText): SceneRecord => ({ ...failedRow, failureText }));
    await writeReport(folder, sourceOf(rows), about);
    const [failure] = (await dataOf(folder)).failures;
    expect(failure?.scenes).toBe(5);
    expect(failure?.causes).toEqual([
      { scenes: 3, text: texts[1], first: [1, 2, 4] },
      { scenes: 1, text: texts[0], first: [0] },
      { scenes: 1, text: texts[3], first: [3] },
    ]);
  });
});

it('the gallery distinguishes fifty causes of a kind, and counts the others together', async () => {
  await inFolder(async (folder) => {
    const word = (index: number): string => String.fromCodePoint(0x4e00 + index);
    const texts = Array.from({ length: 70 }, (_, index) => word(index % 60));
    // The most frequent cause may come last.
    const rows = [...texts, word(99), word(99), word(99)].map((failureText) => ({
      ...failedRow,
      failureText,
    }));
    await writeReport(folder, sourceOf(rows), about);
    const [failure] = (await dataOf(folder)).failures;
    expect(failure?.scenes).toBe(73);
    expect(failure?.causes).toHaveLength(51);
    expect(failure?.causes[0]).toEqual({ scenes: 3, text: word(99), first: [70, 71, 72] });
    expect(failure?.causes.at(-1)).toEqual({
      scenes: 11,
      text: word(49),
      first: [49, 50, 51, 52, 53, 54],
      isRest: true,
    });
  });
});

it('the gallery counts the time of the runs, not of the pauses between them, and no time twice', async () => {
  const hour = 3_600_000;
  const run = (startedAt: number, endedAt: number | null) => ({ ...runSpan, startedAt, endedAt });
  const spans = [run(0, hour), run(hour / 2, 2 * hour), run(10 * hour, null), run(20 * hour, 21 * hour)];
  await inFolder(async (folder) => {
    // The third run crashed after it had saved something. The picture at 20.5 belongs to the fourth run.
    const saved = [10.5, 11, 20.5].map((at) => ({ ...savedRow, submittedAt: null, savedAt: at * hour }));
    await writeReport(folder, { ...sourceOf(saved), runs: () => spans }, about);
    expect((await dataOf(folder)).times.runMs).toBe(4 * hour);
  });
});

it('the gallery shows the whole batch, and separately its latest run if that began late', async () => {
  const hour = 3_600_000;
  const nights = (startedAt: number) =>
    inFolder(async (folder) => {
      const runs = [0, startedAt].map((at) => ({ ...runSpan, startedAt: at, endedAt: 10 * hour }));
      const saved = [1, 9].map((at) => ({ ...savedRow, savedAt: at * hour }));
      const times = { ...summary.times, firstSubmittedAt: 0, lastSavedAt: 9 * hour };
      const source = { ...sourceOf(saved), runs: () => runs, summary: () => ({ ...summary, times }) };
      await writeReport(folder, source, about);
      return (await dataOf(folder)).nights.map((night) => [
        night.startedAt / hour,
        night.endedAt / hour,
        night.saved.reduce((sum, count) => sum + count, 0),
      ]);
    });
  expect(await nights(0)).toEqual([[0, 10, 2]]);
  expect(await nights(hour)).toEqual([[0, 10, 2]]);
  expect(await nights(1.01 * hour)).toEqual([
    [0, 10, 2],
    [1.01, 10, 1],
  ]);
});

it('the gallery knows which columns have numbers, and which have the same value in several rows', async () => {
  await inFolder(async (folder) => {
    const rows = Array.from({ length: 120 }, (_, index) => ({
      ...savedRow,
      columns: {
        id: `s${index}`,
        scene: `a long prompt, ${Math.floor(index / 2)}`,
        only: `one of its own, ${index}`,
        text: String(index / 4),
        mixed: index === 60 ? 'none' : index,
        seed: index * 1000,
        steps: index % 3,
        empty: null,
      },
    }));
    const names = ['id', 'scene', 'only', 'text', 'mixed', 'seed', 'steps', 'empty'];
    await writeReport(folder, sourceOf(rows, names), about);
    const { columns } = await dataOf(folder);
    const told = columns.map(({ name, choices, isShared = false, range }) => [
      name,
      choices?.length ?? null,
      isShared,
      range && [range.least, range.most, range.bins.reduce((sum, count) => sum + count, 0)],
    ]);
    expect(told).toEqual([
      ['id', null, false, undefined],
      ['scene', null, true, undefined],
      ['only', null, false, undefined],
      ['text', null, false, [0, 29.75, 120]],
      ['mixed', null, false, undefined],
      ['seed', null, false, undefined],
      ['steps', 3, true, undefined],
      ['empty', 0, false, undefined],
    ]);
  });
});

it('the gallery shows the sent input if no column has it, and cuts texts that are too long', async () => {
  await inFolder(async (folder) => {
    const input = { scene: 'a fox, at night', width: 64, steps: 30, photo: 'x'.repeat(50_000) };
    const row: SceneRecord = { ...savedRow, columns: { animal: 'fox', steps: 30 }, input };
    await writeReport(folder, sourceOf([row], ['animal', 'steps']), about);
    const [read] = await rowsOf(folder, await dataOf(folder));
    expect(read).toMatchObject({ prompt: 'a fox, at night', values: ['fox', 30], input: { width: 64 } });
    expect(Object.keys(read?.input ?? {})).toEqual(['width', 'photo']);
    expect(String(read?.input?.['photo'])).toMatch(/^x{20000} … \(30,000 more characters\)$/);
  });
});

it('leaves nothing of a prompt, a name or a failure in the page that ends a script or begins a comment', async () => {
  await inFolder(async (folder) => {
    const row: SceneRecord = {
      ...failedRow,
      pictures: [{ file: `${hostile} #?%.png`, width: 1, height: 1, bytes: 1, sha256: 'ab' }],
      failureText: hostile,
      columns: { id: hostile, scene: hostile },
      input: { scene: hostile },
    };
    await writeReport(folder, sourceOf([row], ['id', 'scene', hostile]), { ...about, name: hostile });
    const page = await readFile(join(folder, 'index.html'), 'utf8');
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(page.match(/<!--/g)).toBeNull();
    const data = await dataOf(folder);
    const files = await chunkTexts(folder, data);
    expect(files.join('')).not.toMatch(/[<\u2028\u2029]/);
    const [read] = await rowsOf(folder, data);
    expect(read).toMatchObject({ values: [hostile, hostile, null], failure: ['job-failed', hostile] });
    expect(decodeURIComponent(read?.pictures?.[0]?.file ?? '')).toBe(`../images/${hostile} #?%.png`);
    expect(read?.pictures?.[0]?.file).toMatch(/^\.\.\/images\/[^#?"<>\s]+$/);
  });
});

it('the page runs only its own code and style', async () => {
  await inFolder(async (folder) => {
    await writeReport(folder, sourceOf([savedRow]), about);
    const page = await readFile(join(folder, 'index.html'), 'utf8');
    const policy = /Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1] ?? '';
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).not.toMatch(/unsafe|https?:/);
    const code = /<script>([^]*)<\/script>/.exec(page.slice(page.indexOf('</noscript>')))?.[1];
    for (const text of [code, /<style>([^]*?)<\/style>/.exec(page)?.[1]]) {
      const hash = createHash('sha256')
        .update(text ?? '')
        .digest('base64');
      expect(policy).toContain(`'sha256-${hash}'`);
    }
  });
});

it('the rows of the gallery are cut into files by number and by length', async () => {
  await inFolder(async (folder) => {
    const rows = (function* many(): Generator<SceneRecord> {
      for (let index = 0; index < 1203; index++) yield { ...savedRow, id: `s${index}` };
      for (let index = 0; index < 120; index++)
        yield { ...savedRow, id: `long${index}`, columns: { scene: 'x'.repeat(19_000) } };
    })();
    await writeReport(folder, sourceOf(rows, ['scene']), about);
    const data = await dataOf(folder);
    expect(data.chunks.rows.slice(0, 2)).toEqual([500, 500]);
    expect(data.chunks.rows.length).toBeGreaterThan(3);
    const read = await rowsOf(folder, data);
    expect(read.map(({ id }) => id).slice(1200, 1205)).toEqual(['s1200', 's1201', 's1202', 'long0', 'long1']);
    for (const text of await chunkTexts(folder, data)) expect(text.length).toBeLessThan(1_100_000);
  });
});

it('keeps the rows of the page that is there until another page is, and then removes them', async () => {
  await inFolder(async (folder) => {
    await writeReport(folder, sourceOf([savedRow]), about);
    const first = await dataOf(folder);
    const broken = (function* thousands(): Generator<SceneRecord> {
      for (let index = 0; index < 2000; index++) yield failedRow;
      throw new Error('a bug');
    })();
    await expect(writeReport(folder, sourceOf(broken), about)).rejects.toThrow('a bug');
    expect(await dataOf(folder)).toEqual(first);
    expect(await rowsOf(folder, first)).toHaveLength(1);
    expect(await readdir(join(folder, 'gallery'))).toHaveLength(1);
    await writeReport(folder, sourceOf([savedRow, failedRow]), about);
    const second = await dataOf(folder);
    expect(await rowsOf(folder, second)).toHaveLength(2);
    expect(await readdir(join(folder, 'gallery'))).toEqual([second.chunks.folder.replace('gallery/', '')]);
  });
});

it('removes rows that a dead writer left, and none that a living one is writing', async () => {
  await inFolder(async (folder) => {
    const { pid } = spawnSync(process.execPath, ['-e', '0']);
    const living = `rows-abc-${process.ppid}-1`;
    for (const name of [`rows-abc-${pid}-1`, living, 'mine'])
      await mkdir(join(folder, 'gallery', name), { recursive: true });
    await writeReport(folder, sourceOf([savedRow]), about);
    const { chunks } = await dataOf(folder);
    expect((await readdir(join(folder, 'gallery'))).toSorted()).toEqual(
      [living, 'mine', chunks.folder.replace('gallery/', '')].toSorted(),
    );
  });
});

async function dataOf(folder: string): Promise<GalleryData> {
  const page = await readFile(join(folder, 'index.html'), 'utf8');
  const json = /<script type="application\/json" id="data">(.*)<\/script>/.exec(page)?.[1] ?? '';
  return JSON.parse(json) as GalleryData;
}

function chunkTexts(folder: string, { chunks }: GalleryData): Promise<string[]> {
  return Promise.all(
    chunks.rows.map((_, index) => readFile(join(folder, chunks.folder, `${index + 1}.js`), 'utf8')),
  );
}

/** Returns the rows as a browser reads them. */
async function rowsOf(folder: string, data: GalleryData): Promise<GalleryRow[]> {
  const all: GalleryRow[][] = [];
  for (const text of await chunkTexts(folder, data))
    runInNewContext(text, { nightrenderRows: (_: number, rows: GalleryRow[]) => all.push(rows) });
  expect(all.map((rows) => rows.length)).toEqual(data.chunks.rows);
  return JSON.parse(JSON.stringify(all.flat())) as GalleryRow[];
}

/** Writes reports with pictures for tests of the gallery, in the form in which a run leaves them. */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import sharp from 'sharp';
import type { SceneCounts } from '../../src/runner/core/scene.ts';
import type { SceneRecord } from '../../src/runner/core/scene-record.ts';
import { writeReport } from '../../src/runner/report/write-report.ts';
import { about, failedRow, runSpan, savedRow, sourceOf, summary } from '../runner/report/report-fixtures.ts';

/** Prompts that attack the page, or that use unusual writing. */
export const hostilePrompts = [
  '<script>document.title = "taken"</script><img src=x onerror="document.title=1">',
  '</script><!-- <b>bold</b> &amp; "double" \'single\' `back`',
  'מגדלור עם שלוש סירות at dusk \u202e gnp.exe',
  'a 🦊 and a 👩‍👩‍👧 at the sea 🌊',
  `${'a very long prompt about the sea, '.repeat(300)}and its end`,
  'javascript:alert(1)//{{7*7}}${7*7}',
];

export const hostileFile = 'odd/a #1? 100% <b> ü 🦊.png';

/** Returns a picture of one colour. */
export function picture(width: number, height: number, hue: number): Promise<Buffer> {
  const background = { r: (hue * 47) % 256, g: (hue * 89) % 256, b: 120 };
  return sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
}

export interface WrittenReport {
  url: string;
  rows: SceneRecord[];
}

const seasons = ['spring', 'summer', 'autumn', 'winter'];
const sizes = [64, 128, 256];

/**
 * Writes a report of 300 scenes: a product of seasons, sizes and seeds. Every 20th scene failed, and the first ones
 * have hostile prompts.
 */
export async function smallReport(folder: string): Promise<WrittenReport> {
  const rows = Array.from({ length: 300 }, (_, index) => smallRow(index));
  for (const [index, row] of rows.entries())
    for (const { file, width, height } of row.pictures) {
      const path = join(folder, 'images', file);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, await picture(width, height, index));
    }
  const columns = ['id', 'scene', 'season', 'size', 'take'];
  return { url: await write(folder, rows, columns), rows };
}

function smallRow(index: number): SceneRecord {
  const season = seasons[index % 4] ?? '';
  const size = sizes[Math.floor(index / 4) % 3] ?? 0;
  const scene = hostilePrompts[index] ?? `a lighthouse in ${season}, number ${index}`;
  const columns = { id: `s${index}`, scene, season, size, take: `take ${Math.floor(index / 12)}` };
  const at = Date.UTC(2024, 4, 3, 22) + index * 60_000;
  if (index % 20 === 19)
    return {
      ...failedRow,
      id: `s${index}`,
      columns,
      input: { scene },
      completedAt: at,
      source: `scenes.csv:${index + 2}`,
    };
  const file = index === 0 ? hostileFile : `s${index}.png`;
  const second = index === 1 ? [{ file: 's1-2.png', width: 30, height: 40, bytes: 90, sha256: 'cd' }] : [];
  return {
    ...savedRow,
    id: `s${index}`,
    pictures: [
      {
        file,
        width: 40,
        height: 30,
        bytes: 90,
        sha256: 'ab',
        seed: String(1000 + index),
        ...(index % 100 === 0 && {
          output: { labelled_words: ['buoy'], ignored_words: [], notes: ['Fifty gulls.'] },
        }),
      },
      ...second,
    ],
    files:
      index === 0
        ? [{ file: 's0 #-depth.exr', label: 'depth', width: 0, height: 0, bytes: 1200, sha256: 'ef' }]
        : [],
    executionTimeMs: 1000 + ((index * 7919) % 5000),
    savedAt: at,
    source: `scenes.csv:${index + 2}`,
    columns,
    input: { scene, steps: 30 },
  };
}

/** Writes a report of these rows, without files of pictures. */
export async function writtenReport(
  folder: string,
  rows: SceneRecord[],
  columns: string[],
  counts: Partial<SceneCounts> = {},
  values: string[] = [],
): Promise<WrittenReport> {
  return {
    url: await write(folder, rows, columns, { saved: rows.length, failed: 0, ...counts }, values),
    rows,
  };
}

/** Writes a report of `count` scenes, without files of pictures. */
export function largeReport(folder: string, count: number): Promise<string> {
  const rows = function* many(): Generator<SceneRecord> {
    for (let index = 0; index < count; index++)
      yield {
        ...savedRow,
        id: `scene-${index}`,
        pictures: [
          {
            file: `scene-${index}.png`,
            width: 1024,
            height: 1024,
            bytes: 1_500_000,
            sha256: 'ab'.repeat(32),
            seed: String(index),
          },
        ],
        executionTimeMs: 1000 + ((index * 7919) % 5000),
        savedAt: Date.UTC(2024, 4, 3, 22) + index * 300,
        columns: {
          id: `scene-${index}`,
          scene: `${index}: a lighthouse above a stormy sea at dusk, three sailing boats in the distance, oil on canvas`,
          style: `style ${index % 50}`,
          steps: 20 + (index % 5),
        },
        input: { steps: 20 + (index % 5) },
      };
  };
  return write(folder, rows(), ['id', 'scene', 'style', 'steps'], { saved: count, failed: 0 });
}

async function write(
  folder: string,
  rows: Iterable<SceneRecord>,
  columns: string[],
  counts: Partial<SceneCounts> = {},
  values: string[] = [],
): Promise<string> {
  const scenes = { ...summary.scenes, saved: 285, failed: 15, invalid: 0, ...counts };
  const times = {
    ...summary.times,
    firstSubmittedAt: Date.UTC(2024, 4, 3, 21, 50),
    lastSavedAt: Date.UTC(2024, 4, 4, 8),
    executionTimeMs: 600_000,
  };
  const cost = { spent: 6, currency: 'USD', inFlight: 0, untold: 1 };
  const pictures = { ...summary.pictures, labelled: 3, ignored: 0 };
  const numbers = { ...summary, scenes, times, cost, pictures };
  const run = { ...runSpan, startedAt: times.firstSubmittedAt, endedAt: times.lastSavedAt };
  const source = { ...sourceOf(rows, columns), runs: () => [run], summary: () => numbers };
  const { index } = await writeReport(join(folder, 'report'), source, { ...about, values });
  return pathToFileURL(index).href;
}

/**
 * Promise: an older report is replaced as a whole or not at all, and writing a report does not delay a live
 * run.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, open, readdir, readFile, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { FatalFailure } from '../../../src/runner/core/failure.ts';
import type { SceneRecord } from '../../../src/runner/core/scene-record.ts';
import { writeReport } from '../../../src/runner/report/write-report.ts';
import { about, failedRow, inFolder, savedRow, sourceOf } from './report-fixtures.ts';

const names = ['results.csv', 'results.jsonl', 'summary.json'];

/** Names in the folder of a complete report. */
const whole = ['gallery', 'index.html', ...names];

afterEach(() => {
  vi.restoreAllMocks();
});

async function contents(folder: string): Promise<string[]> {
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
}

async function troubleOf(writing: Promise<unknown>): Promise<unknown> {
  const error: unknown = await writing.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof FatalFailure)) throw new Error('no Trouble', { cause: error });
  return error.failure;
}

/** Makes a method of open files fail with `code` after `times` successful calls. */
async function refuse(work: 'appendFile' | 'sync', code: string, times: number): Promise<void> {
  const probe = await open('/dev/null', 'r');
  const files = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  const real = files[work];
  let calls = 0;
  vi.spyOn(files, work).mockImplementation(function refusing(this: FileHandle, ...given: unknown[]) {
    if (++calls <= times) return Reflect.apply(real, this, given) as Promise<void>;
    return Promise.reject(Object.assign(new Error(code), { code, syscall: 'write' }));
  });
}

describe('writing a report', () => {
  it('replaces an older one, and leaves nothing else', async () => {
    await inFolder(async (folder) => {
      await writeReport(folder, sourceOf([savedRow]), about);
      const before = await contents(folder);
      await writeReport(folder, sourceOf([savedRow, failedRow]), about);
      expect((await contents(folder))[0]).not.toBe(before[0]);
      expect((await readdir(folder)).toSorted()).toEqual(whole);
      for (const name of names) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    });
  });

  it('keeps thousands of rows in order, and lets other work go on between them', async () => {
    await inFolder(async (folder) => {
      let turns = 0;
      const count = (): void => {
        turns += 1;
        timer = setImmediate(count);
      };
      let timer = setImmediate(count);
      const seen: number[] = [];
      const rows = (function* thousands(): Generator<SceneRecord> {
        for (let index = 0; index < 5_250; index++) {
          if (index % 1000 === 0) seen.push(turns);
          yield { ...savedRow, id: `scene-${index}` };
        }
      })();
      const { csv, jsonl } = await writeReport(folder, sourceOf(rows, []), about);
      clearImmediate(timer);
      const ids = Array.from({ length: 5_250 }, (_, index) => `scene-${index}`);
      const lines = (await readFile(csv, 'utf8')).split('\n').slice(1, -1);
      expect(lines.map((line) => line.split(',')[0])).toEqual(ids);
      const objects = (await readFile(jsonl, 'utf8')).split('\n').slice(0, -1);
      expect(objects.map((line) => (JSON.parse(line) as SceneRecord).id)).toEqual(ids);
      expect(new Set(seen).size).toBe(seen.length);
    });
  });

  it('that is interrupted leaves only the older one, unchanged', async () => {
    await inFolder(async (folder) => {
      await writeReport(folder, sourceOf([savedRow]), about);
      const before = await contents(folder);
      const stopped = new AbortController();
      let read = 0;
      const rows = (function* thousands(): Generator<SceneRecord> {
        for (let index = 0; index < 5_000; index++) {
          read += 1;
          if (index === 2_000) stopped.abort();
          yield { ...savedRow, id: `scene-${index}` };
        }
      })();
      const writing = writeReport(folder, sourceOf(rows, []), about, stopped.signal);
      await expect(writing).rejects.toMatchObject({ name: 'AbortError' });
      expect(read).toBeLessThan(5_000);
      expect(await contents(folder)).toEqual(before);
      expect((await readdir(folder)).toSorted()).toEqual(whole);
    });
  });

  it('can be done by two at once', async () => {
    await inFolder(async (folder) => {
      await Promise.all([1, 2].map(() => writeReport(folder, sourceOf([savedRow]), about)));
      expect((await readdir(folder)).toSorted()).toEqual(whole);
    });
  });

  it('takes a relative folder, and says where the files are', async () => {
    await inFolder(async (folder) => {
      const files = await writeReport(relative(process.cwd(), folder), sourceOf([]), about);
      expect(files.csv).toBe(join(folder, 'results.csv'));
    });
  });
});

it('removes half-written files of a dead writer, and none that a living one is writing', async () => {
  await inFolder(async (folder) => {
    const { pid } = spawnSync(process.execPath, ['-e', '0']);
    const living = `.nightrender-${process.ppid}-abc-1.tmp`;
    await writeFile(join(folder, `.nightrender-${pid}-abc-1.tmp`), 'half');
    await writeFile(join(folder, living), 'half');
    await writeReport(folder, sourceOf([savedRow]), about);
    expect((await readdir(folder)).toSorted()).toEqual([living, ...whole].toSorted());
  });
});

describe('a failed report', () => {
  it.each([
    ['appendFile', 'ENOSPC', 'the disk is full'],
    ['appendFile', 'EDQUOT', 'the disk quota is used up'],
    ['sync', 'EIO', 'the disk reports an error'],
  ] as const)(
    'because of the disk (%s: %s) is reported with a message, and the older report stays',
    async (work, code, words) => {
      await inFolder(async (folder) => {
        await writeReport(folder, sourceOf([savedRow]), about);
        const before = await contents(folder);
        for (const times of [0, 1, 2]) {
          await refuse(work, code, times);
          const trouble = await troubleOf(writeReport(folder, sourceOf([failedRow]), about));
          expect(trouble).toMatchObject({ kind: 'output-unwritable' });
          expect(trouble).toMatchObject({
            text: expect.stringMatching(`^cannot write ${folder}/\\S+: ${words} \\(${code}\\); `) as string,
          });
          vi.restoreAllMocks();
          expect(await contents(folder)).toEqual(before);
          expect((await readdir(folder)).toSorted()).toEqual(whole);
        }
      });
    },
  );

  it('because of a file in the place of the folder, or a folder in the place of a file, is reported', async () => {
    await inFolder(async (folder) => {
      await writeFile(join(folder, 'file'), '');
      expect(await troubleOf(writeReport(join(folder, 'file'), sourceOf([]), about))).toMatchObject({
        text: expect.stringContaining('a file stands where a folder is needed') as string,
      });
      expect(await troubleOf(writeReport(join(folder, 'file', 'report'), sourceOf([]), about))).toMatchObject(
        {
          kind: 'output-unwritable',
        },
      );
      await mkdir(join(folder, 'report', 'results.csv', 'x'), { recursive: true });
      expect(await troubleOf(writeReport(join(folder, 'report'), sourceOf([]), about))).toMatchObject({
        text: expect.stringContaining('a folder stands where the file belongs') as string,
      });
      expect((await readdir(join(folder, 'report'))).toSorted()).toEqual(['gallery', 'results.csv']);
      expect(await readdir(join(folder, 'report/gallery'))).toEqual([]);
    });
  });

  it('because of an error in the rows throws that error, and the older report stays', async () => {
    await inFolder(async (folder) => {
      await writeReport(folder, sourceOf([savedRow]), about);
      const before = await contents(folder);
      const bug = new Error('a bug');
      const rows = (function* broken(): Generator<SceneRecord> {
        yield failedRow;
        throw bug;
      })();
      await expect(writeReport(folder, sourceOf(rows), about)).rejects.toBe(bug);
      expect(await contents(folder)).toEqual(before);
      expect((await readdir(folder)).toSorted()).toEqual(whole);
    });
  });
});

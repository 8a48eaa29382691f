/** Writes contact sheets into a report's folder, in place of those that were there. */
import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { withDiskFailure } from '../files/disk-failure.ts';
import { syncFolder } from '../files/folders.ts';
import { UnfinishedFile } from './unfinished-file.ts';

/**
 * `contact-sheet-1.png` and so on, in a folder that is there; returns their absolute paths. Older ones are replaced or
 * removed once all are complete; they stay where the disk does not take these (`FatalFailure`) or where `signal` aborts before,
 * whose reason is then thrown.
 */
export async function writeSheets(
  dir: string,
  sheets: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<string[]> {
  const folder = resolve(dir);
  const files: UnfinishedFile[] = [];
  try {
    for await (const sheet of sheets) {
      signal.throwIfAborted();
      const file = await UnfinishedFile.begin(folder, nameOf(files.length + 1));
      files.push(file);
      await file.write(sheet);
      await file.complete();
    }
    signal.throwIfAborted();
    for (const file of files) await file.takeName();
  } catch (error) {
    for (const file of files) await file.discard();
    throw error;
  }
  await withDiskFailure(folder, () => removeBeyond(folder, files.length));
  await withDiskFailure(folder, () => syncFolder(folder));
  return files.map((_, i) => join(folder, nameOf(i + 1)));
}

function nameOf(number: number): string {
  return `contact-sheet-${number}.png`;
}

async function removeBeyond(folder: string, count: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, number] = /^contact-sheet-([1-9]\d*)\.png$/.exec(name) ?? [];
    if (Number(number) > count) await rm(join(folder, name), { force: true });
  }
}

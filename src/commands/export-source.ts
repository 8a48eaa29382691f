/** Where an export reads pictures: in the images folder or in a bucket. */
import { constants, linkSync, readFileSync } from 'node:fs';
import { copyFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { assertPlainFile, NotAFile } from '../lib/files/plain-file.ts';
import type { Bucket } from '../lib/s3/bucket.ts';
import type { ExportedPicture, ExportPorts } from '../runner/export/exported-picture.ts';
import { isSystemError } from '../runner/files/disk-failure.ts';
import { picturesInBucket } from '../runner/images/picture-files.ts';
import { pathWithin } from '../runner/images/saved-files.ts';

export type ExportSource = Pick<ExportPorts, 'read' | 'fetch'>;

export function bucketSource(bucket: Bucket): ExportSource {
  const files = picturesInBucket(bucket);
  return {
    read: ({ file }) => files.read(file),
    fetch: async ({ file }, to) => {
      const content = await files.read(file);
      if (content !== undefined) await writeFile(to, content, { flag: 'wx', mode: 0o600 });
      return content !== undefined;
    },
  };
}

/** `images`: the folder. `isLinked`: whether its files are linked rather than copied, where the disk allows it. */
export function folderSource(images: string, isLinked: boolean): ExportSource {
  const pathOf = ({ file }: ExportedPicture): string => pathWithin(resolve(images), file);
  return {
    // With small files the way to another thread takes longer than the file.
    read: (picture) => unlessUnreadable(() => readFileSync(pathOf(picture)), pathOf(picture)),
    fetch: async (picture, to) => {
      const from = pathOf(picture);
      const copy = async (): Promise<true> => {
        if (!isLinked || !link(from, to)) await copyFile(from, to, constants.COPYFILE_EXCL);
        return true;
      };
      return (await unlessUnreadable(copy, from)) ?? false;
    },
  };
}

async function unlessUnreadable<T>(work: () => T | Promise<T>, path: string): Promise<T | undefined> {
  try {
    assertPlainFile(path);
    return await work();
  } catch (error) {
    const isOfPicture =
      isSystemError(error) && ['ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES'].includes(error.code);
    if (!isOfPicture && !(error instanceof NotAFile)) throw error;
    return undefined;
  }
}

/** False across disks, and on file systems without links. */
function link(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (!isSystemError(error) || error.code === 'ENOENT') throw error;
    return false;
  }
}

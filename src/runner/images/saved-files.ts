/** Looks at pictures that were saved earlier. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { FatalFailure } from '../core/failure.ts';
import type { RecordedPicture, Verdict } from '../core/verification.ts';
import { isSystemError } from '../files/disk-failure.ts';
import { wholePng } from './check-picture.ts';
import { pathWithin } from './image-store.ts';

export interface SavedFiles {
  /** Against the recorded bytes and digest, and by decoding; `FatalFailure` where that cannot be told. */
  inspect: (picture: RecordedPicture) => Promise<Verdict>;
}

/** `dir` is the images folder. */
export function savedFiles(dir: string): SavedFiles {
  const root = resolve(dir);
  return {
    inspect: async (picture) => {
      const path = pathWithin(root, picture.file);
      try {
        return await inspect(path, picture);
      } catch (error) {
        return verdictOf(path, error);
      }
    },
  };
}

async function inspect(path: string, { bytes, sha256, width, height }: RecordedPicture): Promise<Verdict> {
  const stats = await stat(path);
  if (!stats.isFile()) return damaged('something that is no file stands in its place');
  if (stats.size !== bytes) return damaged(`it has ${inBytes(stats.size)} instead of ${inBytes(bytes)}`);
  const png = await readFile(path);
  if (createHash('sha256').update(png).digest('hex') !== sha256)
    return damaged('its bytes are not those that were saved (sha256)');
  const demands = { maxPixels: width * height, minSide: 1, isBlankRefused: false, isThumbnailWanted: false };
  const whole = await wholePng(png, demands, 'PNG');
  return 'problem' in whole ? damaged(whole.problem) : { kind: 'good' };
}

function damaged(problem: string): Verdict {
  return { kind: 'damaged', problem };
}

function inBytes(bytes: number): string {
  return `${bytes.toLocaleString('en')} bytes`;
}

/** What the disk answers says something of the file, or that nothing can be told of it. */
function verdictOf(path: string, error: unknown): Verdict {
  if (!isSystemError(error)) throw error;
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return { kind: 'missing' };
  if (error.code === 'EIO') return damaged('the disk cannot read it (EIO)');
  const text = `cannot read ${path} (${error.code}), so that nothing can be told of it; mend that and verify again`;
  throw new FatalFailure({ kind: 'output-unwritable', text });
}

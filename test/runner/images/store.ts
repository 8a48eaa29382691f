/** Creates image stores in temporary folders, which are removed after the test. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Picture } from '../../../src/runner/core/picture.ts';
import { FatalFailure, type Failure, type FailureKind } from '../../../src/runner/core/failure.ts';
import { folderPlace } from '../../../src/runner/images/folder-place.ts';
import {
  createImageStore,
  type ImageStoreOptions,
  type MaintainedImageStore,
} from '../../../src/runner/images/image-store.ts';

export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'nightrender-images-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Returns every file below the folder, as sorted relative paths. */
export function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .toSorted();
}

/** Checks a picture and writes it only if it passes, as the pipeline does. */
export async function save(
  store: MaintainedImageStore,
  base64: string,
  file: string,
): Promise<Picture | Failure> {
  const checked = await store.check({ base64 });
  if ('content' in checked) await store.write(checked, file);
  return checked;
}

/** Tries to save a picture that must not pass, and expects that the folder stays empty. */
export async function expectNoFile(
  base64: string,
  reason: RegExp,
  kind: FailureKind = 'bad-picture',
  options: ImageStoreOptions = {},
): Promise<void> {
  const dir = temporaryFolder();
  const result = await save(createImageStore(folderPlace(dir), options), base64, 'a.png');
  const digest: unknown = expect.stringMatching(/^[0-9a-f]{64}$/);
  expect(result).toMatchObject({ kind, text: expect.stringMatching(reason), digest });
  expect(filesIn(dir)).toEqual([]);
}

export async function troubleOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof FatalFailure)) throw new Error('no trouble came', { cause: error });
  if (error.failure.kind !== 'output-unwritable') throw new Error(`trouble of kind ${error.failure.kind}`);
  return error.failure.text;
}

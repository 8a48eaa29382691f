/** Which saved pictures a bucket does not have, or has in another size: by its list, a thousand in each answer. */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Bucket } from '../../lib/s3/bucket.ts';
import type { RecordedPicture } from '../core/verification.ts';
import type { MissingPictures } from '../pipeline/ports.ts';

/** From so many on, those that were not listed count as missing; before, each is asked for: it may have come since. */
const maxMissing = 1_000;
const askedAtOnce = 32;

/** Objects and pictures between two turns of the event loop: some milliseconds. */
const sliceSize = 500;

/** Undefined where `signal` aborts before the last was checked. `folder` is that of all pictures. */
export async function findMissingObjects(
  bucket: Bucket,
  folder: string,
  pictures: Iterable<RecordedPicture>,
  signal: AbortSignal,
): Promise<MissingPictures | undefined> {
  const listed = await listedMarks(bucket, folder, signal);
  if (listed === undefined) return undefined;
  const found: MissingPictures = { checked: 0, missing: 0, example: '' };
  const limit = pLimit(askedAtOnce);
  let unlisted: RecordedPicture[] = [];
  const isThere = async ({ file, bytes }: RecordedPicture): Promise<boolean> =>
    found.missing < maxMissing && (await bucket.facts(folder + file))?.bytes === bytes;
  const askForAll = async (): Promise<void> => {
    const seen = await Promise.all(unlisted.map((picture) => limit(isThere, picture)));
    const missing = unlisted.filter((_, i) => seen[i] === false);
    if (found.missing === 0) found.example = missing[0]?.file ?? '';
    found.missing += missing.length;
    unlisted = [];
    await nextTurn();
  };
  for (const picture of pictures) {
    if (!has(listed, markOf(folder + picture.file, picture.bytes))) unlisted.push(picture);
    found.checked += 1;
    if (found.checked % sliceSize !== 0) continue;
    await askForAll();
    if (signal.aborted) return undefined;
  }
  await askForAll();
  return found;
}

/** Eight bytes an object, sorted: ten million take 80 MB. */
async function listedMarks(
  bucket: Bucket,
  folder: string,
  signal: AbortSignal,
): Promise<Float64Array | undefined> {
  let marks = new Float64Array(1024);
  let count = 0;
  for await (const { key, bytes } of bucket.list(folder)) {
    if (signal.aborted) return undefined;
    if (count === marks.length) {
      const longer = new Float64Array(count * 2);
      longer.set(marks);
      marks = longer;
    }
    marks[count] = markOf(key, bytes);
    count += 1;
    if (count % sliceSize === 0) await nextTurn();
  }
  return marks.subarray(0, count).toSorted();
}

/** 48 bits of name and size: of ten million, none or one is taken for another. */
function markOf(key: string, bytes: number): number {
  return createHash('sha1').update(`${key}\0${bytes}`).digest().readUIntBE(0, 6);
}

function has(sorted: Float64Array, mark: number): boolean {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < mark) low = middle + 1;
    else high = middle;
  }
  return sorted[low] === mark;
}

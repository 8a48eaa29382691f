/** Goes through saved pictures and makes what some of them lack, a few at a time. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { RecordedPicture } from '../core/verification.ts';
import { checksAtOnce } from './image-store.ts';

export interface Made {
  /** Pictures that have all they should have now and had not before. */
  made: number;
  /** Pictures that are missing or damaged, or that something could not be made or written of. */
  lacking: number;
}

/** Pictures that are looked at between two turns of the event loop. */
const sliceSize = 500;

/**
 * `find` returns what makes it, or undefined where nothing is missing; the former resolves to whether it was made. Throws
 * the reason of `signal` once that aborts; what was made stays.
 */
export async function makeMissing(
  pictures: Iterable<RecordedPicture>,
  find: (picture: RecordedPicture) => (() => Promise<boolean>) | undefined,
  signal: AbortSignal,
  onProgress: (made: number) => void,
): Promise<Made> {
  const limit = pLimit(checksAtOnce);
  const sum: Made = { made: 0, lacking: 0 };
  const makeOne = async (make: () => Promise<boolean>): Promise<void> => {
    signal.throwIfAborted();
    sum[(await make()) ? 'made' : 'lacking'] += 1;
    onProgress(sum.made);
  };
  let found: (() => Promise<boolean>)[] = [];
  const makeAll = async (): Promise<void> => {
    await Promise.all(found.map((make) => limit(makeOne, make)));
    found = [];
    await nextTurn();
    signal.throwIfAborted();
  };
  let seen = 0;
  for (const picture of pictures) {
    const make = find(picture);
    if (make !== undefined) found.push(make);
    seen += 1;
    if (seen % sliceSize === 0) await makeAll();
  }
  await makeAll();
  return sum;
}

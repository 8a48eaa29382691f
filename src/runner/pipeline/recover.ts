/** What dead runs left behind, before anything is sent. */
import type { Attempt } from '../core/attempt.ts';
import { provenanceOf } from '../core/provenance.ts';
import { quarantine } from '../core/retry.ts';
import type { UnfinishedWriting } from '../core/settlement.ts';
import type { Checkpoint, ImageStore } from './ports.ts';
import { recordWithoutPicture, type SettleContext } from './settle.ts';
import type { Stop } from './stop.ts';

/** Does the renames that were decided; what was renamed already is not touched. */
export async function finishMoves(
  checkpoint: Pick<Checkpoint, 'pendingMoves' | 'recordMoved'>,
  images: Pick<ImageStore, 'move'>,
  stop: Stop,
): Promise<void> {
  for (const move of await checkpoint.pendingMoves()) {
    if (stop.leaving.aborted) return;
    await images.move(move.from, move.to);
    await checkpoint.recordMoved(move);
  }
}

/** Takes up what was written and not settled where it is there as a whole, and removes it where it is not. Resolves to how many attempts that were. */
export async function finishWriting(
  checkpoint: Writings & Pick<Checkpoint, 'unfinishedWriting'>,
  images: WrittenImages,
  stop: Stop,
): Promise<number> {
  let finished = 0;
  for (const unfinished of await checkpoint.unfinishedWriting()) {
    if (stop.leaving.aborted) break;
    await finishOne(checkpoint, images, unfinished);
    finished += 1;
  }
  return finished;
}

type Writings = Pick<Checkpoint, 'ownerOf' | 'settle' | 'dropWriting'>;
type WrittenImages = Pick<ImageStore, 'has' | 'complete' | 'remove'>;

async function finishOne(
  checkpoint: Writings,
  images: WrittenImages,
  { attempt, isInFlight, settlement }: UnfinishedWriting,
): Promise<void> {
  const files: string[] = [];
  for (const picture of settlement.pictures) {
    const isOnRecord = (await checkpoint.ownerOf(picture.file)) !== undefined;
    if (!isOnRecord && (await images.has(picture))) files.push(picture.file);
  }
  if (isInFlight && files.length === settlement.pictures.length) {
    for (const [i, picture] of settlement.pictures.entries())
      await images.complete(picture, provenanceOf(attempt, i, picture.seed));
    return checkpoint.settle(attempt, settlement);
  }
  // Its job is asked for again; by then the name may be another scene's.
  for (const file of files) await images.remove(file);
  await checkpoint.dropWriting(attempt);
}

/** Settles the submissions that dead runs had begun, each of which may have been sent; returns how many there were. */
export async function settleIntended(
  run: SettleContext & { ports: { checkpoint: Pick<Checkpoint, 'recover'> } },
): Promise<number> {
  const intended = await run.ports.checkpoint.recover();
  await Promise.all(intended.map((attempt) => recordDeath(run, attempt)));
  return intended.length;
}

async function recordDeath(run: SettleContext, attempt: Attempt): Promise<void> {
  const failure = quarantine(attempt.deaths) ?? { kind: 'unanswered' as const, text: diedWhileSending };
  await recordWithoutPicture(run, attempt, 'unanswered', failure);
}

const diedWhileSending =
  'the program ended between recording this submission and its answer: it may have been sent';

/** Moves checkpoint and pictures of a batch to the places in pipeline.yaml (`nightrender verify --move`). */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isPostgresAddress } from '../lib/postgres/postgres.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { CrashMarkerFile, lockBatch } from '../runner/checkpoint/batch-lock.ts';
import {
  checkpointFile,
  findLoss,
  hasLog,
  movedFile,
  readLostSubmissions,
} from '../runner/checkpoint/find-loss.ts';
import { assertSound, pictureRepair } from '../runner/checkpoint/repair-checkpoint.ts';
import { type Counts, MovingBatch, setFileAside } from '../runner/checkpoint/postgres/move-batch.ts';
import { hasUnfinishedPictures } from '../runner/checkpoint/read-totals.ts';
import { lookUpSchema } from '../runner/checkpoint/postgres/shared-schema.ts';
import { findSharedBatch, openDatabase } from '../runner/checkpoint/postgres/shared-batch.ts';
import { prepareAttemptWrites } from '../runner/checkpoint/attempt-records.ts';
import { type SharedAddress, stopFirst, assertDisk, isElsewhere } from './record.ts';
import { maintainBatch } from './find-record.ts';
import type { Book } from './book.ts';
import { type BucketEdges, openPlaces, ownImages, picturesBucket, withPlaces } from './pictures-place.ts';
import { shownPath } from './refusal.ts';
import { randomUUID } from 'node:crypto';
import { readBatch, recordPicturesPlace } from '../runner/checkpoint/batch-identity.ts';
import type { Verified } from '../runner/core/scene-record.ts';
import { ownerWithoutRun, type Place } from '../runner/images/place.ts';
import { copyPicture } from '../runner/images/saved-files.ts';
import { finishMoves } from '../runner/pipeline/recover.ts';
import type { VerifyPorts } from '../runner/pipeline/verify-batch.ts';

export interface MovedCheckpoint {
  from: string;
  to: string;
  counts: Counts;
}

type BatchDatabase = Awaited<ReturnType<typeof openDatabase>>;

/** Moves the checkpoint. Undefined if it is already there. A second call continues an interrupted move. */
export async function moveCheckpoint(
  dir: string,
  shared: SharedAddress,
  edges: BucketEdges,
): Promise<MovedCheckpoint | undefined> {
  assertDisk(dir);
  const isOwn = existsSync(checkpointFile(dir));
  if (shared === undefined && (isOwn || !isElsewhere(dir))) return undefined;
  const address = shared?.address ?? addressBefore(edges.env);
  const place = await openDatabase(address, dir);
  try {
    const inDatabase = `schema ${place.name} of ${place.db.shown}`;
    if (shared === undefined)
      return {
        from: inDatabase,
        to: shownPath(checkpointFile(dir)),
        counts: await moveBack(place, dir, edges),
      };
    if (isOwn) await sendFile(place, dir);
    else if ((await lookUpSchema(place.db, place.name))?.moving !== 'arriving') return undefined;
    const counts = await completeThere(place, dir);
    // The next command needs a local copy, and a later move back recognizes the batch by it.
    await (await findSharedBatch(address, dir, false))?.close();
    return { from: shownPath(movedFile(dir)), to: inDatabase, counts };
  } finally {
    await place.db.close();
  }
}

/** Returns the previous address of the database, which no file keeps, because it contains a password. */
function addressBefore(env: NodeJS.ProcessEnv): string {
  const address = env['DATABASE_URL'];
  if (address !== undefined && isPostgresAddress(address)) return address;
  const text =
    'pipeline.yaml no longer has checkpoint:, so DATABASE_URL in the environment must name the database of the batch, as checkpoint: did (with its ?batch=). Or set checkpoint: as it was, and nothing is moved';
  throw new ConfigError([{ where: '--move', text }]);
}

async function sendFile(place: BatchDatabase, dir: string): Promise<void> {
  const send = async (db: Database): Promise<void> => {
    assertSendable(db);
    countCrashes(dir, db);
    await new MovingBatch(place).copyThere(db);
  };
  const after = async (): Promise<void> => {
    const path = checkpointFile(dir);
    if (!hasLog(path)) return setFileAside(dir);
    const text = `another program reads ${shownPath(path)}, such as \`nightrender watch\`; end it, then give the same command again`;
    throw new ConfigError([{ where: '--move', text }]);
  };
  await maintainBatch(dir, send, { prepare: async () => assertSound(dir), after });
}

/** Throws if submissions were lost, because only a checkpoint file can record that. */
function assertSendable(db: Database): void {
  const lost = readLostSubmissions(db);
  if (lost === 0) return;
  const text = `${lost.toLocaleString('en')} submissions of this batch are lost (--accept-loss), and a database cannot record that; continue without checkpoint:`;
  throw new ConfigError([{ where: '--move', text }]);
}

/** Counts the crashes of the last run against its scenes, as the next run would. */
function countCrashes(dir: string, db: Database): void {
  const markers = new CrashMarkerFile(join(dir, '.in-hand'));
  const { intendedIn, countCrash } = prepareAttemptWrites(db);
  for (const mark of [...markers.left(), ...intendedIn.all({ by: 0 })]) countCrash.run(mark);
  markers.close();
}

async function completeThere(place: BatchDatabase, dir: string): Promise<Counts> {
  const lock = await lockBatch(dir, Date.now(), stopFirst);
  try {
    return await new MovingBatch(place).openArrived(dir);
  } finally {
    lock.release();
  }
}

async function moveBack(place: BatchDatabase, dir: string, edges: BucketEdges): Promise<Counts> {
  const lock = await lockBatch(dir, Date.now(), stopFirst);
  try {
    // Detects the loss of a file that was moved back earlier.
    findLoss(dir);
    const moving = new MovingBatch(place);
    await moving.closeThere(dir, stopFirst);
    return await moving.takeBack(dir, (db) => markMoved(dir, db, edges));
  } finally {
    lock.release();
  }
}

/** Claims the place for a moved batch without naming a run, because the new checkpoint may not know that run. */
async function markMoved(dir: string, db: Database, edges: BucketEdges): Promise<void> {
  await withPlaces({ dir, db, edges }, async (places) => (await ownImages(places, db)).claim());
}

/**
 * Moves the pictures to `target`, a value of `output.pictures`. `endings` are those of copies. `check` goes
 * through all pictures with the given function, which copies each. If a picture is bad, the batch stays in
 * place, and a second call continues.
 */
export async function movePictures(
  book: Book,
  { target, endings }: { target: string | undefined; endings: string[] },
  check: (from: Place, copy: VerifyPorts['inspect']) => Promise<Verified>,
): Promise<Verified> {
  const { dir, db, edges } = book;
  assertMovable(db, '--move', 'put output.pictures back, start the run once, then move');
  const { env, ...bucket } = edges;
  const batch = readBatch(db)?.picturesToken ?? randomUUID();
  const places = await openPlaces({ dir, url: target, env, bucket });
  try {
    const to = places.claimedBy(ownerWithoutRun(batch));
    await to.probe(() => to.assertOurs());
    const verified = await book.withImages({}, async (images, { images: from }) => {
      await finishMoves(pictureRepair(db), images);
      return check(from, (picture) => copyPicture(from, places.images, picture, endings));
    });
    if (verified.good < verified.checked) return verified;
    recordPicturesPlace(db, picturesBucket(target, batch));
    await to.claim();
    return verified;
  } finally {
    await places.close();
  }
}

/** Throws `ConfigError` if the last run crashed while it saved results. */
export function assertMovable(db: Database, where: string, advice: string): void {
  if (!hasUnfinishedPictures(db)) return;
  throw new ConfigError([{ where, text: `the last run crashed while it saved results; ${advice}` }]);
}

/** An open batch: its checkpoint, the pictures that the checkpoint knows, and its status, once or repeatedly. */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Database } from '../lib/sqlite/database.ts';
import { readEnded, readLatest, readNumbers, readWords } from '../runner/checkpoint/read-summary.ts';
import { isRecorded, readLacking } from '../runner/checkpoint/recorded-pictures.ts';
import { type Throughput, throughputOf } from '../runner/core/forecast.ts';
import { lackingText } from '../runner/core/picture.ts';
import type { BatchNumbers } from '../runner/core/scene-record.ts';
import type { JobWord } from '../runner/core/service-description.ts';
import {
  createImageStore,
  type MaintainedImageStore,
  type CheckOptions,
} from '../runner/images/image-store.ts';
import { type BatchPlaces, type BucketEdges, bucketOf, shownImages, withPlaces } from './pictures-place.ts';
import type { OpenRecord } from './record.ts';
import { shownPath } from './refusal.ts';
import { runConditionOf } from '../runner/core/ending.ts';

export class Book {
  readonly dir: string;
  readonly record: OpenRecord;
  readonly db: Database;
  readonly edges: BucketEdges;
  /** True if the batch was named by its folder, perhaps a copy, so nothing is uploaded to its bucket. */
  readonly isNamedByFolder: boolean;

  constructor(dir: string, record: OpenRecord, db: Database, edges: BucketEdges, isNamedByFolder = false) {
    this.dir = dir;
    this.record = record;
    this.db = db;
    this.edges = edges;
    this.isNamedByFolder = isNamedByFolder;
  }

  /** Location of the pictures as shown to people: in the output folder or in a bucket. */
  get shownImages(): string {
    return shownImages(this.dir, bucketOf(this.db));
  }

  withPlaces<T>(work: (places: BatchPlaces) => Promise<T>): Promise<T> {
    return withPlaces(this, work);
  }

  /** Passes a store for existing pictures, and its places. Nothing is added. */
  withImages<T>(
    options: CheckOptions,
    work: (images: MaintainedImageStore, places: BatchPlaces) => Promise<T>,
  ): Promise<T> {
    const isPicture = async (file: string): Promise<boolean> => isRecorded(this.db, file);
    return this.withPlaces((places) =>
      work(createImageStore(places.images, { ...options, isPicture }), places),
    );
  }
}

export interface BatchStatus {
  dir: string;
  shownDir: string;
  /** Location of the pictures as shown to people. */
  shownImages: string;
  isRunning: boolean;
  /** Time since which a run at work has finished nothing although it should have. Undefined if all is well. */
  quietSince: number | undefined;
  summary: BatchNumbers;
  /** Latest statuses of the jobs in flight, in the service's spelling. */
  words: JobWord[];
  /** Undefined if no run is at work, or too little has finished recently. */
  pace: Throughput | undefined;
  /** Path of the newest picture, relative to the images folder. */
  latestPicture: string | undefined;
  /** Note about files that saved scenes lack. Undefined if none is lacking. */
  lacking: string | undefined;
  lastTrouble: { sceneId: string; prompt?: string; kind: string; text: string; at: number } | undefined;
}

/** Reads the status, first if a run is at work: if it ends meanwhile, the numbers are its last. */
export function readStatus({ dir, record, db, shownImages: images }: Book): BatchStatus {
  const isRunning = record.isInUse();
  return db.transaction(() => {
    const summary = readNumbers(db);
    const { picture, trouble } = readLatest(db);
    const batch = { ...summary, inFlight: summary.attempts.submitted, ended: readEnded(db) };
    const now = Date.now();
    const run = runConditionOf({ isInUse: isRunning, ...batch }, now);
    return {
      dir,
      shownDir: shownPath(dir),
      shownImages: images,
      isRunning,
      quietSince: run.kind === 'stalled' ? run.quietSince : undefined,
      summary,
      words: readWords(db),
      pace: throughputOf(run, batch, now),
      latestPicture: picture,
      lacking: lackingText(readLacking(db)),
      lastTrouble: trouble,
    };
  })();
}

const pollEveryMs = 1_000;
/** Minimum pause as a multiple of the reading time, so that a very long list does not slow the run. */
const restShare = 10;

/** Yields the status once a second until no run works or `signal` aborts, and once more after that. */
export async function* followStatus(
  book: Book,
  signal: AbortSignal,
): AsyncGenerator<BatchStatus, void, undefined> {
  for (;;) {
    const began = performance.now();
    await book.record.refresh();
    const seen = readStatus(book);
    yield seen;
    if (!seen.isRunning || signal.aborted) return;
    const restMs = Math.max(pollEveryMs, restShare * (performance.now() - began));
    await delay(restMs, undefined, { signal }).catch(() => undefined);
  }
}

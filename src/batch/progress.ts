/** Where a batch stands: as of now, or from now on until no run is at work. */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { readLacking } from '../runner/checkpoint/recorded-pictures.ts';
import { readEnded, readLatest, readNumbers, readWords } from '../runner/checkpoint/read-summary.ts';
import { lackingText } from '../runner/core/named-file.ts';
import type { BatchNumbers } from '../runner/core/batch-summary.ts';
import { conditionOf } from '../runner/core/run-condition.ts';
import type { JobWord } from '../runner/core/service-health.ts';
import { throughputOf, type Throughput } from '../runner/core/time-left.ts';
import type { Book } from './book.ts';
import { shownPath } from './shown-path.ts';

export interface BatchStatus {
  dir: string;
  shownDir: string;
  /** Where pictures are, as people should read it. */
  shownImages: string;
  /** Whether a run holds the batch at this moment. */
  isRunning: boolean;
  /** Since when a run at work has finished nothing, where something should have; undefined where all is well. */
  quietSince: number | undefined;
  summary: BatchNumbers;
  /** What the service said last of the jobs in flight. */
  words: JobWord[];
  /** Undefined where no run is at work, or too little has finished of late to tell. */
  pace: Throughput | undefined;
  /** The newest picture, relative to the images folder. */
  latestPicture: string | undefined;
  /** Which files saved scenes lack, in words; undefined where none does. */
  lacking: string | undefined;
  lastTrouble: { sceneId: string; prompt?: string; kind: string; text: string; at: number } | undefined;
}

/** Whether a run is at work is asked first: of one that ends meanwhile the numbers are the last ones. */
export function readStatus({ dir, record, db, shownImages }: Book): BatchStatus {
  const isRunning = record.isHeld();
  return db.transaction(() => {
    const summary = readNumbers(db);
    const { picture, trouble } = readLatest(db);
    const batch = { ...summary, inFlight: summary.attempts.submitted, ended: readEnded(db) };
    const now = Date.now();
    const run = conditionOf({ isHeld: isRunning, ...batch }, now);
    return {
      dir,
      shownDir: shownPath(dir),
      shownImages,
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

const lookEveryMs = 1_000;
/** Of a list so long that a look takes a while, the run is left alone most of the time. */
const restShare = 10;

/** Once a second; the last one is of a batch that no run works on, or of the moment at which `signal` was aborted. */
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
    const restMs = Math.max(lookEveryMs, restShare * (performance.now() - began));
    await delay(restMs, undefined, { signal }).catch(() => undefined);
  }
}

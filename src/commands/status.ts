/** `nightrender status`: where a batch stands, while it runs, after it ended and after it died. */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { readLacking } from '../runner/checkpoint/lacking-files.ts';
import { readEnded, readLatest, readNumbers } from '../runner/checkpoint/read-summary.ts';
import { lackingText } from '../runner/core/named-file.ts';
import { throughputOf } from '../runner/core/time-left.ts';
import { conditionOf } from '../runner/core/run-condition.ts';
import type { Database } from '../lib/sqlite/database.ts';
import { printStatus, type BatchStatus } from '../terminal/print-status.ts';
import type { BatchRecord } from './batch-record.ts';
import { lookAtBatch } from './existing-batch.ts';
import { bucketOf, shownImages } from './pictures-place.ts';
import { shownPath } from './shown-path.ts';
import type { LoadedCommand } from './command.ts';
import { onBatch } from './on-batch.ts';
import { common } from './exit-codes.ts';
import { fileIn } from './option-values.ts';

export const statusCommand: LoadedCommand = {
  purpose: `Shows how many scenes are saved, in flight and failed, what failed most, whether a run is at work, and what held the last one back; of a live run also its pace, the time left and the latest picture. Read-only, also during a run.`,
  shared: ['output', 'json'],
  options: { watch: { type: 'boolean', describe: 'update every second until the run ends, or Ctrl-C' } },
  examples: [
    ['$0 status pipeline.yaml', 'while it runs, or in the morning'],
    ['$0 status pipeline.yaml --watch', 'from another terminal'],
    ['$0 status pipeline.yaml --json', 'for a script: one JSON object'],
  ],
  exits: { ...common, complete: 'the batch was shown' },
  work: (argv) =>
    onBatch(fileIn(argv), argv, ({ dir, record, json }) =>
      lookAtBatch(record.dir, (db) =>
        argv['watch'] === true
          ? watch(dir, record, db, json)
          : printStatus(readStatus(dir, record, db), json),
      ),
    ),
};

const lookEveryMs = 1_000;
/** Of a list so long that a look takes a while, the run is left alone most of the time. */
const restShare = 10;

/** Until the run is over, a signal comes or the reader has gone; each is a good end. */
async function watch(dir: string, record: BatchRecord, db: Database, json: boolean): Promise<void> {
  const { watchStatus } = await import('../terminal/watch-status.ts');
  const { withSignals } = await import('./signals.ts');
  const elapsed = () => performance.now();
  const view = watchStatus(json, elapsed, Date.now);
  await withSignals(async ({ draining }) => {
    for (;;) {
      const began = elapsed();
      await record.refresh();
      const seen = readStatus(dir, record, db);
      if (!seen.isRunning || draining.aborted) return view.end(seen);
      if (!(await view.show(seen))) return;
      const restMs = Math.max(lookEveryMs, restShare * (elapsed() - began));
      await delay(restMs, undefined, { signal: draining }).catch(() => undefined);
    }
  });
}

/** Whether a run is at work is asked first: of one that ends meanwhile the numbers are the last ones. */
function readStatus(dir: string, record: BatchRecord, db: Database): BatchStatus {
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
      shownImages: shownImages(dir, bucketOf(db)),
      isRunning,
      quietSince: run.kind === 'stalled' ? run.quietSince : undefined,
      summary,
      pace: throughputOf(run, batch, now),
      latestPicture: picture,
      lacking: lackingText(readLacking(db)),
      lastTrouble: trouble,
    };
  })();
}

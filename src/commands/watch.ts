/** `nightrender watch`: watch a batch in the browser. */
import { printWatching, printWatchFailure } from '../terminal/print-serving.ts';
import { startWatchServer } from '../runner/watch/start-watch-server.ts';
import { builtPage } from '../lib/net/built-page.ts';
import { runArguments } from './command-arguments.ts';
import { refusalOf } from './refusal.ts';
import { shownPath } from './shown-path.ts';
import { untilSignal } from './signals.ts';
import { wholeNumber, fileIn } from './option-values.ts';
import { join } from 'node:path';
import { LiveReader, type LiveReading } from '../runner/checkpoint/live-reader.ts';
import { failureRules, isFailureKind } from '../runner/core/failure.ts';
import { batchName } from '../runner/core/batch-name.ts';
import { countFinishes } from '../runner/core/finish-rate.ts';
import type { LiveBatch, LiveFailure, LiveNumbers } from '../runner/core/live-batch.ts';
import { throughputOf, type Throughput } from '../runner/core/time-left.ts';
import { conditionOf, lastEndedAt, type RunCondition } from '../runner/core/run-condition.ts';
import type { WatchedBatch } from '../runner/watch/broadcast.ts';
import { ownRecord, type BatchRecord } from './batch-record.ts';
import type { LoadedCommand } from './command.ts';
import type { Bucket } from '../lib/s3/bucket.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { onBatch, type BatchCall } from './on-batch.ts';
import { bucketOf, openBucket } from './pictures-place.ts';
import { common } from './exit-codes.ts';

export const watchCommand: LoadedCommand = {
  purpose: `Serves a page on 127.0.0.1 until SIGINT or SIGTERM: progress, throughput, failures, and the pictures as they arrive. Read-only; needs no key; works before, during and after a run. Anyone with an account on this machine can open it.`,
  shared: ['output', 'json'],
  options: { port: { requiresArg: true, default: 4748, describe: 'port on 127.0.0.1; 0 for a free one' } },
  examples: [
    ['$0 watch pipeline.yaml', 'then open http://127.0.0.1:4748/'],
    ['ssh -L 4748:127.0.0.1:4748 me@attic', 'opens the same address on another machine'],
    ['$0 watch pipeline.yaml --port 0 --json', 'for a script: a free port, printed as JSON'],
  ],
  exits: {
    ...common,
    complete: 'stopped by SIGINT or SIGTERM',
    'wrong-use': 'wrong use or configuration, or the port is in use',
  },
  work: (argv) => onBatch(fileIn(argv), argv, (call) => watch(call, argv)),
};

const withoutScript = 'This page needs JavaScript. In a terminal, use <code>nightrender status</code>.';

/** Serves until SIGINT or SIGTERM. */
async function watch({ dir, record, json, others }: BatchCall, argv: Record<string, unknown>): Promise<void> {
  const port = wholeNumber(argv, 'port', 0, 65_535);
  const batch = watchedBatch({ dir, others, record });
  const { run } = await batch.read();
  const server = await startWatchServer({
    batch,
    page: builtPage('watch', withoutScript),
    port,
    onProblem: printWatchFailure,
  });
  const shown = { url: server.url, dir, shownDir: shownPath(dir), hasBatch: run.kind !== 'none' };
  const stopped = untilSignal();
  printWatching(shown, json);
  await stopped;
  await server.close();
}

export interface Watched {
  /** The batch's folder, absolute. */
  dir: string;
  /** What follows `nightrender retry` for this batch. */
  others: string;
  /** Where the batch is on record; in its folder where left out. */
  record?: BatchRecord;
}

export function watchedBatch({ dir, others, record = ownRecord(dir) }: Watched): WatchedBatch {
  const about = (reading?: LiveReading) => ({
    name: batchName(dir),
    command: `nightrender run ${runArguments(others, reading?.lists)}`,
  });
  const reader = new LiveReader(record.dir);
  const numbersOf = freshByMinute(others);
  const read = async (): Promise<LiveBatch> => {
    await record.refresh();
    const now = Date.now();
    const reading = await reader.read(now);
    const run = conditionAt(record, reading, now);
    const hasBegun = reading !== undefined && reading.lastRun !== null;
    const numbers = hasBegun ? numbersOf(reading, run, now) : null;
    return { ...about(reading), run, numbers, newest: reading?.newest ?? [] };
  };
  return {
    imagesDir: join(dir, 'images'),
    readBucket: bucketReader(record.dir),
    thumbnailsDir: join(dir, 'report', 'thumbnails'),
    read: () =>
      read().catch((error: unknown) => ({
        ...about(),
        run: unreadable(error, dir),
        numbers: null,
        newest: [],
      })),
    picturesBefore: (id) => reader.picturesBefore(id),
    story: (id) => reader.story(id),
  };
}

/** The bucket is that of the batch, which may begin while it is watched. `dir`: where the checkpoint can be read. */
function bucketReader(dir: string): (key: string) => Promise<Buffer | undefined> {
  let opening: Promise<Bucket | undefined> | undefined;
  const open = async (): Promise<Bucket | undefined> => {
    const db = openCheckpointForReading(dir);
    const url = db && bucketOf(db);
    if (db === undefined) opening = undefined;
    db?.close();
    return url === undefined ? undefined : openBucket(url);
  };
  return async (key) => {
    opening ??= open();
    const bucket = await opening.catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return bucket?.get(key);
  };
}

function conditionAt(record: BatchRecord, reading: LiveReading | undefined, now: number): RunCondition {
  const isHeld = record.isHeld();
  if (reading === undefined) return { kind: isHeld ? 'starting' : 'none' };
  const { lastRun, tally, ended } = reading;
  return conditionOf({ isHeld, lastRun, inFlight: tally.inFlight, ended }, now);
}

/** What a person can do something about is shown in words; a bug is thrown. */
function unreadable(error: unknown, dir: string): RunCondition {
  const refusal = refusalOf(error, dir);
  const isBusy = String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY');
  if (refusal === undefined && !isBusy) throw error;
  return { kind: 'unreadable', text: refusal?.text ?? 'Another program has locked the checkpoint.' };
}

type NumbersOf = (reading: LiveReading, run: RunCondition, now: number) => LiveNumbers;

const minuteMs = 60_000;

/** The same numbers as before while nothing happens within a minute, so that they are not sent again. */
function freshByMinute(others: string): NumbersOf {
  let latest: { reading: LiveReading; kind: string; minute: number; numbers: LiveNumbers } | undefined;
  return (reading, run, now) => {
    const minute = Math.floor(now / minuteMs);
    const isSame = latest?.reading === reading && latest.kind === run.kind && latest.minute === minute;
    if (latest !== undefined && isSame) return latest.numbers;
    const numbers = numbersAt(reading, run, now, others);
    latest = { reading, kind: run.kind, minute, numbers };
    return numbers;
  };
}

function numbersAt(reading: LiveReading, run: RunCondition, now: number, others: string): LiveNumbers {
  const { scenes, tally, ended, pictures, cost } = reading;
  const isAtWork = run.kind === 'running' || run.kind === 'stalled';
  const end = isAtWork ? now : (lastEndedAt(ended) ?? now);
  const began = Math.min(reading.lastRun?.startedAt ?? end, end);
  const pace = throughputOf(run, { ...reading, inFlight: tally.inFlight }, now);
  return {
    scenes,
    attempts: tally.total,
    doubtful: tally.unanswered + tally.expired,
    pictures,
    cost,
    perSecond: pace?.perSecond ?? null,
    doneAt: doneAt(pace, now),
    run: countFinishes(tally.finishes, began, end),
    failures: failuresOf(reading, others),
  };
}

function doneAt(pace: Throughput | undefined, now: number): number | null {
  const leftMs = pace?.leftMs ?? 0;
  return leftMs === 0 ? null : Math.round(now + leftMs);
}

function failuresOf({ tally, setAside, lastTexts }: LiveReading, others: string): LiveFailure[] {
  const kinds = new Set([...tally.kinds.keys(), ...setAside.keys()]);
  const failures = [...kinds].map((kind): LiveFailure => {
    const scenes = setAside.get(kind) ?? 0;
    return {
      kind,
      means: isFailureKind(kind) ? failureRules[kind].means : '',
      attempts: tally.kinds.get(kind)?.attempts ?? 0,
      scenes,
      lastText: lastTexts.get(kind) ?? '',
      retry: scenes === 0 ? null : `nightrender retry ${others} --kind ${kind}`,
    };
  });
  return failures.toSorted((a, b) => b.scenes - a.scenes || b.attempts - a.attempts);
}

/** A batch for its page in the browser: read from the checkpoint alone, so that no report is needed. */
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { readBatch, resultColumns } from '../runner/checkpoint/batch-identity.ts';
import { LiveReader, type LiveList, type LiveReading } from '../runner/checkpoint/live-reader.ts';
import { openCheckpointForReading } from '../runner/checkpoint/open-checkpoint.ts';
import { readRecords, readStory } from '../runner/checkpoint/scene-records.ts';
import { readRuns, readSummary } from '../runner/checkpoint/read-summary.ts';
import { type Database, isBusy } from '../lib/sqlite/database.ts';
import { batchName } from '../runner/core/naming.ts';
import type {
  GalleryData,
  LiveFailure,
  LiveNumbers,
  LiveState,
  MarkChange,
  ReadMarks,
} from '../runner/core/gallery-data.ts';
import { throughputOf, type Throughput } from '../runner/core/forecast.ts';
import { MarksFile } from '../runner/files/marks-file.ts';
import { GalleryCounts } from '../runner/report/gallery-counts.ts';
import { fromServer, galleryRow } from '../runner/report/gallery-row.ts';
import type { BatchReading, ReadList, WatchedBatch } from '../runner/watch/broadcast.ts';
import { bucketOf, openPlaces, type BatchPlaces, type BucketEdges } from './pictures-place.ts';
import { sourceIn } from '../runner/images/place.ts';
import type { OpenRecord } from './record.ts';
import { refusalOf, runArguments } from './refusal.ts';
import { maxRuns, reportHeader } from './result-files.ts';
import { type RunCondition, runConditionOf } from '../runner/core/ending.ts';

interface Watched {
  dir: string;
  record: OpenRecord;
  /** Arguments for commands in messages. */
  others: string;
  edges: BucketEdges;
}

/** Opens a batch for `nightrender watch`. The batch need not have begun. `signal` cancels reading in progress. */
export function watchedBatch({ dir, record, others, edges }: Watched, signal: AbortSignal): WatchedBatch {
  const about = (reading?: LiveReading) => ({
    name: batchName(dir),
    command: `nightrender run ${runArguments(others, reading?.lists)}`,
  });
  const reader = new LiveReader(record.dir);
  const marksFile = new MarksFile(dir);
  const gallery = new CountedGallery(dir, record.dir, signal);
  const numbersOf = freshByMinute();
  const links = fromServer(join(dir, 'report'));
  const listOf = readLists(links);
  let columns: string[] = [];
  /** Returns no marks if their file cannot be read, because the pictures must still be shown. */
  const marksNow = (): ReadMarks['marks'] => {
    try {
      return marksFile.read().marks;
    } catch {
      return noMarks;
    }
  };
  /** Returns undefined if there is no checkpoint. */
  const fromCheckpoint = <T>(work: (db: Database) => T): T | undefined => {
    const db = openCheckpointForReading(record.dir);
    try {
      return db && work(db);
    } finally {
      db?.close();
    }
  };
  /** Returns the changes of scenes that the batch has. Changes of invented ids could fill the disk. */
  const knownOf = (changes: MarkChange[]): MarkChange[] =>
    fromCheckpoint((db) => changes.filter(({ id }) => readStory(db, id) !== undefined)) ?? [];
  const read = async (): Promise<BatchReading> => {
    await record.refresh();
    const now = Date.now();
    const reading = await reader.read(now);
    const run = conditionAt(record, reading, now);
    const marks = marksNow();
    if (reading === undefined || reading.lastRun === null)
      return { ...nothing, marks, state: { ...about(reading), run, numbers: null } };
    columns = reading.columns;
    const state = { ...about(reading), run, numbers: numbersOf(reading, run, now) };
    return { state, marks, list: listOf(reading), gallery: gallery.of(reading.list) };
  };
  return {
    imagesDir: join(dir, 'images'),
    ...readersElsewhere({ dir, checkpointDir: record.dir, edges }),
    thumbnailsDir: join(dir, 'report', 'thumbnails'),
    read: () =>
      read().catch((error: unknown) => {
        const state: LiveState = { ...about(), run: unreadable(error, dir), numbers: null };
        return { ...nothing, marks: noMarks, state };
      }),
    marks: marksNow,
    name: batchName(dir),
    picturesOf: (id) => {
      const story = fromCheckpoint((db) => readStory(db, id));
      const attempts = story?.versions[0]?.attempts ?? [];
      return (attempts.findLast(({ pictures }) => pictures.length > 0)?.pictures ?? []).map(
        ({ file }) => file,
      );
    },
    setMarks: (changes, by) => {
      try {
        marksFile.change(knownOf(changes), Date.now(), by);
        return undefined;
      } catch (error) {
        return `marks.jsonl: ${refusalOf(error, dir)?.text ?? (error as Error).message}`;
      }
    },
    rows: (piece) => reader.piece(piece)?.map((row) => galleryRow(row, columns, links)),
  };
}

const nothing = { list: null, gallery: null };

/** The same object each time, so that it counts as no change. */
const noMarks: ReadMarks['marks'] = new Map();

/** Returns the same object as before if the list is the same. */
function readLists(links: ReturnType<typeof fromServer>): (reading: LiveReading) => ReadList {
  let latest: { of: LiveList; list: ReadList } | undefined;
  return ({ list, columns }) => {
    if (latest?.of === list) return latest.list;
    const { layout, changed } = list;
    const arrived = list.arrived.map(({ picture, index, row }) => ({
      picture,
      index,
      row: galleryRow(row, columns, links),
    }));
    latest = { of: list, list: { rows: layout.rows, changed, arrived } };
    return latest.list;
  };
}

/** Maximum share of one processor for counting. At 100,000 scenes, counting takes seconds. */
const shareOfTime = 0.05;

/** Number of rows between two turns of the event loop. */
const sliceRows = 100;

/** Totals over all rows. Counted again when the list changes, and at intervals while it fills. */
class CountedGallery {
  readonly #dir: string;
  readonly #checkpointDir: string;
  readonly #signal: AbortSignal;
  #latest: GalleryData | null = null;
  #of: LiveList | undefined;
  #isCounting = false;
  #restsUntil = 0;
  #problem: { error: unknown } | undefined;

  constructor(dir: string, checkpointDir: string, signal: AbortSignal) {
    this.#dir = dir;
    this.#checkpointDir = checkpointDir;
    this.#signal = signal;
  }

  /** Returns the latest totals. Throws the error that prevents counting. */
  of(list: LiveList): GalleryData | null {
    const isOther = list.layout !== this.#of?.layout && this.#problem === undefined;
    const isDue = list !== this.#of && performance.now() >= this.#restsUntil;
    if (!this.#isCounting && (isOther || isDue)) void this.#countAnew(list);
    if (this.#problem !== undefined) throw this.#problem.error;
    return this.#latest;
  }

  async #countAnew(list: LiveList): Promise<void> {
    this.#isCounting = true;
    this.#of = list;
    const before = process.cpuUsage();
    try {
      this.#latest = (await this.#count()) ?? null;
      this.#problem = undefined;
    } catch (error) {
      this.#of = undefined;
      if (!this.#signal.aborted) this.#problem = { error };
    }
    const { user, system } = process.cpuUsage(before);
    this.#restsUntil = performance.now() + (user + system) / 1000 / shareOfTime;
    this.#isCounting = false;
  }

  async #count(): Promise<GalleryData | undefined> {
    const db = openCheckpointForReading(this.#checkpointDir);
    const batch = db && readBatch(db);
    try {
      if (db === undefined || batch === undefined) return undefined;
      const summary = await readSummary(db, this.#signal);
      // Pictures of other batches are not served.
      const about = { ...reportHeader(this.#dir, batch, Date.now()), stageAt: undefined };
      const counts = new GalleryCounts({
        about,
        summary,
        runs: readRuns(db, maxRuns),
        columns: resultColumns(batch),
      });
      let rows = 0;
      for (const row of readRecords(db)) {
        counts.add(row);
        rows += 1;
        if (rows % sliceRows === 0) await nextTurn();
        this.#signal.throwIfAborted();
      }
      return counts.result({ folder: '', rows: [] });
    } finally {
      db?.close();
    }
  }
}

interface Elsewhere {
  dir: string;
  /** Folder in which the checkpoint is readable. */
  checkpointDir: string;
  edges: BucketEdges;
}

/** Returns functions that read from the place of the batch. They return undefined if it is on this machine. */
function readersElsewhere({
  dir,
  checkpointDir,
  edges: { env, ...bucket },
}: Elsewhere): Required<Pick<WatchedBatch, 'readElsewhere' | 'openElsewhere'>> {
  let opening: Promise<BatchPlaces | undefined> | undefined;
  const open = async (): Promise<BatchPlaces | undefined> => {
    const db = openCheckpointForReading(checkpointDir);
    const url = db && bucketOf(db);
    if (db === undefined) opening = undefined;
    db?.close();
    return db && openPlaces({ dir, url, env, bucket });
  };
  const opened = async (): Promise<BatchPlaces | undefined> => {
    opening ??= open();
    const places = await opening.catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return places?.images.isRemote === true ? places : undefined;
  };
  return {
    readElsewhere: async (kind, file) => {
      const places = await opened();
      if (places === undefined) return undefined;
      const place = kind === 'picture' ? places.images : places.reportCopy;
      return (await place?.read(kind === 'picture' ? file : `thumbnails/${file}`)) ?? null;
    },
    openElsewhere: async (file) => {
      const places = await opened();
      if (places === undefined) return undefined;
      const facts = await places.images.facts(file);
      return facts?.kind === 'file' ? sourceIn(places.images, file, facts.bytes) : null;
    },
  };
}

function conditionAt(record: OpenRecord, reading: LiveReading | undefined, now: number): RunCondition {
  const isInUse = record.isInUse();
  if (reading === undefined) return { kind: isInUse ? 'starting' : 'none' };
  const { lastRun, tally, ended } = reading;
  return runConditionOf({ isInUse, lastRun, inFlight: tally.inFlight, ended }, now);
}

/** Describes an expected error in words. Throws a bug. */
function unreadable(error: unknown, dir: string): RunCondition {
  const refusal = refusalOf(error, dir);
  if (refusal === undefined && !isBusy(error)) throw error;
  return { kind: 'unreadable', text: refusal?.text ?? 'Another program has locked the checkpoint.' };
}

type NumbersOf = (reading: LiveReading, run: RunCondition, now: number) => LiveNumbers;

const minuteMs = 60_000;

/** Returns the same numbers as before if nothing happens within a minute, so that they are not sent again. */
function freshByMinute(): NumbersOf {
  let latest: { reading: LiveReading; kind: string; minute: number; numbers: LiveNumbers } | undefined;
  return (reading, run, now) => {
    const minute = Math.floor(now / minuteMs);
    const isSame = latest?.reading === reading && latest.kind === run.kind && latest.minute === minute;
    if (latest !== undefined && isSame) return latest.numbers;
    const numbers = numbersAt(reading, run, now);
    latest = { reading, kind: run.kind, minute, numbers };
    return numbers;
  };
}

function numbersAt(reading: LiveReading, run: RunCondition, now: number): LiveNumbers {
  const { scenes, tally, cost, lagMs } = reading;
  const pace = throughputOf(run, { ...reading, inFlight: tally.inFlight }, now);
  return {
    scenes,
    attempts: tally.total,
    doubtful: tally.unanswered + tally.expired,
    cost,
    perSecond: pace?.perSecond ?? null,
    doneAt: doneAt(pace, now),
    lagMs,
    failures: failuresOf(reading),
  };
}

function doneAt(pace: Throughput | undefined, now: number): number | null {
  const leftMs = pace?.leftMs ?? 0;
  return leftMs === 0 ? null : Math.round(now + leftMs);
}

function failuresOf({ tally, setAside, lastTexts }: LiveReading): LiveFailure[] {
  const kinds = new Set([...tally.kinds.keys(), ...setAside.keys()]);
  return [...kinds]
    .map((kind) => ({
      kind,
      attempts: tally.kinds.get(kind)?.attempts ?? 0,
      scenes: setAside.get(kind) ?? 0,
      lastText: lastTexts.get(kind) ?? '',
    }))
    .toSorted((a, b) => b.scenes - a.scenes || b.attempts - a.attempts);
}

/** Reads a batch repeatedly while it runs, at a cost that hardly grows with the size of the batch. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ArrivedScene } from '../core/gallery-data.ts';
import type { PartRecord, SceneCounts } from '../core/scene.ts';
import type { RunSpan, SceneRecord } from '../core/scene-record.ts';
import { batchCost, type BatchCost, type Pricing } from '../core/spending.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { readBatch, resultColumns } from './batch-identity.ts';
import { openCheckpointForReading } from './open-checkpoint.ts';
import { readPart } from './due-scenes.ts';
import { AttemptTally, forgottenQuery, readCounts } from './read-totals.ts';
import { readEnded, readRuns } from './read-summary.ts';
import { readFailedKinds } from './read-for-plan.ts';
import { readRecords } from './scene-records.ts';
import type { EndedAttempt } from '../core/ending.ts';

export interface LiveReading {
  scenes: SceneCounts;
  tally: AttemptTally;
  /** The latest settled attempts. */
  ended: EndedAttempt[];
  /** The part that the latest run renders; null if it renders the whole batch. */
  part: PartRecord | null;
  /** Number of scenes that are set aside, by kind of failure. */
  setAside: Map<string, number>;
  lastTexts: Map<string, string>;
  cost: BatchCost | null;
  /** Columns of the results, in order. */
  columns: string[];
  /** Absolute paths of the lists, or `-` for standard input. Undefined if they are those of pipeline.yaml. */
  lists: string[] | undefined;
  lastRun: RunSpan | null;
  /** Median ms from the end of a job to its saved picture, over the latest jobs. Null if no times are known. */
  lagMs: number | null;
  list: LiveList;
}

/** The same object as before if no row has changed or moved. */
export interface LiveList {
  layout: ListLayout;
  /** Numbers of the pieces whose rows have changed since the previous reading. */
  changed: number[];
  /** Scenes with the latest pictures, newest first. */
  arrived: ArrivedScene<SceneRecord>[];
}

/** Maximum number of new pictures that are reported at once. */
export const maxArrived = 24;

/** Number of recent attempts whose lag is measured. */
const latestLags = 200;

/** Resolution of file times. A change within the same tick as a reading may have come after the reading. */
const clockTickMs = 1_000;

/** Opens the checkpoint only to read. An open connection would keep the run from truncating its log. */
export class LiveReader {
  readonly #dir: string;
  #tally = new AttemptTally();
  #birth = '';
  #list: LiveList | undefined;
  /** Identifies the composition of the list. If this changes, every row may have changed. */
  #listSign = '';
  #lastPicture = 0;
  #latest: LiveReading | undefined;
  #sign: string | undefined;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Returns undefined without a batch, the same object if nothing changed. One call at a time. Throws
   * `UnusableDatabase` or SQLite's errors.
   */
  async read(now: number): Promise<LiveReading | undefined> {
    const sign = this.#signOfChange(now);
    if (sign !== undefined && sign === this.#sign) return this.#latest;
    this.#sign = undefined;
    this.#latest = await this.#readAnew();
    this.#sign = sign;
    return this.#latest;
  }

  /** Returns the rows of a piece of the list, from 0, or undefined. Throws as `read` does. */
  piece(number: number): SceneRecord[] | undefined {
    const layout = this.#list?.layout;
    const db = layout?.rows[number] === undefined ? undefined : openCheckpointForReading(this.#dir);
    try {
      return db && layout && readPiece(db, layout, number);
    } finally {
      db?.close();
    }
  }

  async #readAnew(): Promise<LiveReading | undefined> {
    const db = openCheckpointForReading(this.#dir);
    if (db === undefined) return undefined;
    try {
      this.#recogniseBatch(db);
      await this.#tally.catchUpSlowly(db, nextTurn);
      // One short transaction, so that the numbers agree with one another.
      return db.transaction(() => this.#readAll(db))();
    } finally {
      db.close();
    }
  }

  /** Starts the totals again if the folder holds another batch, pictures were forgotten, or `pricing.at` changed. */
  #recogniseBatch(db: Database): void {
    const first = db
      .prepare<[], { birth: string }>(
        `SELECT started_at || ' ' || pid || coalesce((${forgottenQuery()}), '') AS birth FROM runs ORDER BY run LIMIT 1`,
      )
      .get();
    const at = readBatch(db)?.pricing?.at;
    const birth = `${first?.birth ?? ''} ${at ?? ''}`;
    if (birth !== this.#birth) {
      this.#tally = new AttemptTally(at);
      this.#lastPicture = 0;
    }
    this.#birth = birth;
  }

  #readAll(db: Database): LiveReading {
    const tally = this.#tally;
    tally.catchUp(db);
    const batch = readBatch(db);
    const scenes = readCounts(db);
    const lastRun = readRuns(db, 1)[0] ?? null;
    return {
      scenes,
      tally,
      ended: readEnded(db),
      part: readPart(db),
      setAside: new Map(readFailedKinds(db).map(({ kind, scenes: count }) => [kind, count])),
      lastTexts: readLastTexts(db, tally),
      cost: readCost(db, tally, batch?.pricing),
      columns: resultColumns(batch),
      lists: batch?.lists,
      lastRun,
      lagMs: readLag(db, tally.inFlight),
      list: this.#readList(db, scenes, lastRun),
    };
  }

  /** Finds changed rows by their attempts. After a change without an attempt, every row counts as changed. */
  #readList(db: Database, scenes: SceneCounts, lastRun: RunSpan | null): LiveList {
    const { waiting, active, saved, failed, unneeded = 0, withdrawn, invalid } = scenes;
    const listed = waiting + active + saved + failed + unneeded;
    const told = db.prepare<[], string | null>('SELECT group_concat(value) FROM batch').pluck().get();
    const sign = [this.#birth, told, listed, withdrawn, invalid, lastRun?.run, lastRun?.endedAt].join(' ');
    const isPutBack = this.#latest !== undefined && hasFewer(this.#latest.scenes, scenes);
    const isSame = sign === this.#listSign && !isPutBack;
    const layout = isSame && this.#list !== undefined ? this.#list.layout : readLayout(db);
    const changed = isSame ? piecesOf(db, this.#tally.touched) : [];
    const isNew =
      db.prepare<[number]>('SELECT 1 FROM pictures WHERE picture > ?').get(this.#lastPicture) !== undefined;
    this.#listSign = sign;
    this.#tally.touched.clear();
    if (this.#list === undefined || !isSame || isNew || changed.length > 0) {
      const arrived = readArrived(db, layout, maxArrived);
      this.#lastPicture =
        db.prepare<[], number | null>('SELECT max(picture) FROM pictures').pluck().get() ?? 0;
      this.#list = { layout, changed, arrived };
    }
    return this.#list;
  }

  /** Returns a text that changes with the files; undefined if a change could go unnoticed. Opens no file. */
  #signOfChange(now: number): string | undefined {
    const files = ['checkpoint.sqlite', 'checkpoint.sqlite-wal'].map((name) =>
      statSync(join(this.#dir, name), { throwIfNoEntry: false }),
    );
    if (files.some((file) => file !== undefined && Math.abs(now - file.mtimeMs) < clockTickMs))
      return undefined;
    return files.map((file) => `${file?.ino} ${file?.size} ${file?.mtimeMs}`).join();
  }
}

function hasFewer(before: SceneCounts, now: SceneCounts): boolean {
  return now.saved < before.saved || now.failed < before.failed;
}

/** Computes the lag from the times that the service reports. */
function readLag(db: Database, inFlight: number): number | null {
  const lags = db
    .prepare<[number], number>(
      `SELECT max(0, settled_at - submitted_at - delay_time_ms - execution_time_ms) AS lag
       FROM (SELECT * FROM attempts ORDER BY attempt DESC LIMIT ?)
       WHERE state = 'saved' AND submitted_at + delay_time_ms + execution_time_ms IS NOT NULL ORDER BY lag`,
    )
    .pluck()
    .all(latestLags + inFlight);
  return lags[Math.floor((lags.length - 1) / 2)] ?? null;
}

function readLastTexts(db: Database, { kinds }: AttemptTally): Map<string, string> {
  const textOf = db.prepare<[number], { text: string | null }>(
    'SELECT failure_text AS text FROM attempts WHERE attempt = ?',
  );
  return new Map([...kinds].map(([kind, { last }]) => [kind, textOf.get(last)?.text ?? '']));
}

function readCost(db: Database, tally: AttemptTally, pricing: Pricing | undefined): BatchCost | null {
  if (pricing === undefined) return null;
  return batchCost(tally.spending(db), tally.inFlight, pricing);
}

/** Positions per piece. There are few, because a piece is requested again with every picture that comes to it. */
const pieceRows = 200;

interface ListLayout {
  /** Number of rows of each piece. Pieces of the list come first, by position. Some have fewer rows than positions. */
  rows: number[];
  /** Number of pieces that belong to the list. The others hold withdrawn scenes. */
  listed: number;
}

function readLayout(db: Database): ListLayout {
  const counts = db
    .prepare<[], [piece: number, rows: number]>(
      `SELECT piece, sum(n) FROM (
         SELECT position / ${pieceRows} AS piece, count(*) AS n FROM scenes WHERE position IS NOT NULL GROUP BY 1
         UNION ALL SELECT position / ${pieceRows}, count(*) FROM bad_rows GROUP BY 1)
       GROUP BY piece ORDER BY piece`,
    )
    .raw()
    .all();
  const listed = (counts.at(-1)?.[0] ?? -1) + 1;
  const rows = Array.from({ length: listed }, () => 0);
  for (const [piece, count] of counts) rows[piece] = count;
  const gone =
    db.prepare<[], number>("SELECT count(*) FROM scenes WHERE state = 'withdrawn'").pluck().get() ?? 0;
  for (let left = gone; left > 0; left -= pieceRows) rows.push(Math.min(pieceRows, left));
  return { rows, listed };
}

function readPiece(db: Database, { listed }: ListLayout, piece: number): SceneRecord[] {
  const from = piece * pieceRows;
  const part =
    piece < listed
      ? { from, to: from + pieceRows, withdrawn: { from: 0, count: 0 } }
      : { from: 0, to: 0, withdrawn: { from: from - listed * pieceRows, count: pieceRows } };
  return [...readRecords(db, {}, part)];
}

function piecesOf(db: Database, sceneKeys: Iterable<number>): number[] {
  return db
    .prepare<[string], number>(
      `SELECT DISTINCT position / ${pieceRows} FROM scenes
       WHERE scene IN (SELECT value FROM json_each(?)) AND position IS NOT NULL`,
    )
    .pluck()
    .all(JSON.stringify([...sceneKeys]));
}

/** Returns the scenes of the latest `most` pictures, newest first. */
function readArrived(db: Database, layout: ListLayout, most: number): ArrivedScene<SceneRecord>[] {
  const found = db
    .prepare<[number], { picture: number; position: number }>(
      `SELECT max(picture) AS picture, s.position AS position
       FROM (SELECT picture, attempt FROM pictures WHERE label IS NULL ORDER BY picture DESC LIMIT ?)
       JOIN attempts a USING (attempt) JOIN scenes s USING (scene) WHERE s.position IS NOT NULL GROUP BY s.scene
       ORDER BY picture DESC`,
    )
    .all(most);
  return found.flatMap(({ position, ...saved }) => {
    const part = { from: position, to: position + 1, withdrawn: { from: 0, count: 0 } };
    return [...readRecords(db, {}, part)].map((row) => ({
      ...saved,
      index: indexOf(db, layout, position),
      row,
    }));
  });
}

function indexOf(db: Database, { rows }: ListLayout, position: number): number {
  const piece = Math.floor(position / pieceRows);
  const earlier = db
    .prepare<[{ from: number; to: number }], number>(
      `SELECT (SELECT count(*) FROM scenes WHERE position >= @from AND position < @to)
         + (SELECT count(*) FROM bad_rows WHERE position >= @from AND position < @to)`,
    )
    .pluck()
    .get({ from: piece * pieceRows, to: position });
  return rows.slice(0, piece).reduce((sum, count) => sum + count, 0) + (earlier ?? 0);
}

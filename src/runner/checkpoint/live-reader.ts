/** Reads a batch repeatedly while it runs, at a cost that hardly grows with it. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LivePicture, PictureStory } from '../core/live-batch.ts';
import type { PartRecord } from '../core/part.ts';
import type { EndedAttempt } from '../core/run-condition.ts';
import type { RunSpan } from '../core/report-row.ts';
import type { SceneCounts } from '../core/scene.ts';
import { batchCost, type BatchCost, type Pricing } from '../core/spending.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { AttemptTally } from './attempt-tally.ts';
import { readBatch } from './batch-identity.ts';
import { readPicturesBefore, readPictureStory } from './live-pictures.ts';
import { openCheckpointForReading } from './open-checkpoint.ts';
import { readPart } from './due-scenes.ts';
import { readCounts, readLatestTimes } from './read-totals.ts';
import { readEnded, readRuns } from './read-summary.ts';
import { readFailedKinds } from './read-for-plan.ts';
import { countPictures } from './recorded-pictures.ts';

export interface LiveReading {
  scenes: SceneCounts;
  tally: AttemptTally;
  /** The latest attempts that came to their ends. */
  ended: EndedAttempt[];
  /** What the latest run had to render, where that was a preview. */
  part: PartRecord | null;
  /** Scenes that are set aside, by kind of failure. */
  setAside: Map<string, number>;
  /** Text of the latest failure of each kind. */
  lastTexts: Map<string, string>;
  pictures: number;
  cost: BatchCost | null;
  /** The manifests, where they are not those of pipeline.yaml. */
  lists: string[] | undefined;
  lastRun: RunSpan | null;
  newest: LivePicture[];
}

/** Pictures that a page is given at a time. */
export const pageOfPictures = 48;

/** A change within the same tick of the file system's clock as a reading may have come after it. */
const clockTickMs = 1_000;

/**
 * Opens the checkpoint for each reading and closes it again: a connection that stayed open would keep the run from
 * tidying up its journal at its end, and would keep reading a file that was moved away.
 */
export class LiveReader {
  readonly #dir: string;
  #tally = new AttemptTally();
  #birth = '';
  #latest: LiveReading | undefined;
  #sign: string | undefined;

  constructor(dir: string) {
    this.#dir = dir;
  }

  /**
   * Undefined where there is no batch yet. The very same object as before where nothing has changed. Throws
   * `UnusableDatabase` or SQLite's own errors. One call at a time.
   */
  async read(now: number): Promise<LiveReading | undefined> {
    const sign = this.#signOfChange(now);
    if (sign !== undefined && sign === this.#sign) return this.#latest;
    this.#sign = undefined;
    this.#latest = await this.#readAnew();
    this.#sign = sign;
    return this.#latest;
  }

  /** The newest of those before this id; throws as `read`. */
  picturesBefore(id: number): LivePicture[] {
    return this.#with((db) => readPicturesBefore(db, id, pageOfPictures)) ?? [];
  }

  /** Undefined where there is none; throws as `read`. */
  story(id: number): PictureStory | undefined {
    return this.#with((db) => readPictureStory(db, id));
  }

  async #readAnew(): Promise<LiveReading | undefined> {
    const db = openCheckpointForReading(this.#dir);
    if (db === undefined) return undefined;
    try {
      this.#recogniseBatch(db);
      await this.#tally.catchUpSlowly(db, nextTurn);
      // One short transaction, so that the numbers agree with one another.
      return db.transaction(() => readAll(db, this.#tally))();
    } finally {
      db.close();
    }
  }

  /** Another batch in the same folder is counted from the start. */
  #recogniseBatch(db: Database): void {
    const first = db
      .prepare<[], { birth: string }>(
        "SELECT started_at || ' ' || pid AS birth FROM runs ORDER BY run LIMIT 1",
      )
      .get();
    const birth = first?.birth ?? '';
    if (birth !== this.#birth) this.#tally = new AttemptTally();
    this.#birth = birth;
  }

  #with<T>(read: (db: Database) => T): T | undefined {
    const db = openCheckpointForReading(this.#dir);
    try {
      return db && read(db);
    } finally {
      db?.close();
    }
  }

  /** Undefined where a change could go unseen. No file is opened for it. */
  #signOfChange(now: number): string | undefined {
    const files = ['checkpoint.sqlite', 'checkpoint.sqlite-wal'].map((name) =>
      statSync(join(this.#dir, name), { throwIfNoEntry: false }),
    );
    if (files.some((file) => file !== undefined && Math.abs(now - file.mtimeMs) < clockTickMs))
      return undefined;
    return files.map((file) => `${file?.ino} ${file?.size} ${file?.mtimeMs}`).join();
  }
}

function readAll(db: Database, tally: AttemptTally): LiveReading {
  tally.catchUp(db);
  const batch = readBatch(db);
  return {
    scenes: readCounts(db),
    tally,
    ended: readEnded(db),
    part: readPart(db),
    setAside: new Map(readFailedKinds(db).map(({ kind, scenes }) => [kind, scenes])),
    lastTexts: readLastTexts(db, tally),
    pictures: countPictures(db),
    cost: readCost(db, tally, batch?.pricing),
    lists: batch?.lists,
    lastRun: readRuns(db, 1)[0] ?? null,
    newest: readPicturesBefore(db, Number.MAX_SAFE_INTEGER, pageOfPictures),
  };
}

function readLastTexts(db: Database, { kinds }: AttemptTally): Map<string, string> {
  const textOf = db.prepare<[number], { text: string | null }>(
    'SELECT failure_text AS text FROM attempts WHERE attempt = ?',
  );
  return new Map([...kinds].map(([kind, { last }]) => [kind, textOf.get(last)?.text ?? '']));
}

function readCost(db: Database, tally: AttemptTally, pricing: Pricing | undefined): BatchCost | null {
  if (pricing === undefined) return null;
  const { total, refused, executedMs, unanswered, expired, adopted, inFlight } = tally;
  const spending = {
    jobs: total - refused,
    executedMs,
    untold: unanswered + expired + adopted,
    times: readLatestTimes(db),
  };
  return batchCost(spending, inFlight, pricing);
}

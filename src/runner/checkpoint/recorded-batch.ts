/** Reads that both journals share: from the batch's own file, or from the local copy of a shared batch. */
import type { FoundScene, SceneToName } from '../core/adoption.ts';
import type { Attempt, Endpoint } from '../core/attempt.ts';
import type { LackingFile } from '../core/named-file.ts';
import type { MadeAt } from '../core/plan.ts';
import type { PictureTotals } from '../core/picture.ts';
import type { SceneCounts } from '../core/scene.ts';
import { seedAfter } from '../core/seeds-until.ts';
import type { Settlement } from '../core/settlement.ts';
import type { RecordedPicture } from '../core/verification.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { readBatch, readFoundWith } from './batch-identity.ts';
import { readPartCounts } from './due-scenes.ts';
import { judgeIn } from './hold-seeds.ts';
import { readListedScenes, readNextScenes } from './scene-records.ts';
import { readSaved } from './read-summary.ts';
import { readCounts } from './read-totals.ts';
import { readLacking, readPicturesOfSaved } from './recorded-pictures.ts';

export abstract class RecordedBatch {
  /** True if only a part of the batch is rendered; `temp.part` has its scenes. */
  protected hasPart = false;

  #judge: { isGood: ReturnType<typeof judgeIn> } | undefined;

  /** Number of scenes saved by this run that lack a value which decides on other seeds. */
  #unjudged = 0;

  /**
   * Returns the id of the seed to send after this settlement; undefined if there is none. `db` has the
   * recorded batch.
   */
  protected nextSeedAfter(
    db: Database,
    attempt: Attempt,
    { scene, pictures }: Settlement,
  ): string | undefined {
    this.#judge ??= { isGood: judgeIn(readBatch(db)) };
    const { isGood } = this.#judge;
    if (isGood === undefined || scene.state === 'waiting') return undefined;
    const { sceneId, columns, input } = attempt;
    const rendered = { id: sceneId, columns, input, saved: pictures ?? [] };
    const good = scene.state === 'saved' ? isGood(rendered) : false;
    if (good === undefined) this.#unjudged += 1;
    return good === true ? undefined : seedAfter(sceneId);
  }

  /** Reads what is recorded at this moment. */
  protected abstract recorded<T>(read: (db: Database) => T): Promise<T>;

  nextScenes(max: number): Promise<SceneToName[]> {
    return this.recorded((db) => readNextScenes(db, max));
  }

  listedScenes(): Promise<AsyncIterable<FoundScene>> {
    return this.recorded(readListedScenes);
  }

  savedPictures(): Promise<Iterable<RecordedPicture>> {
    return this.recorded(readPicturesOfSaved);
  }

  counts(): Promise<SceneCounts & { part?: SceneCounts }> {
    return this.recorded((db) => ({ ...readCounts(db), ...(this.hasPart && { part: readPartCounts(db) }) }));
  }

  pictureTotals(): Promise<PictureTotals> {
    const unjudged = this.#unjudged;
    return this.recorded((db) => ({ ...readSaved(db).pictures, ...(unjudged > 0 && { unjudged }) }));
  }

  foundWith(): Promise<string | undefined> {
    return this.recorded(readFoundWith);
  }

  hasEndedOtherwise({ baseUrl, id, version }: Endpoint, executionMs: number): Promise<boolean> {
    const text = `SELECT 1 FROM attempts WHERE base_url = ? AND endpoint_id = ? AND version = ? AND state IN ('saved', 'failed')
      AND coalesce(failure_kind, '') NOT IN ('job-timed-out', 'job-overdue', 'cancelled', 'given-up')
      AND coalesce(execution_time_ms, completed_at - executing_at, 0) <= ? LIMIT 1`;
    return this.recorded((db) => db.prepare(text).get(baseUrl, id, version, executionMs) !== undefined);
  }

  hasAccepted(): Promise<boolean> {
    const text = 'SELECT 1 FROM attempts WHERE job_id IS NOT NULL LIMIT 1';
    return this.recorded((db) => db.prepare(text).get() !== undefined);
  }

  inFlightAmong(attempts: number[]): Promise<number[]> {
    const text =
      "SELECT attempt FROM attempts WHERE attempt IN (SELECT value FROM json_each(?)) AND state = 'submitted' ORDER BY attempt";
    return this.recorded((db) => db.prepare<[string], number>(text).pluck().all(JSON.stringify(attempts)));
  }

  lackingFiles(): Promise<LackingFile[]> {
    return this.recorded(readLacking);
  }

  madeAt(): Promise<MadeAt[]> {
    return this.recorded(readMadeAt);
  }
}

/** Returns the endpoints of the saved scenes that are listed, the most frequent first. */
function readMadeAt(db: Database): MadeAt[] {
  return db
    .prepare<[], Endpoint & { scenes: number }>(
      `SELECT a.base_url AS baseUrl, a.endpoint_id AS id, a.version, count(*) AS scenes
       FROM scenes s JOIN attempts a ON a.scene = s.scene AND a.number = s.attempts
       WHERE s.state = 'saved' GROUP BY 1, 2, 3 ORDER BY scenes DESC`,
    )
    .all()
    .map(({ scenes, ...endpoint }) => ({ endpoint, scenes }));
}

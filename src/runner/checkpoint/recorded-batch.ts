/** Reads and decisions that both journals share: on the batch's own file, or on the local copy of a shared batch. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../lib/sqlite/database.ts';
import type { Attempt, Endpoint, Settlement } from '../core/attempt.ts';
import type { LackingFile, PictureTotals } from '../core/picture.ts';
import type { MadeAt } from '../core/batch-plan.ts';
import type { FoundScene, SceneToName } from '../core/provenance.ts';
import type { RecordedPicture } from '../core/scene-record.ts';
import type { SceneCounts, SceneState } from '../core/scene.ts';
import { judgeOf, nextSeed, type Rendered, seedAfter, type SeedRow } from '../core/seeds-until.ts';
import { type BatchIdentity, readBatch, readFoundWith, resultColumns } from './batch-identity.ts';
import { sentBy } from './damage.ts';
import { readSavedTotals } from './read-summary.ts';
import { readCounts, sceneCounts } from './read-totals.ts';
import { readLacking, savedReader, readSavedJobs } from './recorded-pictures.ts';
import type { SceneRow } from './checkpoint-schema.ts';
import { asFatalFailure } from './journal.ts';

export abstract class RecordedBatch {
  /** True if only a part of the batch is rendered; `temp.part` has its scenes. */
  protected hasPart = false;

  #judge: { isGood: ReturnType<typeof judgeIn> } | undefined;

  /** Number of scenes saved by this run that lack a value which decides on other seeds. */
  #unjudged = 0;

  /** Returns the id of the seed to send after this settlement, or undefined. */
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
    return this.recorded((db) => ({ ...readSavedTotals(db).pictures, ...(unjudged > 0 && { unjudged }) }));
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

/** Scenes between two pauses. */
const pageScenes = 500;

/** Returns a function that judges a saved scene; undefined if the batch sends every seed. */
function judgeIn(batch: BatchIdentity | undefined): ReturnType<typeof judgeOf> | undefined {
  if (batch?.until === undefined) return undefined;
  const { until, axes = [], values } = batch;
  return judgeOf({ until, columns: [...resultColumns(batch), ...axes], ...(values && { values }) });
}

/** True if `deferSeeds` may have something to change. */
export function hasDeferredSeeds(db: Database): boolean {
  const isAny = "SELECT 1 FROM scenes WHERE state = 'unneeded' LIMIT 1";
  return readBatch(db)?.until !== undefined || db.prepare(isAny).get() !== undefined;
}

/**
 * Marks each seed as waiting or unneeded (`scenes.until`), judged by the recorded seeds before it. `due_at`
 * of
 * an unneeded seed is 1 if a seed before it is good, otherwise 0. Call in a transaction, after all other
 * changes. Pauses after each page. Returns how many seeds wait for a seed before them.
 */
export function* deferSeeds(db: Database): Generator<undefined, number> {
  if (!hasDeferredSeeds(db)) return 0;
  const isGood = judgeIn(readBatch(db));
  if (isGood === undefined) {
    db.exec("UPDATE scenes SET state = 'waiting', due_at = 0 WHERE state = 'unneeded'");
    return 0;
  }
  const page = db.prepare<
    [number],
    Pick<SceneRow, 'scene' | 'id' | 'state'> & { dueAt: number; position: number }
  >(
    `SELECT scene, id, state, due_at AS dueAt, position FROM scenes WHERE position > ? ORDER BY position LIMIT ${pageScenes}`,
  );
  const move = db.prepare<[object]>('UPDATE scenes SET state = @state, due_at = @dueAt WHERE scene = @scene');
  const readRendered = renderedReader(db);
  let row: SeedRow | undefined;
  let deferred = 0;
  for (let scenes = page.all(0); scenes.length > 0; scenes = page.all(scenes.at(-1)?.position ?? 0)) {
    for (const { scene, id, state, dueAt } of scenes) {
      const next = nextSeed(row, { id, state }, () => isGood(readRendered(scene)));
      const known = state === 'unneeded' ? 0 : dueAt;
      const wanted = next.state === 'unneeded' ? Number(!next.isDeferred) : known;
      if (next.state !== state || wanted !== dueAt) move.run({ scene, state: next.state, dueAt: wanted });
      if (next.isDeferred) deferred += 1;
      ({ row } = next);
    }
    yield;
  }
  return deferred;
}

/** Scenes per turn of the event loop. */
const scenesPerTurn = 500;

type SentRow = Pick<SceneRow, 'id' | 'input' | 'columns' | 'seed'>;

async function* readListedScenes(db: Database): AsyncGenerator<FoundScene> {
  const page = db.prepare<[number], SentRow & { sceneKey: number; isWaiting: 0 | 1 }>(`
    SELECT scene AS sceneKey, id, input, columns, seed, state IN ('waiting', 'unneeded') AS isWaiting FROM scenes
    WHERE scene > ? AND state <> 'withdrawn' ORDER BY scene LIMIT ${scenesPerTurn}`);
  for (let rows = page.all(0); rows.length > 0; rows = page.all(rows.at(-1)?.sceneKey ?? 0)) {
    for (const { isWaiting, sceneKey, ...row } of rows)
      yield { sceneKey, id: row.id, ...sentBy(row), isWaiting: isWaiting === 1 };
    await nextTurn();
  }
}

function readNextScenes(db: Database, max: number): SceneToName[] {
  return db
    .prepare<[number], SentRow>(
      "SELECT id, input, columns, seed FROM scenes WHERE state = 'waiting' ORDER BY due_at, position LIMIT ?",
    )
    .all(max)
    .map((row) => ({ id: row.id, ...sentBy(row) }));
}

/** Runs `deferSeeds` without pauses. */
export function deferSeedsNow(db: Database): void {
  for (const _ of deferSeeds(db));
}

function renderedReader(db: Database): (sceneKey: number) => Rendered {
  const read = db.prepare<
    [number],
    Pick<SceneRow, 'id' | 'columns' | 'input' | 'seed'> & { attempt: number }
  >(
    `SELECT s.id, s.columns, s.input, s.seed, a.attempt FROM scenes s JOIN attempts a USING (scene)
     WHERE scene = ? AND a.state = 'saved' ORDER BY a.number DESC LIMIT 1`,
  );
  const savedOf = savedReader(db);
  return (sceneKey) => {
    const row = read.get(sceneKey);
    if (row === undefined) return { id: null, columns: {}, input: null, saved: [] };
    const { pictures, files } = savedOf(row.attempt);
    return { id: row.id, ...sentBy(row), saved: [...pictures, ...files] };
  };
}

function readPartCounts(db: Database): SceneCounts {
  const rows = db
    .prepare<[], { state: SceneState; n: number }>(
      'SELECT state, count(*) AS n FROM temp.part JOIN scenes USING (scene) GROUP BY state',
    )
    .all();
  const counts = new Map(rows.map(({ state, n }) => [state, n]));
  return sceneCounts((state) => counts.get(state) ?? 0, 0);
}

/** Yields the pictures of saved scenes, and reads them only as they are requested. */
function* readPicturesOfSaved(db: Database): Generator<RecordedPicture> {
  try {
    for (const job of readSavedJobs(db)) if (job[0]?.sceneState === 'saved') yield* job;
  } catch (error) {
    throw asFatalFailure(error);
  }
}

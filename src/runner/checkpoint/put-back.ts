/** Puts failed and saved scenes back, so that they are rendered again, and gives up jobs in flight. */
import type { PutBack, PutBackChoice, WrongId } from '../core/retry-policy.ts';
import type { SceneState } from '../core/scene.ts';
import type { JsonValue } from '../../lib/text/json.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { deferSeedsNow } from './recorded-batch.ts';
import { seedText, storedJson, storedSeed } from './damage.ts';
import { forgetPictures } from './read-totals.ts';

/** A scene that is put back. */
export interface ChosenScene {
  id: string;
  /** Kind of its failure, `saved` or `given-up`. Empty if no kind is on record. */
  was: string;
}

/** Number of chosen scenes and jobs that were paid for or may have been, by outcome. */
export interface PaidBefore {
  saved: number;
  givenUp: number;
  expired: number;
  unanswered: number;
}

export interface PutBackSession {
  /** Counts what a choice would pay for again. All zero if an id is wrong. Changes nothing. */
  paidBefore(choice: PutBackChoice): PaidBefore;
  /** Returns the pictures of saved scenes that are rendered again, to set aside first. Empty if an id is wrong. */
  picturesOf(choice: PutBackChoice): string[];
  /** Puts all chosen scenes back or none. If an id is wrong, changes nothing and returns the wrong ids. */
  putBack(choice: PutBackChoice, at: number): PutBack | WrongId[];
  /** Returns the scenes of the latest `putBack`, in manifest order. `sendsSeed`: 1 if the input has a seed. */
  chosen(): Iterable<ChosenScene & { sendsSeed: 0 | 1 }>;
}

/** Call only while holding the batch's lock. */
export function putBackSession(db: Database): PutBackSession {
  db.exec('CREATE TEMP TABLE chosen (scene INTEGER PRIMARY KEY, was TEXT NOT NULL)');
  const chosen = db.prepare<[], ChosenScene & { sendsSeed: 0 | 1 }>(
    `SELECT s.id, c.was, coalesce(${sendsSeed}, 0) AS sendsSeed
     FROM temp.chosen c JOIN scenes s USING (scene) ORDER BY s.position`,
  );
  const wrongIds = (choice: PutBackChoice): WrongId[] => [
    ...choice.ids.flatMap((id) => wrongId(db, id, choice)),
    ...(choice.giveUp ?? []).flatMap((id) => nothingInFlight(db, id)),
  ];
  const pictures = db.prepare<[string], { file: string }>(
    `SELECT p.file FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene)
     WHERE s.state = 'saved' AND s.id IN (SELECT value FROM json_each(?))`,
  );
  return {
    paidBefore: (choice) => {
      const isWrong = wrongIds(choice).length > 0;
      return isWrong ? { saved: 0, givenUp: 0, expired: 0, unanswered: 0 } : countPaid(db, choice);
    },
    picturesOf: (choice) => {
      if (choice.isAgain !== true || wrongIds(choice).length > 0) return [];
      return pictures.all(JSON.stringify(choice.ids)).map(({ file }) => file);
    },
    putBack: (choice, at) => {
      const wrong = wrongIds(choice);
      return wrong.length > 0 ? wrong : db.transaction(() => change(db, choice, at)).immediate();
    },
    // The query starts when it is read, because an open statement keeps the file from being closed.
    chosen: function* () {
      yield* chosen.iterate();
    },
  };
}

function wrongId(db: Database, id: string, { isAgain, newSeed }: PutBackChoice): WrongId[] {
  const state = stateOf(db, id);
  if (state !== 'failed' && (state !== 'saved' || isAgain !== true)) return [{ id, state }];
  if (newSeed === undefined || seedOf(db, id) !== undefined) return [];
  return [{ id, state, isSeedless: true }];
}

/** SQL: the scene sends a seed. Null if its input has none. */
const sendsSeed = "json_type(input, '$.seed') IN ('integer', 'real', 'text')";

/** Returns the seed that the scene sends; undefined if its input has none. */
function seedOf(db: Database, id: string): JsonValue | undefined {
  const row = db
    .prepare<[string], { seed: string | null; own: string }>(
      `SELECT seed, input -> '$.seed' AS own FROM scenes
       WHERE id = ? AND state <> 'withdrawn' AND ${sendsSeed}`,
    )
    .get(id);
  const of = `scene ${id}`;
  return row && (storedSeed(row.seed, of) ?? (storedJson(row.own, of) as JsonValue));
}

function nothingInFlight(db: Database, id: string): WrongId[] {
  const open = db.prepare<[object]>(`SELECT 1 FROM attempts WHERE ${givenUp}`);
  const isOpen = open.get({ baseUrl: null, ids: JSON.stringify([id]) }) !== undefined;
  return isOpen ? [] : [{ id, state: stateOf(db, id), isGiveUp: true }];
}

function stateOf(db: Database, id: string): SceneState | 'unknown' {
  const states = db
    .prepare<[string], { state: SceneState }>('SELECT state FROM scenes WHERE id = ?')
    .all(id)
    .map(({ state }) => state);
  // An edited row leaves its earlier version behind under the same id.
  return states.find((each) => each !== 'withdrawn') ?? states[0] ?? 'unknown';
}

function countPaid(db: Database, choice: PutBackChoice): PaidBefore {
  choose(db, choice);
  const scenes = db.prepare<[string], { count: number }>(
    'SELECT count(*) AS count FROM temp.chosen WHERE was = ?',
  );
  const jobs = db.prepare<[object], { count: number }>(
    `SELECT count(*) AS count FROM attempts WHERE ${givenUp}`,
  );
  const countOf = (was: string): number => scenes.get(was)?.count ?? 0;
  return {
    saved: countOf('saved'),
    givenUp: jobs.get(whichGivenUp(choice))?.count ?? 0,
    expired: countOf('expired'),
    unanswered: countOf('unanswered'),
  };
}

function change(db: Database, choice: PutBackChoice, at: number): PutBack {
  choose(db, choice);
  const givenUp = giveUp(db, choice, at);
  const { changes } = db
    .prepare(
      `UPDATE scenes SET state = 'waiting', due_at = 0, deaths = 0, failure_kind = NULL, failure_text = NULL,
         counted_from = CASE WHEN state IN ('failed', 'saved') THEN attempts ELSE counted_from END
       WHERE scene IN (SELECT scene FROM temp.chosen)`,
    )
    .run();
  forgetPictures(
    db,
    "SELECT attempt FROM attempts WHERE scene IN (SELECT scene FROM temp.chosen WHERE was = 'saved')",
  );
  const { newSeed } = choice;
  if (newSeed !== undefined) for (const id of choice.ids) changeSeed(db, id, newSeed);
  deferSeedsNow(db);
  return { scenes: changes, givenUp };
}

/** Replaces the seed. A seed that was text stays text. */
function changeSeed(db: Database, id: string, newSeed: () => number): void {
  const earlier = seedOf(db, id);
  const seedFrom = (seed: number): JsonValue => (typeof earlier === 'string' ? String(seed) : seed);
  let seed = seedFrom(newSeed());
  while (seed === earlier) seed = seedFrom(newSeed());
  db.prepare<[string, string]>("UPDATE scenes SET seed = ? WHERE id = ? AND state <> 'withdrawn'").run(
    seedText(seed),
    id,
  );
}

function choose(db: Database, choice: PutBackChoice): void {
  const { kinds, ids, isAgain } = choice;
  db.exec('DELETE FROM temp.chosen');
  db.prepare<[object]>(
    `INSERT INTO temp.chosen SELECT scene, coalesce(failure_kind, iif(state = 'saved', 'saved', '')) FROM scenes
     WHERE @again AND state = 'saved' AND id IN (SELECT value FROM json_each(@ids)) OR state = 'failed'
       AND (@every OR failure_kind IN (SELECT value FROM json_each(@kinds)) OR id IN (SELECT value FROM json_each(@ids)))`,
  ).run({
    again: isAgain === true ? 1 : 0,
    every: kinds === 'every' ? 1 : 0,
    kinds: JSON.stringify(kinds === 'every' ? [] : kinds),
    ids: JSON.stringify(ids),
  });
  db.prepare<[object]>(
    `INSERT INTO temp.chosen SELECT scene, 'given-up' FROM scenes
     WHERE state = 'active' AND scene IN (SELECT scene FROM attempts WHERE ${givenUp})`,
  ).run(whichGivenUp(choice));
}

const givenUp = `state IN ('intended', 'submitted') AND (
  base_url <> 'local' AND base_url <> @baseUrl
  OR scene IN (SELECT scene FROM scenes WHERE id IN (SELECT value FROM json_each(@ids))))`;

function whichGivenUp({ notAt, giveUp: ids }: PutBackChoice): object {
  return { baseUrl: notAt ?? null, ids: JSON.stringify(ids ?? []) };
}

/** Settles the chosen attempts as given up, and returns their number. Intended attempts may have been sent, so they stay possibly billed. */
function giveUp(db: Database, choice: PutBackChoice, at: number): number {
  const { changes } = db
    .prepare<[object]>(
      `UPDATE attempts SET state = CASE state WHEN 'submitted' THEN 'expired' ELSE 'unanswered' END, settled_at = @at,
         failure_kind = 'given-up', failure_text = 'given up while in flight at ' || base_url || ': it may have been billed'
       WHERE ${givenUp}`,
    )
    .run({ ...whichGivenUp(choice), at });
  return changes;
}

/** The tables of `checkpoint.sqlite`, documented in `help/operators.md` for people who read them with `sqlite3`. */
import { attemptMoves } from '../core/attempt.ts';
import type { SceneState } from '../core/scene.ts';
import type { Schema } from '../../lib/sqlite/database.ts';

const words = (table: object): string =>
  Object.keys(table)
    .map((word) => `'${word}'`)
    .join(', ');

/** States of the first version. The text of a migration never changes. */
const firstStates = "'waiting', 'active', 'saved', 'failed', 'withdrawn'";

/** Doubles quotation marks, for use within an SQL string. */
const quotes = (text: string): string => text.replaceAll("'", "''");

const first = `
CREATE TABLE batch (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE TABLE runs (
  run        INTEGER PRIMARY KEY,
  pid        INTEGER NOT NULL,
  host       TEXT NOT NULL,
  program    TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  exit_code  INTEGER,
  ending     TEXT
) STRICT;

CREATE TABLE scenes (
  scene        INTEGER PRIMARY KEY,
  id           TEXT NOT NULL,
  fingerprint  TEXT NOT NULL,
  position     INTEGER,
  source       TEXT NOT NULL,
  input        TEXT NOT NULL,
  columns      TEXT NOT NULL,
  state        TEXT NOT NULL CHECK (state IN (${firstStates})),
  due_at       INTEGER NOT NULL DEFAULT 0,
  attempts     INTEGER NOT NULL DEFAULT 0,
  failure_kind TEXT,
  failure_text TEXT,
  UNIQUE (id, fingerprint)
) STRICT;
CREATE INDEX scenes_by_state ON scenes (state, due_at, position);
CREATE INDEX scenes_by_position ON scenes (position) WHERE position IS NOT NULL;

CREATE TABLE attempts (
  attempt           INTEGER PRIMARY KEY,
  scene             INTEGER NOT NULL REFERENCES scenes (scene),
  number            INTEGER NOT NULL,
  run               INTEGER NOT NULL REFERENCES runs (run),
  state             TEXT NOT NULL CHECK (state IN (${words(attemptMoves)})),
  base_url          TEXT NOT NULL,
  endpoint_id       TEXT NOT NULL,
  version           TEXT NOT NULL,
  job_id            TEXT,
  status            TEXT,
  intended_at       INTEGER NOT NULL,
  submitted_at      INTEGER,
  executing_at      INTEGER,
  completed_at      INTEGER,
  settled_at        INTEGER,
  delay_time_ms     INTEGER,
  execution_time_ms INTEGER,
  polls             INTEGER NOT NULL DEFAULT 0,
  failure_kind      TEXT,
  failure_text      TEXT,
  UNIQUE (scene, number)
) STRICT;
CREATE INDEX attempts_open ON attempts (submitted_at) WHERE state IN ('intended', 'submitted');
CREATE INDEX attempts_by_job ON attempts (job_id) WHERE job_id IS NOT NULL;
CREATE INDEX attempts_by_state ON attempts (state, failure_kind);

CREATE TABLE pictures (
  picture  INTEGER PRIMARY KEY,
  attempt  INTEGER NOT NULL REFERENCES attempts (attempt),
  number   INTEGER NOT NULL,
  name     TEXT NOT NULL,
  file     TEXT NOT NULL,
  file_key TEXT NOT NULL UNIQUE,
  move_to  TEXT,
  width    INTEGER NOT NULL,
  height   INTEGER NOT NULL,
  bytes    INTEGER NOT NULL,
  sha256   TEXT NOT NULL,
  seed     TEXT,
  UNIQUE (attempt, number)
) STRICT;
CREATE INDEX pictures_to_move ON pictures (picture) WHERE move_to IS NOT NULL;
CREATE INDEX pictures_moved ON pictures (picture) WHERE file <> name;

CREATE TABLE bad_rows (
  position INTEGER PRIMARY KEY,
  source   TEXT NOT NULL,
  id       TEXT,
  problem  TEXT NOT NULL
) STRICT;
`;

/**
 * - `deaths`: crashes of the program while it worked on the scene; `died_in`: the run of the last of them
 * - `counted_from`: attempts up to this number no longer count, because a person put the scene back
 * - `failure_digest`: sha256 of what came instead of a good picture
 */
const second = `
ALTER TABLE scenes ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;
ALTER TABLE scenes ADD COLUMN died_in INTEGER;
ALTER TABLE scenes ADD COLUMN counted_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN failure_digest TEXT;
CREATE INDEX scenes_suspected ON scenes (scene) WHERE deaths > 0;
`;

/** `writing`: JSON of the settlement to come, from before the pictures are written until the attempt is settled. */
const third = `
ALTER TABLE attempts ADD COLUMN writing TEXT;
CREATE INDEX attempts_writing ON attempts (attempt) WHERE writing IS NOT NULL;
`;

/** `stats`: JSON of the run's statistics, written when it ends. */
const fourth = `
ALTER TABLE runs ADD COLUMN stats TEXT;
`;

/**
 * - `commits`: one row; `number` counts the groups of commits; `lost_submissions` counts submissions whose
 *   record was lost with a part of the write-ahead log, which a person accepted
 * - `attempts.checksum`: covers the scene, its fingerprint, the endpoint and the job id; null in rows of
 *   earlier versions
 * - `runs.boot`, `runs.process_started`: distinguish the process of a run from a later one with the same pid
 * - `scenes.seed`: JSON and checksum of a seed that a person asked for, sent instead of the input's own
 */
const fifth = `
CREATE TABLE commits (number INTEGER NOT NULL, lost_submissions INTEGER NOT NULL) STRICT;
INSERT INTO commits VALUES (0, 0);
ALTER TABLE attempts ADD COLUMN checksum TEXT;
ALTER TABLE runs ADD COLUMN boot TEXT;
ALTER TABLE runs ADD COLUMN process_started TEXT;
ALTER TABLE scenes ADD COLUMN seed TEXT;
`;

/**
 * - `commits.unused_keys`: number of attempt keys below the highest without a row, such as rows that a repair
 *   could not read
 */
const sixth = 'ALTER TABLE commits ADD COLUMN unused_keys INTEGER NOT NULL DEFAULT 0';

/**
 * - `runs.idempotency_key`: beginning of the `Idempotency-Key` of each submission, before the attempt's own
 *   key; random, so that no copy of the folder and no restored checkpoint repeats one
 * - `runs.idempotency_ms`: how long the service said it remembers a key; null if it did not say
 */
const seventh = `
ALTER TABLE runs ADD COLUMN idempotency_key TEXT;
ALTER TABLE runs ADD COLUMN idempotency_ms INTEGER;
`;

/**
 * - `pictures.label`: key in `output.files` of a file besides the pictures; null for a picture
 */
const eighth = `
ALTER TABLE pictures ADD COLUMN label TEXT;
CREATE INDEX pictures_labelled ON pictures (label, number) WHERE label IS NOT NULL;
`;

/**
 * - `runs.rules`: version of `SceneRules` by which the run read its list, as in `batch`; a program that does
 *   not know these rules would make other scenes of the list
 */
const ninth = 'ALTER TABLE runs ADD COLUMN rules INTEGER';

/**
 * - `pictures.output`: JSON of what else the job's output says about the picture (`PictureOutput`); null if
 *   nothing
 */
const tenth = 'ALTER TABLE pictures ADD COLUMN output TEXT';

/**
 * Adds the scene state `unneeded`. SQLite cannot change the constraint of a column, so this edits the text of
 * the table and writes no row (https://www.sqlite.org/lang_altertable.html#otheralter). Creating and dropping
 * an index makes other connections read the text again.
 */
const eleventh = `
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'state IN (${quotes(firstStates)})', 'state IN (${quotes(firstStates)}, ''unneeded'')')
  WHERE type = 'table' AND name = 'scenes';
PRAGMA writable_schema = RESET;
CREATE INDEX read_anew ON commits (number);
DROP INDEX read_anew;
`;

/**
 * - `attempts.kept`: JSON from the service's acceptance that is needed to ask for the job; null if its id is
 *   enough
 */
const twelfth = 'ALTER TABLE attempts ADD COLUMN kept TEXT';

/**
 * - `attempts.cost`: price of the job as its service stated it; null if it stated none
 * - `attempts.cost_from`: path where the run looked for the price (`pricing.at`); null if it did not look
 */
const thirteenth = `
ALTER TABLE attempts ADD COLUMN cost REAL;
ALTER TABLE attempts ADD COLUMN cost_from TEXT;
`;

export interface SceneRow {
  scene: number;
  id: string;
  fingerprint: string;
  /** Null if the scene is withdrawn. */
  position: number | null;
  source: string;
  /** JSON. */
  input: string;
  /** JSON. */
  columns: string;
  state: SceneState;
  due_at: number;
  attempts: number;
  failure_kind: string | null;
  failure_text: string | null;
  deaths: number;
  died_in: number | null;
  counted_from: number;
  seed: string | null;
}

/** Tables and their keys. A table comes after the tables that it refers to. */
export const tables = {
  batch: 'name',
  bad_rows: 'position',
  runs: 'run',
  scenes: 'scene',
  attempts: 'attempt',
  pictures: 'picture',
} as const;

export type Table = keyof typeof tables;

export const tableNames = Object.keys(tables) as Table[];

export const checkpointSchema: Schema = {
  applicationId: 0x6e526370,
  migrations: [
    first,
    second,
    third,
    fourth,
    fifth,
    sixth,
    seventh,
    eighth,
    ninth,
    tenth,
    eleventh,
    twelfth,
    thirteenth,
  ],
  onlyAdds: true,
  advice: 'Put a copy of it back, or repair it with `nightrender verify <pipeline> --repair`',
};

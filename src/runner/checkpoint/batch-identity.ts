/** The identity of a batch as its checkpoint records it, for readers that have no pipeline.yaml. */
import type { Database } from '../../lib/sqlite/database.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';
import type { Endpoint } from '../core/attempt.ts';
import { ConditionError, type sceneNames } from '../core/condition.ts';
import type { DefaultNames } from '../core/naming.ts';
import type { NamedFile } from '../core/picture.ts';
import type { RepeatedRows } from '../core/batch-plan.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import { newestRules, type RulesVersion } from '../core/scene.ts';
import { type Facts, type NamedValue, sceneFacts, SceneValues } from '../core/seeds-until.ts';
import type { Pricing } from '../core/spending.ts';
import { storedJson } from './damage.ts';
import { readCounts } from './read-totals.ts';

export interface BatchIdentity {
  manifest: string[];
  /** Absolute paths of the lists, or `-` for standard input. Absent if the lists are those of pipeline.yaml. */
  lists?: string[];
  endpoint: Endpoint;
  /** Columns of the manifest in order, then those of earlier manifests. */
  columns: string[];
  /** Columns that `scenes` adds, in order, with seed numbers instead of seeds. Absent if there are none. */
  axes?: string[];
  /** Version of the rules that turn rows into scenes. Earlier programs recorded `seedBits` or nothing. */
  rules?: RulesVersion;
  pricing?: Pricing;
  /** Absolute path of the pipeline.yaml of the stage before. Absent if there is none. */
  stage?: string;
  /** Absolute path of the pipeline.yaml. Earlier programs did not record it. */
  pipeline?: string;
  /** Default names of pictures, used if `output.name` is not set. Earlier programs used the id. */
  names?: DefaultNames;
  /** Files that each scene has besides pictures. Absent if none are configured. */
  files?: RecordedFile[];
  /** Values that are kept from each job's output. Absent if none are configured. */
  values?: NamedValue[];
  /** Condition after which a row needs no further seed (`scenes.until`). Absent if every seed is rendered. */
  until?: string;
  /** Bucket that holds the pictures. Absent if they are in the output folder. */
  pictures?: PicturesInBucket;
  /** Token of the batch's mark in every bucket that holds or held its pictures. */
  picturesToken?: string;
  /** Absolute path of the output folder. Absent if it is the one of pipeline.yaml. */
  output?: string;
  /** True from a rename of pictures until the report is written: the next run must not keep the old report. */
  isRenamed?: boolean;
}

/** `isLater`: the file was configured after the batch began, so scenes may have been saved without it. */
type RecordedFile = NamedFile & { isLater?: true };

export interface PicturesInBucket {
  /** `s3://bucket/folder/` */
  url: string;
  /** Id of the batch in this bucket, generated when it began there. The mark in the bucket contains it too. */
  batch: string;
}

/**
 * Records the identity of the batch. Returns true if it changed. The batch keeps the default names that it
 * began with, and columns of earlier manifests, for withdrawn scenes. If columns are added or reordered, the
 * compared list is forgotten, so the next start reads the list again.
 */
export function rememberBatch(db: Database, batch: BatchIdentity): boolean {
  const known = readBatch(db);
  const value = recordOf(batch, known);
  if (value === JSON.stringify(known)) return false;
  const { columns } = JSON.parse(value) as BatchIdentity;
  if (JSON.stringify(columns) !== JSON.stringify(known?.columns ?? [])) forgetComparedList(db);
  db.prepare("INSERT OR REPLACE INTO batch VALUES ('batch', ?)").run(value);
  return true;
}

export function wouldChangeBatch(db: Database, batch: BatchIdentity): boolean {
  const known = readBatch(db);
  return recordOf(batch, known) !== JSON.stringify(known);
}

function recordOf(batch: BatchIdentity, known: BatchIdentity | undefined): string {
  const names = known === undefined ? batch.names : (known.names ?? 'id');
  const columns = [...new Set([...batch.columns, ...(known?.columns ?? [])])];
  const picturesToken = batch.pictures?.batch ?? known?.picturesToken;
  const files = batch.files?.map((file) => recordedFile(file, known));
  return JSON.stringify({ ...batch, columns, names, picturesToken, files });
}

function recordedFile({ label, kind }: NamedFile, known: BatchIdentity | undefined): RecordedFile {
  const before = known?.files?.find((file) => file.label === label && file.kind === kind);
  return before ?? { label, kind, ...(known !== undefined && { isLater: true }) };
}

/** Records the bucket that holds the pictures from now on; undefined for the output folder. */
export function recordPicturesPlace(db: Database, pictures: PicturesInBucket | undefined): void {
  const known = readBatch(db);
  const picturesToken = pictures?.batch ?? known?.picturesToken;
  const value = JSON.stringify({ ...known, pictures, picturesToken });
  db.prepare("UPDATE batch SET value = ? WHERE name = 'batch'").run(value);
}

/** Returns undefined if a run crashed before it recorded the identity. */
export function readBatch(db: Database): BatchIdentity | undefined {
  const row = db.prepare<[], { value: string }>("SELECT value FROM batch WHERE name = 'batch'").get();
  return row === undefined ? undefined : (storedJson(row.value, 'the batch') as BatchIdentity);
}

/** True if every attempt has its own file names, as in a bucket: no picture is ever renamed because of another. */
export function isNamedByAttempt(db: Database): boolean {
  return readBatch(db)?.pictures !== undefined;
}

/** Returns when the first run began (epoch ms), which no other batch shares. Null before the first run. */
export function readBegunAt(db: Database): number | null {
  return db.prepare<[], number | null>('SELECT min(started_at) FROM runs').pluck().get() ?? null;
}

/** Returns the rules by which this batch reads its lists. Other rules would make other, paid scenes. */
export function rulesOf(db: Database): RulesVersion {
  const known: (BatchIdentity & { seedBits?: 31 | 32 }) | undefined = readBatch(db);
  const told = known === undefined ? rulesOfRuns(db) : known.rules;
  if (told !== undefined) return told;
  if (known === undefined && db.prepare('SELECT 1 FROM scenes LIMIT 1').get() === undefined)
    return newestRules;
  // A seed below 2^31 is the same in both ranges.
  const isLarge = "SELECT 1 FROM scenes WHERE CAST(columns ->> '$.seed' AS INTEGER) >= 2147483648 LIMIT 1";
  const seedBits = known?.seedBits ?? (db.prepare(isLarge).get() === undefined ? 31 : 32);
  return seedBits === 31 ? 2 : 1;
}

/** Returns the rules that the runs recorded, used if the batch's record is lost; undefined if there are none. */
function rulesOfRuns(db: Database): RulesVersion | undefined {
  const latest = db.prepare<[], { rules: RulesVersion | null }>('SELECT max(rules) AS rules FROM runs').get();
  return latest?.rules ?? undefined;
}

/** Returns the columns of the results: those of the lists, then the kept values, which win. */
export function resultColumns(batch: BatchIdentity | undefined): string[] {
  const { columns = [], values = [] } = batch ?? {};
  return [...new Set([...columns, ...values.map(({ name }) => name)])];
}

export interface ComparedList {
  digest: string;
  scenes: number;
  repeated?: RepeatedRows;
}

/** Returns the list that the batch was last compared with. Undefined if it is unknown or if scenes of it are missing. */
export function readComparedList(db: Database): ComparedList | undefined {
  const row = db.prepare<[], { value: string }>("SELECT value FROM batch WHERE name = 'compared'").get();
  if (row === undefined) return undefined;
  const compared = storedJson(row.value, 'the batch') as ComparedList;
  return listedScenes(db) === compared.scenes ? compared : undefined;
}

/** Returns how many scenes are in the list as it was last compared. */
export function listedScenes(db: Database): number {
  const { waiting, active, saved, failed, unneeded = 0 } = readCounts(db);
  return waiting + active + saved + failed + unneeded;
}

/** Records the list that the batch was compared with. Call in the transaction of the comparison. */
export function rememberComparedList(
  db: Database,
  digest: string | undefined,
  list: Omit<ComparedList, 'digest'>,
): void {
  forgetComparedList(db);
  if (digest === undefined) return;
  const compared: ComparedList = { digest, ...list };
  db.prepare("INSERT INTO batch VALUES ('compared', ?)").run(JSON.stringify(compared));
}

export function forgetComparedList(db: Database): void {
  db.exec("DELETE FROM batch WHERE name = 'compared'");
}

/** Returns an identifier of the settings with which a picture was last saved; undefined if none was saved. */
export function readFoundWith(db: Database): string | undefined {
  const value = db.prepare<[], string>("SELECT value FROM batch WHERE name = 'found'").pluck().get();
  return value === undefined ? undefined : (storedJson(value, 'the batch') as { with: string }).with;
}

export function rememberFoundWith(db: Database, settings: string): void {
  db.prepare("INSERT OR REPLACE INTO batch VALUES ('found', ?)").run(foundValue(settings));
}

export function foundValue(settings: string): string {
  return JSON.stringify({ with: settings });
}

const facts: Record<(typeof sceneNames)[number], Facts<SceneRecord>[string]> = {
  ...sceneFacts,
  state: ({ state }) => state,
  kind: ({ failureKind }) => failureKind,
  attempts: ({ attempts }) => attempts,
};

export type RowValues = SceneValues<SceneRecord>;

/** Returns the values that conditions may use on the rows of a batch. */
export function rowValues(batch: BatchIdentity | undefined): RowValues {
  return new SceneValues([...resultColumns(batch), ...(batch?.axes ?? [])], facts);
}

/** Parses a condition. `place` says where the text is, for messages. Throws `ConfigError`. */
export function rowCondition(
  values: RowValues,
  text: string,
  place: string,
): (row: SceneRecord) => boolean | undefined {
  try {
    return values.condition(text);
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    throw new ConfigError([{ where: place, text: error.message }]);
  }
}

/** What a batch is, kept in its checkpoint for those who have nothing else. */
import type { Endpoint } from '../core/attempt.ts';
import type { DefaultNames } from '../core/default-name.ts';
import type { NamedFile } from '../core/named-file.ts';
import type { NamedValue } from '../core/output-value.ts';
import type { RepeatedRows } from '../core/plan.ts';
import { newestRules, type RulesVersion } from '../core/scene-rules.ts';
import type { Pricing } from '../core/spending.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import { storedJson } from './damage.ts';
import { readCounts } from './read-totals.ts';

export interface BatchIdentity {
  manifest: string[];
  /** Those as absolute paths, or `-`, where they are not the ones of pipeline.yaml. */
  lists?: string[];
  endpoint: Endpoint;
  /** The manifest's own columns, in order. */
  columns: string[];
  /** Those that `scenes` adds, in order, with the number of a seed instead of the seed; absent where there are none. */
  axes?: string[];
  /** By which its lists are read; earlier versions kept `seedBits` or nothing. */
  rules?: RulesVersion;
  pricing?: Pricing;
  /** Of a stage: the pipeline.yaml of the batch before it, as an absolute path. */
  stage?: string;
  /** The pipeline.yaml, as an absolute path; earlier versions did not keep it. */
  pipeline?: string;
  /** Of pictures, where `output.name` is not set; earlier versions named them by id and did not keep it. */
  names?: DefaultNames;
  /** What each scene has besides pictures; absent where nothing is asked for. */
  files?: RecordedFile[];
  /** What is kept of each job's output besides; absent where nothing is asked for. */
  values?: NamedValue[];
  /** By which a seed of a row is the last one that is needed (`scenes.until`); absent where every seed is. */
  until?: string;
  /** Where the pictures are, unless they are in the output folder. */
  pictures?: PicturesInBucket;
  /** That of the mark in buckets where its pictures are, or were. */
  picturesToken?: string;
  /** The output folder, as an absolute path, where it is not the one of pipeline.yaml. */
  output?: string;
}

/** `isLater`: scenes may have been saved before it was asked for. */
export type RecordedFile = NamedFile & { isLater?: true };

export interface PicturesInBucket {
  /** `s3://bucket/folder/` */
  url: string;
  /** Made up when the batch began there; the mark in the bucket has it too. */
  batch: string;
}

/**
 * A batch keeps the names that it began with. Columns of earlier manifests are kept, for the scenes that were withdrawn. Where others come to them or their order
 * changes, the batch has yet to be compared with their list, and the next start reads it again. Returns whether anything has changed.
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

/** Whether `rememberBatch` would change anything. */
export function isOther(db: Database, batch: BatchIdentity): boolean {
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

/** Where its pictures are from now on; undefined for the output folder. */
export function recordPicturesPlace(db: Database, pictures: PicturesInBucket | undefined): void {
  const known = readBatch(db);
  const picturesToken = pictures?.batch ?? known?.picturesToken;
  const value = JSON.stringify({ ...known, pictures, picturesToken });
  db.prepare("UPDATE batch SET value = ? WHERE name = 'batch'").run(value);
}

/** Undefined where a run died before it had written that. */
export function readBatch(db: Database): BatchIdentity | undefined {
  const row = db.prepare<[], { value: string }>("SELECT value FROM batch WHERE name = 'batch'").get();
  return row === undefined ? undefined : (storedJson(row.value, 'the batch') as BatchIdentity);
}

/** When its first run began, which no other batch has; null where none has. Epoch ms. */
export function readBegunAt(db: Database): number | null {
  return db.prepare<[], number | null>('SELECT min(started_at) FROM runs').pluck().get() ?? null;
}

/** Others would make other scenes of its rows, and have them paid again. */
export function rulesOf(db: Database): RulesVersion {
  const known: (BatchIdentity & { seedBits?: 31 | 32 }) | undefined = readBatch(db);
  const told = known === undefined ? rulesOfRuns(db) : known.rules;
  if (told !== undefined) return told;
  if (known === undefined && db.prepare('SELECT 1 FROM scenes LIMIT 1').get() === undefined)
    return newestRules;
  // A seed of 31 bits is the same in both ranges.
  const isLarge = "SELECT 1 FROM scenes WHERE CAST(columns ->> '$.seed' AS INTEGER) >= 2147483648 LIMIT 1";
  const seedBits = known?.seedBits ?? (db.prepare(isLarge).get() === undefined ? 31 : 32);
  return seedBits === 31 ? 2 : 1;
}

/** Where damage has cost the batch's own record; undefined where no run has begun, or only of earlier versions. */
function rulesOfRuns(db: Database): RulesVersion | undefined {
  const latest = db.prepare<[], { rules: RulesVersion | null }>('SELECT max(rules) AS rules FROM runs').get();
  return latest?.rules ?? undefined;
}

/** The columns of its results: those of its lists, in order, and its values, which go before columns of their names. */
export function resultColumns(batch: BatchIdentity | undefined): string[] {
  const { columns = [], values = [] } = batch ?? {};
  return [...new Set([...columns, ...values.map(({ name }) => name)])];
}

export interface ComparedList {
  digest: string;
  /** How many of its rows are scenes. */
  scenes: number;
  repeated?: RepeatedRows;
}

/** Undefined where it is unknown, and where scenes of that list are missing. */
export function readComparedList(db: Database): ComparedList | undefined {
  const row = db.prepare<[], { value: string }>("SELECT value FROM batch WHERE name = 'compared'").get();
  if (row === undefined) return undefined;
  const compared = storedJson(row.value, 'the batch') as ComparedList;
  return listedScenes(db) === compared.scenes ? compared : undefined;
}

/** How many scenes of the batch are in its list, as far as that was compared. */
export function listedScenes(db: Database): number {
  const { waiting, active, saved, failed, unneeded = 0 } = readCounts(db);
  return waiting + active + saved + failed + unneeded;
}

/** In the transaction of the comparison. */
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

/** Identifies the settings with which a picture of the batch was saved last; undefined if none was. */
export function readFoundWith(db: Database): string | undefined {
  const value = db.prepare<[], string>("SELECT value FROM batch WHERE name = 'found'").pluck().get();
  return value === undefined ? undefined : (storedJson(value, 'the batch') as { with: string }).with;
}

export function rememberFoundWith(db: Database, settings: string): void {
  db.prepare("INSERT OR REPLACE INTO batch VALUES ('found', ?)").run(foundValue(settings));
}

/** Value of the row 'found'. */
export function foundValue(settings: string): string {
  return JSON.stringify({ with: settings });
}

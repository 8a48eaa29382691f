/** A scene: one wanted picture, its identity and states, and the rules that make scenes of rows. */
import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

export interface Scene {
  /** Stable name of the row: its `id` column, else `sceneIdOf` its fingerprint. Not empty. */
  id: string;
  /** `fingerprintOf(input)`. A row whose input was edited is another scene with the same id. */
  fingerprint: string;
  input: JsonObject;
  /** All columns of the row, as read. */
  columns: JsonObject;
  /** 1 for the first row of the manifest, valid or not. */
  position: number;
  /** Position of the row for people: `jobs/scenes.csv:17`. */
  source: string;
}

/** A scene as stored on disk. Input and columns are JSON texts, which are passed on without parsing. */
export type ListedScene = Omit<Scene, 'input' | 'columns'> & Record<'input' | 'columns', string>;

/** A row that cannot be rendered, with the reason. */
export interface BadRow {
  position: number;
  source: string;
  id?: string;
  problem: string;
}

/**
 * States of a scene and the moves between them.
 *
 * - `waiting`: to be submitted, now or at a later time
 * - `unneeded`: a seed that is sent only if earlier seeds fall short (`scenes.until`), which they have not
 * - `active`: has a recorded attempt that is not settled yet
 * - `saved`: its pictures are on disk under their final names
 * - `failed`: given up, with a reason
 * - `withdrawn`: no longer in the manifest; jobs in flight for it are still collected
 *
 * If the row of a withdrawn scene comes back, the scene takes the state of its attempts (`stateAfter`).
 */
export const sceneMoves = {
  waiting: ['active', 'unneeded', 'withdrawn'],
  // `active` if its picture is adopted (`--adopt`), or if the checkpoint had lost its submission.
  unneeded: ['waiting', 'active', 'withdrawn'],
  active: ['saved', 'failed', 'waiting', 'withdrawn'],
  saved: ['waiting', 'withdrawn'],
  failed: ['waiting', 'withdrawn'],
  withdrawn: ['waiting', 'active', 'saved', 'failed'],
} as const satisfies Record<string, readonly string[]>;

export type SceneState = keyof typeof sceneMoves;

export type SceneCounts = Record<Exclude<SceneState, 'unneeded'>, number> & {
  unneeded?: number;
  /** Invalid rows of the manifest that the user has allowed to skip. */
  invalid: number;
};

/** Returns 32 hex characters that identify an input, independent of the order of its keys. */
export function fingerprintOf(input: JsonObject): string {
  return hash('sha256', canonicalJson(input)).slice(0, 32);
}

/** Returns the input to send. `seed` is a seed that a user has requested instead of the input's own. */
export function sentInput(input: JsonObject, seed: JsonValue | undefined): JsonObject {
  return seed === undefined ? input : { ...input, seed };
}

export function sentColumns(columns: JsonObject, seed: JsonValue | undefined): JsonObject {
  return 'seed' in columns ? sentInput(columns, seed) : columns;
}

/** Returns the id of a row without an `id` column: 12 characters of its fingerprint. The nth equal row gets `-n`. */
export function sceneIdOf(fingerprint: string, occurrence: number): string {
  const short = fingerprint.slice(0, 12);
  return occurrence === 1 ? short : `${short}-${occurrence}`;
}

/** Returns the suffix for the file name of a picture whose row was edited, so that old and new picture both stay. */
export function replacedSuffix(fingerprint: string): string {
  return `.replaced-${fingerprint.slice(0, 8)}`;
}

/** Rules that turn rows into scenes. A batch keeps its rules, because others would make new scenes of paid rows. */
export interface SceneRules {
  /** Seeds are below 2 to the power of this number: many renderers read a seed as a signed 32-bit integer. */
  seedBits: 31 | 32;
  /** Source of the seeds. With `row`, a row has the same seeds for every value of every axis. */
  seedsOf: 'scene' | 'row';
  /** True if white space at the ends of lines in a .txt file is removed. */
  trimsLines: boolean;
  /** True if lists may come from spreadsheet programs: semicolons, tabs, empty values beyond the header. */
  readsSpreadsheets: boolean;
  /** True if a column `ID`, `Id` or the like is the id column when none is called `id`. */
  findsIds: boolean;
  /** True if a list of which nothing is sent is rejected, even if bad rows are skipped. */
  asksForPrompt: boolean;
  /** True if a list with columns `scene` and `prompt` is rejected until `input` chooses; else `scene` is sent. */
  asksWhichIsSent: boolean;
  /** True if rows of several lists get a column `source` with the name of their list. */
  addsSource: boolean;
}

const before4 = {
  readsSpreadsheets: false,
  findsIds: false,
  asksForPrompt: false,
  asksWhichIsSent: false,
  addsSource: false,
};

/** Rules by version. A change of a rule makes a new version. */
export const sceneRules = {
  1: { seedBits: 32, seedsOf: 'scene', trimsLines: false, ...before4 },
  2: { seedBits: 31, seedsOf: 'scene', trimsLines: false, ...before4 },
  3: { seedBits: 31, seedsOf: 'row', trimsLines: true, ...before4 },
  4: {
    seedBits: 31,
    seedsOf: 'row',
    trimsLines: true,
    readsSpreadsheets: true,
    findsIds: true,
    asksForPrompt: true,
    asksWhichIsSent: true,
    addsSource: true,
  },
} as const satisfies Record<number, SceneRules>;

export type RulesVersion = keyof typeof sceneRules;

export const newestRules = 4 satisfies RulesVersion;

/** Version for files of earlier releases, which did not record a version. */
const unsaidRules = 2 satisfies RulesVersion;

/** Reads the version from a file. Undefined if a newer release wrote the file. */
export function readRulesVersion(value: unknown): RulesVersion | undefined {
  if (value === undefined) return unsaidRules;
  return typeof value === 'number' && value in sceneRules ? (value as RulesVersion) : undefined;
}

/** Part of a batch for a preview, spread over the whole list. The smaller limit counts. */
export interface Part {
  /** Share of all scenes of the manifest, above 0 and at most 1. */
  share?: number;
  limit?: number;
}

export interface PartRecord extends Part {
  scenes: number;
}

export function formatPart({ share, limit }: Part): string {
  const shown = share === undefined ? [] : `--sample ${Number((share * 100).toPrecision(12))}%`;
  return [shown, limit === undefined ? [] : `--limit ${limit}`].flat().join(' ');
}

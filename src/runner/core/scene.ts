/** A scene: one requested picture, identified by its id and the fingerprint of its input, with its states. */
import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** One valid row of a manifest, ready to be submitted. */
export interface Scene {
  /** Stable name of the row: its `id` column, else `sceneIdOf` its fingerprint. Not empty. */
  id: string;
  /** `fingerprintOf(input)`. A row whose input was edited is another scene with the same id. */
  fingerprint: string;
  /** Sent as `input`. Never empty. */
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
  /** Id of the row, if it could be read. */
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
  /** Absent if there are none. */
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

/** Returns the columns of the row with the seed that was sent. */
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

/** A scene: one wanted picture, known by its id and the fingerprint of what it sends, and the states it can be in. */
import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject, type JsonValue } from '../../lib/text/json.ts';

/** One good row of a manifest, ready to be submitted. */
export interface Scene {
  /** Stable name of the row: its `id` column, else `sceneIdOf` its fingerprint. Not empty. */
  id: string;
  /** `fingerprintOf(input)`; a row whose input was edited is another scene under the same id. */
  fingerprint: string;
  /** What is sent as `input`; never empty. */
  input: JsonObject;
  /** Every column of the row, as read. */
  columns: JsonObject;
  /** 1 for the manifest's first row, good or bad. */
  position: number;
  /** Where the row stands, for people: `jobs/scenes.csv:17`. */
  source: string;
}

/** A scene as it is kept on disk: input and columns are JSON that is not parsed on the way. */
export type ListedScene = Omit<Scene, 'input' | 'columns'> & Record<'input' | 'columns', string>;

/** A row that cannot be rendered, with the reason, in words. */
export interface BadRow {
  position: number;
  source: string;
  /** The row's id where it could be read. */
  id?: string;
  problem: string;
}

/**
 * The states of a scene and the moves between them.
 *
 * - `waiting`: to be submitted, at once or at a later instant
 * - `unneeded`: a seed that is sent only where those before it fall short (`scenes.until`), as they did not so far
 * - `active`: an attempt of it is recorded and not yet settled
 * - `saved`: its pictures are on disk under their final names
 * - `failed`: given up, with a reason
 * - `withdrawn`: no longer in the manifest; what is in flight for it is still collected
 *
 * A withdrawn scene whose row comes back takes the state of its attempts (`stateAfter`).
 */
export const sceneMoves = {
  waiting: ['active', 'unneeded', 'withdrawn'],
  // Its picture is taken over (`--adopt`), or the checkpoint had lost that it was sent.
  unneeded: ['waiting', 'active', 'withdrawn'],
  active: ['saved', 'failed', 'waiting', 'withdrawn'],
  saved: ['waiting', 'withdrawn'],
  failed: ['waiting', 'withdrawn'],
  withdrawn: ['waiting', 'active', 'saved', 'failed'],
} as const satisfies Record<string, readonly string[]>;

export type SceneState = keyof typeof sceneMoves;

/** How many scenes are in which state. */
export type SceneCounts = Record<Exclude<SceneState, 'unneeded'>, number> & {
  /** Absent where there are none. */
  unneeded?: number;
  /** Bad rows of the manifest that were skipped on the user's word. */
  invalid: number;
};

/** 32 hex characters that identify an input, whatever the order of its keys. */
export function fingerprintOf(input: JsonObject): string {
  return hash('sha256', canonicalJson(input)).slice(0, 32);
}

/** What is sent; `seed` is the one that a person asked for instead of the input's own. */
export function sentInput(input: JsonObject, seed: JsonValue | undefined): JsonObject {
  return seed === undefined ? input : { ...input, seed };
}

/** As the row says it, with the seed that was sent. */
export function sentColumns(columns: JsonObject, seed: JsonValue | undefined): JsonObject {
  return 'seed' in columns ? sentInput(columns, seed) : columns;
}

/** The id of a row that has no `id` column: 12 characters of its fingerprint; the nth equal row gets `-n`. */
export function sceneIdOf(fingerprint: string, occurrence: number): string {
  const short = fingerprint.slice(0, 12);
  return occurrence === 1 ? short : `${short}-${occurrence}`;
}

/** What is inserted into the file name of a picture whose row was edited since, so that both stay. */
export function replacedSuffix(fingerprint: string): string {
  return `.replaced-${fingerprint.slice(0, 8)}`;
}

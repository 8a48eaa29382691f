/** Seeds of a row until one meets `scenes.until`: decides which seed is sent next. */
import { splitFiles, type SavedPicture } from './picture.ts';
import { sceneFacts, SceneValues, type KnownScene } from './scene-condition.ts';
import { withValues, type NamedValue } from './output-value.ts';
import type { SceneState } from './scene.ts';

/** Settings and columns of a batch that the condition needs. */
interface Judged {
  until: string;
  /** Column names of the batch's results. */
  columns: readonly string[];
  values?: readonly NamedValue[];
}

export type Rendered = Pick<KnownScene, 'id' | 'columns' | 'input'> & { saved: SavedPicture[] };

/**
 * Returns a function that is true if a saved scene meets `until`, so no further seed is needed. Undefined if
 * a value is missing; callers treat that as false. Throws `ConditionError`.
 */
export function judgeOf({ until, columns, values = [] }: Judged): (scene: Rendered) => boolean | undefined {
  const holds = new SceneValues<KnownScene>(columns, sceneFacts).condition(until);
  return ({ saved, ...scene }) => {
    const { pictures, files } = splitFiles(saved);
    const columnsAndValues = withValues(scene.columns, (pictures[0] ?? files[0])?.output, values);
    return holds({ ...scene, columns: columnsAndValues, pictures });
  };
}

/** State of a row's seeds, up to the seeds read so far. */
export interface SeedRow {
  /** Common prefix of the seeds' ids. */
  prefix: string;
  /**
   * `good` if a seed meets the condition. Otherwise the state of the latest seed: `short` if it fell short or
   * failed, `open` if it is not settled.
   */
  standing: 'short' | 'open' | 'good';
}

/**
 * Decides whether a seed is sent: after the previous seed was saved and fell short, or failed, and if no
 * earlier seed is good. Takes the scenes of a list in order. Returns the new state of the scene, and the
 * state of its row for the next call.
 */
export function nextSeed(
  before: SeedRow | undefined,
  { id, state }: { id: string; state: SceneState },
  isGood: () => boolean | undefined,
): { state: SceneState; row: SeedRow; isHeld: boolean } {
  const prefix = id.replace(seedEnding, '');
  const standing = before?.prefix === prefix ? before.standing : 'short';
  const isToCome = state === 'waiting' || state === 'unneeded';
  const isHeld = isToCome && standing !== 'short';
  return {
    state: isToCome ? (isHeld ? 'unneeded' : 'waiting') : state,
    row: { prefix, standing: standing === 'good' ? standing : standingAfter(state, isGood) },
    isHeld: isHeld && standing === 'open',
  };
}

function standingAfter(state: SceneState, isGood: () => boolean | undefined): SeedRow['standing'] {
  if (state === 'saved') return isGood() === true ? 'good' : 'short';
  return state === 'failed' ? 'short' : 'open';
}

/** Ending that `expandRow` gives to ids. */
const seedEnding = /-s(\d+)$/;

/** Returns the id of the next seed, or undefined if the id has no seed number. */
export function seedAfter(id: string): string | undefined {
  const [, number] = seedEnding.exec(id) ?? [];
  return number === undefined ? undefined : id.replace(seedEnding, `-s${Number(number) + 1}`);
}

/** Returns a note for anyone who draws conclusions from the pictures. */
export function untilNote(until: string): string {
  return `This set is biased: for each row, seeds were rendered only until one met \`${until}\``;
}

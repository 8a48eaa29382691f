/** Seeds until one is good (`scenes.until`): which seed of a row is sent next. */
import { splitFiles, type SavedPicture } from './picture.ts';
import { sceneFacts, SceneValues, type KnownScene } from './scene-condition.ts';
import { withValues, type NamedValue } from './output-value.ts';
import type { SceneState } from './scene.ts';

/** What a batch has to know to judge its scenes. */
interface Judged {
  /** The condition. */
  until: string;
  /** Of its results. */
  columns: readonly string[];
  values?: readonly NamedValue[];
}

/** A scene as it was saved. */
export type Rendered = Pick<KnownScene, 'id' | 'columns' | 'input'> & { saved: SavedPicture[] };

/** Whether a saved scene is one that no other seed is needed after; undefined, which is no, where a value is missing. Throws `ConditionError`. */
export function judgeOf({ until, columns, values = [] }: Judged): (scene: Rendered) => boolean | undefined {
  const holds = new SceneValues<KnownScene>(columns, sceneFacts).condition(until);
  return ({ saved, ...scene }) => {
    const { pictures, files } = splitFiles(saved);
    const columnsAndValues = withValues(scene.columns, (pictures[0] ?? files[0])?.output, values);
    return holds({ ...scene, columns: columnsAndValues, pictures });
  };
}

/** How the seeds of a row stand, as far as they were looked at. */
export interface SeedRow {
  /** What their ids begin with. */
  of: string;
  /** The latest of them fell short or failed, is not settled yet, or one of them is good. */
  so: 'short' | 'open' | 'good';
}

/**
 * A seed is sent when the one before it is saved and falls short, or is given up, and none before it is good. Takes the scenes of a list
 * in their order; returns the state that the scene is to be in, and its row after it.
 */
export function nextSeed(
  before: SeedRow | undefined,
  { id, state }: { id: string; state: SceneState },
  isGood: () => boolean | undefined,
): { state: SceneState; row: SeedRow; isHeld: boolean } {
  const of = id.replace(seedEnding, '');
  const so = before?.of === of ? before.so : 'short';
  const isToCome = state === 'waiting' || state === 'unneeded';
  const isHeld = isToCome && so !== 'short';
  return {
    state: isToCome ? (isHeld ? 'unneeded' : 'waiting') : state,
    row: { of, so: so === 'good' ? so : standOf(state, isGood) },
    isHeld: isHeld && so === 'open',
  };
}

function standOf(state: SceneState, isGood: () => boolean | undefined): SeedRow['so'] {
  if (state === 'saved') return isGood() === true ? 'good' : 'short';
  return state === 'failed' ? 'short' : 'open';
}

/** As `expandRow` makes them. */
const seedEnding = /-s(\d+)$/;

/** The id of the seed after this one, if there is one. */
export function seedAfter(id: string): string | undefined {
  const [, number] = seedEnding.exec(id) ?? [];
  return number === undefined ? undefined : id.replace(seedEnding, `-s${Number(number) + 1}`);
}

/** What whoever draws conclusions from the pictures has to know. */
export function untilNote(until: string): string {
  return `This set is biased: of each row, seeds were rendered only until one had \`${until}\``;
}

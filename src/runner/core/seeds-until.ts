/** Values of one scene, conditions on them, and `scenes.until`: which seed of a row is sent next. */
import { type JsonObject, type JsonValue, valueAt } from '../../lib/text/json.ts';
import { type ClipColumn, clipColumns } from './clip.ts';
import { compileCondition, conditionName, outputName } from './condition.ts';
import { promptOf } from './naming.ts';
import { type PictureOutput, type SavedPicture, splitFiles } from './picture.ts';
import type { SceneRecord } from './scene-record.ts';
import type { SceneState } from './scene.ts';

interface Judged {
  until: string;
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
  /** `good` if a seed meets the condition, else of the latest seed: `short` if it did not, `open` if unsettled. */
  standing: 'short' | 'open' | 'good';
}

/**
 * Decides whether a seed is sent: after the previous seed was saved and fell short, or failed, and if no
 * earlier seed is good. Takes the scenes of a list in order. Returns the new state of the scene, and the
 * state of its row for the next call. `isDeferred`: the seed waits for a seed before it.
 */
export function nextSeed(
  before: SeedRow | undefined,
  { id, state }: { id: string; state: SceneState },
  isGood: () => boolean | undefined,
): { state: SceneState; row: SeedRow; isDeferred: boolean } {
  const prefix = id.replace(seedEnding, '');
  const standing = before?.prefix === prefix ? before.standing : 'short';
  const isToCome = state === 'waiting' || state === 'unneeded';
  const isUnneeded = isToCome && standing !== 'short';
  return {
    state: isToCome ? (isUnneeded ? 'unneeded' : 'waiting') : state,
    row: { prefix, standing: standing === 'good' ? standing : standingAfter(state, isGood) },
    isDeferred: isUnneeded && standing === 'open',
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

/** `columns` contains the columns of the row and the values of the job's output. */
export type KnownScene = Pick<SceneRecord, 'id' | 'columns' | 'input'> & {
  pictures: Pick<SavedPicture, 'width' | 'height' | 'seed' | 'output'>[];
};

/** Facts of a scene besides its columns, by name. */
export type Facts<Scene> = Record<string, (scene: Scene) => JsonValue | undefined>;

export const sceneFacts = {
  id: ({ id }) => id,
  prompt: ({ input, columns }) => promptOf(input ?? {}, columns),
  seed: ({ input, pictures }) => input?.['seed'] ?? pictures[0]?.seed,
  labelled_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.labelled_words ?? []),
  ignored_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.ignored_words ?? []),
  // Sound has neither.
  width: ({ pictures: [first] }) => first?.width || undefined,
  height: ({ pictures: [first] }) => first?.height || undefined,
  duration_s: ofClip('duration_s'),
  frame_rate: ofClip('frame_rate'),
  codecs: ofClip('codecs'),
  end_open: ofClip('end_open'),
} satisfies Facts<KnownScene>;

function ofClip(name: ClipColumn): (scene: KnownScene) => JsonValue | undefined {
  return ({ pictures: [first] }) => first?.output?.clip && clipColumns[name](first.output.clip);
}

/**
 * Looks up values of scenes by name, as in results.csv: `manifest.<column>` for a column named like a fact that
 * every scene has, `output.<fact>` for another fact named like a column.
 */
export class SceneValues<Scene extends { columns: JsonObject }> {
  readonly #columns: ReadonlyMap<string, string>;
  readonly #facts: ReadonlyMap<string, Facts<Scene>[string]>;

  constructor(columns: Iterable<string>, facts: Facts<Scene>) {
    this.#columns = new Map([...columns].map((name) => [conditionName(name), name]));
    const taken = new Set(Array.from(this.#columns.keys(), (name) => name.toLowerCase()));
    this.#facts = new Map(Object.entries(facts).map(([name, valueOf]) => [outputName(name, taken), valueOf]));
  }

  get names(): string[] {
    return [...this.#columns.keys(), ...this.#facts.keys()];
  }

  isColumn(name: string): boolean {
    return this.#columns.has(name);
  }

  /** Returns undefined if the scene has no such value. */
  valueOf(scene: Scene, name: string): JsonValue | undefined {
    const column = this.#columns.get(name);
    if (column === undefined) return this.#facts.get(name)?.(scene);
    return Object.hasOwn(scene.columns, column) ? scene.columns[column] : undefined;
  }

  /** Compiles a condition. It returns undefined for a scene that lacks a needed value. Throws `ConditionError`. */
  condition(text: string): (scene: Scene) => boolean | undefined {
    const holds = compileCondition(text, this.names);
    return (scene) => holds((name) => this.valueOf(scene, name));
  }
}

export interface NamedValue {
  name: string;
  /** Path in the output: keys, outermost first. */
  at: string[];
}

type Values = Record<string, number | string | boolean>;

/** Returns numbers, texts and booleans by name. Missing values and values of other types are left out. */
export function valuesIn(output: PictureOutput | undefined, asked: readonly NamedValue[]): Values {
  const values: Values = {};
  for (const { name, at } of asked) {
    const value = keptAt(output, at);
    if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean')
      values[name] = value;
  }
  return values;
}

/** Returns the names of values whose path holds an object, a list or null. */
export function oddValues(output: PictureOutput | undefined, asked: readonly NamedValue[]): string[] {
  return asked.flatMap(({ name, at }) => (typeof keptAt(output, at) === 'object' ? [name] : []));
}

function keptAt({ rest = {} }: PictureOutput = {}, at: readonly string[]): unknown {
  const joined = at.join('.');
  return Object.hasOwn(rest, joined) ? valueAt(rest[joined], []) : valueAt(rest, at);
}

/** Returns the columns of a row together with its values. A value replaces a column of the same name. */
export function withValues(
  columns: JsonObject,
  output: PictureOutput | undefined,
  asked: readonly NamedValue[],
): JsonObject {
  if (asked.length === 0) return columns;
  const names = new Set(asked.map(({ name }) => name));
  const others = Object.entries(columns).filter(([name]) => !names.has(name));
  return { ...Object.fromEntries(others), ...valuesIn(output, asked) };
}

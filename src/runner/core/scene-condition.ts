/** Values of one scene that conditions can use: its columns, its output values and other facts. */
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { compileCondition } from './condition.ts';
import { conditionName } from './condition-name.ts';
import type { SavedPicture } from './picture.ts';
import { promptOf } from './prompt.ts';
import type { SceneRecord } from './scene-record.ts';

/** `columns` contains the columns of the row and the values of the job's output. */
export type KnownScene = Pick<SceneRecord, 'id' | 'columns' | 'input'> & {
  pictures: Pick<SavedPicture, 'seed' | 'output'>[];
};

/** Facts of a scene besides its columns, by name. */
export type Facts<Scene> = Record<string, (scene: Scene) => JsonValue | undefined>;

export const sceneFacts = {
  id: ({ id }) => id,
  prompt: ({ input, columns }) => promptOf(input ?? {}, columns),
  seed: ({ input, pictures }) => input?.['seed'] ?? pictures[0]?.seed,
  labelled_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.labelled_words ?? []),
  ignored_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.ignored_words ?? []),
} satisfies Facts<KnownScene>;

/**
 * Looks up values of scenes by name. A column with the name of a fact is called `manifest.<column>`, as in
 * results.csv.
 */
export class SceneValues<Scene extends { columns: JsonObject }> {
  readonly #columns: ReadonlyMap<string, string>;
  readonly #facts: ReadonlyMap<string, Facts<Scene>[string]>;

  constructor(columns: Iterable<string>, facts: Facts<Scene>) {
    this.#columns = new Map([...columns].map((name) => [conditionName(name), name]));
    this.#facts = new Map(Object.entries(facts));
  }

  get names(): string[] {
    return [...this.#columns.keys(), ...this.#facts.keys()];
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

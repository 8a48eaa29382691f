/** What conditions ask of one scene: its columns and values, and what else is known of it. */
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { compileCondition } from './condition.ts';
import { conditionName } from './condition-name.ts';
import type { SavedPicture } from './picture.ts';
import { promptOf } from './prompt.ts';
import type { SceneRecord } from './scene-record.ts';

/** `columns`: those of the row and, by their names, the values of its job's output. */
export type KnownScene = Pick<SceneRecord, 'id' | 'columns' | 'input'> & {
  pictures: Pick<SavedPicture, 'seed' | 'output'>[];
};

/** What a scene has besides its columns, by name. */
export type Facts<Scene> = Record<string, (scene: Scene) => JsonValue | undefined>;

export const sceneFacts = {
  id: ({ id }) => id,
  prompt: ({ input, columns }) => promptOf(input ?? {}, columns),
  seed: ({ input, pictures }) => input?.['seed'] ?? pictures[0]?.seed,
  labelled_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.labelled_words ?? []),
  ignored_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.ignored_words ?? []),
} satisfies Facts<KnownScene>;

/** A column that has the name of a fact is called `manifest.` and its name, as in results.csv. */
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

  /** Undefined where the scene has none. */
  valueOf(scene: Scene, name: string): JsonValue | undefined {
    const column = this.#columns.get(name);
    if (column === undefined) return this.#facts.get(name)?.(scene);
    return Object.hasOwn(scene.columns, column) ? scene.columns[column] : undefined;
  }

  /** Undefined for a scene that lacks a value that it depends on. Throws `ConditionError`. */
  condition(text: string): (scene: Scene) => boolean | undefined {
    const holds = compileCondition(text, this.names);
    return (scene) => holds((name) => this.valueOf(scene, name));
  }
}

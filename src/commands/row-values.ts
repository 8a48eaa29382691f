/** What conditions may ask of the scenes of a batch, by name. */
import { type BatchIdentity, resultColumns } from '../runner/checkpoint/batch-identity.ts';
import { compileCondition, ConditionError } from '../runner/core/condition.ts';
import { conditionName, sceneNames } from '../runner/core/condition-name.ts';
import { promptOf } from '../runner/core/prompt.ts';
import type { ReportRow } from '../runner/core/report-row.ts';
import type { JsonValue } from '../lib/text/json.ts';
import { ConfigError } from '../lib/yaml/problem.ts';

/** What a scene has besides its columns. */
const others: Record<(typeof sceneNames)[number], (row: ReportRow) => JsonValue | undefined> = {
  id: ({ id }) => id,
  state: ({ state }) => state,
  kind: ({ failureKind }) => failureKind,
  attempts: ({ attempts }) => attempts,
  prompt: ({ input, columns }) => promptOf(input ?? {}, columns),
  seed: ({ input, pictures }) => input?.['seed'] ?? pictures[0]?.seed,
  labelled_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.labelled_words ?? []),
  ignored_words: ({ pictures }) => pictures.flatMap(({ output }) => output?.ignored_words ?? []),
};

const ofScene = new Map(Object.entries(others));

/** Undefined where it depends on a value that the scene does not have. */
export type RowCondition = (row: ReportRow) => boolean | undefined;

export class RowValues {
  readonly #columns: ReadonlyMap<string, string>;

  constructor(batch: BatchIdentity | undefined) {
    const columns = [...resultColumns(batch), ...(batch?.axes ?? [])];
    this.#columns = new Map(columns.map((name) => [conditionName(name), name]));
  }

  get names(): string[] {
    return [...this.#columns.keys(), ...sceneNames];
  }

  /** Undefined where it has none. */
  valueOf(row: ReportRow, name: string): JsonValue | undefined {
    const column = this.#columns.get(name);
    if (column === undefined) return ofScene.get(name)?.(row);
    return Object.hasOwn(row.columns, column) ? row.columns[column] : undefined;
  }

  /** `place`: where the text stands. Throws `ConfigError`. */
  condition(text: string, place: string): RowCondition {
    try {
      const holds = compileCondition(text, this.names);
      return (row) => holds((name) => this.valueOf(row, name));
    } catch (error) {
      if (!(error instanceof ConditionError)) throw error;
      throw new ConfigError([{ where: place, text: error.message }]);
    }
  }
}

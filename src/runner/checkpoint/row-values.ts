/** The values that conditions may use on the rows of a batch. */
import { type BatchIdentity, resultColumns } from './batch-identity.ts';
import { ConditionError } from '../core/condition.ts';
import type { sceneNames } from '../core/condition-name.ts';
import type { SceneRecord } from '../core/scene-record.ts';
import { type Facts, sceneFacts, SceneValues } from '../core/scene-condition.ts';
import { ConfigError } from '../../lib/yaml/problem.ts';

const facts: Record<(typeof sceneNames)[number], Facts<SceneRecord>[string]> = {
  ...sceneFacts,
  state: ({ state }) => state,
  kind: ({ failureKind }) => failureKind,
  attempts: ({ attempts }) => attempts,
};

export type RowValues = SceneValues<SceneRecord>;

export function rowValues(batch: BatchIdentity | undefined): RowValues {
  return new SceneValues([...resultColumns(batch), ...(batch?.axes ?? [])], facts);
}

/** Parses a condition. `place` says where the text is, for messages. Throws `ConfigError`. */
export function rowCondition(
  values: RowValues,
  text: string,
  place: string,
): (row: SceneRecord) => boolean | undefined {
  try {
    return values.condition(text);
  } catch (error) {
    if (!(error instanceof ConditionError)) throw error;
    throw new ConfigError([{ where: place, text: error.message }]);
  }
}

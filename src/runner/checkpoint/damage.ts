/** Detects damage of the checkpoint that SQLite does not notice. Rows are checked when read, before anything is sent. */
import { hash } from 'node:crypto';
import type { Attempt } from '../core/attempt.ts';
import { withoutPaths } from '../core/file-text.ts';
import type { JsonObject, JsonValue } from '../../lib/text/json.ts';
import { fingerprintOf, sentColumns, sentInput } from '../core/scene.ts';
import { isDamage, UnusableDatabase } from '../../lib/sqlite/database.ts';
import type { SceneRow } from './checkpoint-schema.ts';

const remedy = 'repair it with `nightrender verify <pipeline> --repair`';

/** Thrown if the checkpoint is damaged. `what` says what is wrong, and follows a colon. */
export class DamagedCheckpoint extends UnusableDatabase {
  constructor(what: string) {
    super(`the checkpoint is damaged: ${what}. Put a copy of it back, or ${remedy}`);
  }
}

/** Returns the error to report if `error` means damage, otherwise undefined. */
export function asDamage(error: unknown): UnusableDatabase | undefined {
  if (error instanceof UnusableDatabase) return error;
  if (!isDamage(error)) return undefined;
  return new UnusableDatabase(
    `the checkpoint is damaged, or its disk could not read it: ${(error as Error).message}. Check the disk and start the run again; if the message returns, ${remedy}`,
  );
}

/** Parses JSON of the checkpoint. `of` names its row in the message. Throws `DamagedCheckpoint`. */
export function storedJson(text: string, of: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new DamagedCheckpoint(`the JSON of ${of} is invalid`);
  }
}

/** Reads a seed that a person asked for; undefined for the input's own. Throws `DamagedCheckpoint`. */
export function storedSeed(text: string | null, of: string): JsonValue | undefined {
  if (text === null) return undefined;
  const seed = storedJson(text.slice(0, text.lastIndexOf(' ')), of) as JsonValue;
  if (seedText(seed) !== text)
    throw new DamagedCheckpoint(`the seed of ${of} is not the one that was recorded`);
  return seed;
}

type Sent<Input> = Pick<SceneRow, 'id' | 'columns' | 'seed'> & { input: Input };

/** Returns the input that is sent for a stored scene, and its columns, both with the seed that a person asked for. */
export function sentBy(row: Sent<string>): { columns: JsonObject; input: JsonObject };
export function sentBy(row: Sent<string | null>): { columns: JsonObject; input: JsonObject | null };
export function sentBy(row: Sent<string | null>) {
  const of = `scene ${row.id}`;
  const seed = storedSeed(row.seed, of);
  const columns = sentColumns(storedJson(row.columns, of) as JsonObject, seed);
  const input = row.input === null ? null : sentInput(storedJson(row.input, of) as JsonObject, seed);
  return { columns, input };
}

/** Returns the seed as JSON with a checksum, because the fingerprint does not cover it. */
export function seedText(seed: JsonValue): string {
  const json = JSON.stringify(seed);
  return `${json} ${hash('sha256', json).slice(0, 8)}`;
}

/** True if this is the input of the fingerprint, which leaves out the paths of files that are sent within the input. */
export function isInputOf(fingerprint: string, input: JsonObject): boolean {
  return fingerprintOf(input) === fingerprint || fingerprintOf(withoutPaths(input)) === fingerprint;
}

/** Returns a checksum that binds a job id to its scene. `kept`: stored JSON of the service's reply. */
export function checksumOf(
  { key, sceneId, fingerprint, endpoint }: Attempt,
  jobId: string,
  kept: string | null,
): string {
  const { baseUrl, id, version } = endpoint;
  const parts = [key, sceneId, fingerprint, baseUrl, id, version, jobId, kept ?? []].flat();
  return hash('sha256', JSON.stringify(parts)).slice(0, 16);
}

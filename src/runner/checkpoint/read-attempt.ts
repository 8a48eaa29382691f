/** Attempts out of rows. */
import type { Attempt, AttemptHistory, SubmittedAttempt } from '../core/attempt.ts';
import { failureRules } from '../core/failure.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { sentColumns, sentInput } from '../core/scene.ts';
import type { SavedSettlement, UnfinishedWriting } from '../pipeline/ports.ts';
import { checksumOf, DamagedCheckpoint, isInputOf, storedJson, storedSeed } from './damage.ts';
import { sharedId, type AttemptRow, type HistoryRow, type Statements } from './statements.ts';

/** Throws `DamagedCheckpoint` where the input is another than the one that the scene was recorded with. */
export function readAttempt(sql: Statements, row: AttemptRow): Attempt {
  const input = storedJson(row.input, sceneOf(row)) as JsonObject;
  if (!isInputOf(row.fingerprint, input))
    throw new DamagedCheckpoint(`the input of ${sceneOf(row)} is not the one that was recorded`);
  const columns = storedJson(row.columns, sceneOf(row)) as JsonObject;
  const seed = storedSeed(row.seed, sceneOf(row));
  return {
    key: row.key,
    sceneId: row.scene_id,
    fingerprint: row.fingerprint,
    number: row.number,
    input: sentInput(input, seed),
    // Names of pictures tell the seed by it where the service tells none.
    columns: sentColumns(columns, seed),
    isReplaced: row.is_replaced === 1,
    endpoint: { baseUrl: row.base_url, id: row.endpoint_id, version: row.version },
    before: row.number === 1 ? noHistory : readHistory(sql, row),
    deaths: row.deaths,
  };
}

/** As above, and where the job is not the one that was recorded for the scene. */
export function readSubmittedAttempt(sql: Statements, row: AttemptRow): SubmittedAttempt {
  const { job_id: jobId, submitted_at: submittedAt, checksum } = row;
  if (jobId === null || submittedAt === null)
    throw new DamagedCheckpoint(`attempt ${row.number} of ${sceneOf(row)} has no job`);
  const attempt = { ...readAttempt(sql, row), jobId, submittedAt };
  if (checksum === sharedId) return { ...attempt, isShared: true };
  if (checksum !== null && checksum !== checksumOf(attempt))
    throw new DamagedCheckpoint(`job ${jobId} is not the one that was recorded for ${sceneOf(row)}`);
  return attempt;
}

function sceneOf({ scene_id }: AttemptRow): string {
  return `scene ${scene_id}`;
}

export function readWriting(sql: Statements, row: AttemptRow & { writing: string }): UnfinishedWriting {
  const settlement = storedJson(row.writing, sceneOf(row)) as SavedSettlement;
  return { attempt: readSubmittedAttempt(sql, row), isInFlight: row.state === 'submitted', settlement };
}

const noHistory: AttemptHistory = { failed: 0, unanswered: 0, expired: 0, failedKinds: [], digests: [] };

function readHistory(sql: Statements, row: AttemptRow): AttemptHistory {
  const earlier = sql.history.all({ scene: row.scene, number: row.number }).filter(isCounted);
  const failed = earlier.filter(({ state }) => state === 'failed');
  return {
    failed: failed.length,
    unanswered: earlier.filter(({ state }) => state === 'unanswered').length,
    expired: earlier.filter(({ state }) => state === 'expired').length,
    failedKinds: failed.map(({ failure_kind }) => failure_kind ?? ''),
    digests: failed.flatMap(({ failure_digest }) => failure_digest ?? []),
  };
}

/** What a person had ended says nothing of the scene. */
function isCounted({ failure_kind }: HistoryRow): boolean {
  const rule = Object.entries(failureRules).find(([kind]) => kind === failure_kind)?.[1];
  return rule?.next !== 'put-back';
}

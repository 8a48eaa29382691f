/** Attempts out of rows. */
import type { Attempt, AttemptHistory, SubmittedAttempt } from '../core/attempt.ts';
import { failureRules } from '../core/failure.ts';
import type { JsonObject } from '../core/json.ts';
import type { SavedSettlement, UnfinishedWriting } from '../pipeline/ports.ts';
import type { AttemptRow, HistoryRow, Statements } from './statements.ts';

export function readAttempt(sql: Statements, row: AttemptRow): Attempt {
  return {
    key: row.key,
    sceneId: row.scene_id,
    fingerprint: row.fingerprint,
    number: row.number,
    input: JSON.parse(row.input) as JsonObject,
    columns: JSON.parse(row.columns) as JsonObject,
    isReplaced: row.is_replaced === 1,
    endpoint: { baseUrl: row.base_url, id: row.endpoint_id, version: row.version },
    before: row.number === 1 ? noHistory : readHistory(sql, row),
    deaths: row.deaths,
  };
}

export function readSubmittedAttempt(sql: Statements, row: AttemptRow): SubmittedAttempt {
  if (row.job_id === null || row.submitted_at === null)
    throw new Error(`attempt ${row.key} was submitted without a job`);
  return { ...readAttempt(sql, row), jobId: row.job_id, submittedAt: row.submitted_at };
}

export function readWriting(sql: Statements, row: AttemptRow & { writing: string }): UnfinishedWriting {
  const settlement = JSON.parse(row.writing) as SavedSettlement;
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

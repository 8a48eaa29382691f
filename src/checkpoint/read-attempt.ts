/** Attempts out of rows. */
import type { Attempt, AttemptHistory, SubmittedAttempt } from '../core/attempt.ts';
import type { JsonObject } from '../core/json.ts';
import type { AttemptRow, Statements } from './statements.ts';

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
  };
}

export function readSubmittedAttempt(sql: Statements, row: AttemptRow): SubmittedAttempt {
  if (row.job_id === null || row.submitted_at === null)
    throw new Error(`attempt ${row.key} was submitted without a job`);
  return { ...readAttempt(sql, row), jobId: row.job_id, submittedAt: row.submitted_at };
}

const noHistory: AttemptHistory = { failed: 0, unanswered: 0, expired: 0, failedKinds: [] };

function readHistory(sql: Statements, row: AttemptRow): AttemptHistory {
  const earlier = sql.history.all({ scene: row.scene, number: row.number });
  const count = (state: string): number => earlier.filter((attempt) => attempt.state === state).length;
  return {
    failed: count('failed'),
    unanswered: count('unanswered'),
    expired: count('expired'),
    failedKinds: earlier.flatMap(({ state, failure_kind }) =>
      state === 'failed' ? [failure_kind ?? ''] : [],
    ),
  };
}

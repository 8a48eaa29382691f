/** The SQL of the road, prepared once. */
import type { Attempt, AttemptState, Endpoint, Idempotency } from '../core/attempt.ts';
import { disorderlyExitCodes } from '../core/ending.ts';
import type { Database } from '../../lib/sqlite/database.ts';

/** An attempt as one row: JSON as text, null for what is absent, its endpoint and its job among the other columns. */
export type AttemptRow = Pick<Attempt, 'key' | 'sceneId' | 'fingerprint' | 'number' | 'deaths'> &
  Pick<Idempotency, 'intendedAt'> &
  Endpoint &
  Record<'input' | 'columns', string> &
  Record<'seed' | 'writing' | 'jobId' | 'kept' | 'checksum' | 'idempotencyKey', string | null> &
  Record<'failureKind' | 'failureText' | 'failureDigest', string | null> &
  Record<'submittedAt' | 'completedAt' | 'idempotencyMs', number | null> &
  Record<'isReplaced' | 'isWithdrawn', 0 | 1> & { sceneKey: number; state: AttemptState };

/** What an earlier attempt of the scene says to the next one. */
export type HistoryRow = Pick<AttemptRow, 'state' | 'failureKind' | 'failureDigest'>;

/** Instead of the checksum of an attempt whose job id another submission was answered with, too. */
export const sharedId = 'shared';

/** `AttemptRow`s, up to a condition on `attempts a`, also of PostgreSQL; `schema`: goes before the name of a table. */
export function selectAttempts(schema = ''): string {
  return `
    SELECT a.attempt AS key, a.state, a.writing, a.scene AS "sceneKey", s.id AS "sceneId", s.fingerprint, a.number, s.input, s.seed, s.columns, s.deaths,
      CAST(s.state = 'withdrawn' AND EXISTS (SELECT 1 FROM ${schema}scenes l WHERE l.id = s.id AND l.state <> 'withdrawn') AS integer) AS "isReplaced",
      CAST(s.state = 'withdrawn' AS integer) AS "isWithdrawn", a.intended_at AS "intendedAt",
      r.idempotency_key AS "idempotencyKey", r.idempotency_ms AS "idempotencyMs", a.kept,
      a.base_url AS "baseUrl", a.endpoint_id AS id, a.version, a.job_id AS "jobId", a.submitted_at AS "submittedAt", a.checksum,
      a.failure_kind AS "failureKind", a.failure_text AS "failureText", a.failure_digest AS "failureDigest", a.completed_at AS "completedAt"
    FROM ${schema}attempts a JOIN ${schema}scenes s USING (scene) JOIN ${schema}runs r USING (run)`;
}

export type Statements = ReturnType<typeof prepareStatements>;
export type Reads = ReturnType<typeof prepareReads>;

export function prepareStatements(db: Database) {
  return {
    ...prepareReads(db),
    intend: db.prepare<[object]>(`
      INSERT INTO attempts (scene, number, run, state, base_url, endpoint_id, version, intended_at)
      SELECT scene, attempts + 1, @run, 'intended', @baseUrl, @id, @version, @at FROM scenes WHERE scene = @sceneKey`),
    activate: db.prepare<[object]>(`
      UPDATE scenes SET state = 'active', attempts = attempts + 1, due_at = 0, failure_kind = NULL, failure_text = NULL
      WHERE scene = @sceneKey`),
    recordSubmitted: db.prepare<[object]>(`
      UPDATE attempts SET state = 'submitted', job_id = @jobId, status = @status, submitted_at = @at,
        checksum = @checksum, kept = @kept
      WHERE attempt = @attempt`),
    recordIdempotency: db.prepare<[object]>(`
      UPDATE runs SET idempotency_ms = @idempotencyMs
      WHERE run = @run AND idempotency_ms IS NOT @idempotencyMs`),
    recordShared: db.prepare<[object]>(`
      UPDATE attempts SET checksum = '${sharedId}'
      WHERE job_id = @jobId AND base_url = @baseUrl AND endpoint_id = @id AND state = 'submitted'`),
    recordAdopted: db.prepare<[object]>(
      "UPDATE attempts SET state = 'submitted', job_id = @jobId WHERE attempt = @attempt",
    ),
    recordStatus: db.prepare<[object]>(`
      UPDATE attempts SET status = @status, executing_at = coalesce(executing_at, @executingAt)
      WHERE attempt = @attempt`),
    recordHeld: db.prepare<[object]>(`
      UPDATE attempts SET failure_kind = @kind, failure_text = @text, failure_digest = @answer, completed_at = @completedAt
      WHERE attempt = @attempt`),
    beginWriting: db.prepare<[object]>(
      "UPDATE attempts SET writing = @writing WHERE attempt = @attempt AND state = 'submitted'",
    ),
    dropWriting: db.prepare<[object]>('UPDATE attempts SET writing = NULL WHERE attempt = @attempt'),
    settle: db.prepare<[object]>(`
      UPDATE attempts SET state = @state, settled_at = @at, completed_at = @completedAt, status = coalesce(@status, status),
        polls = polls + @polls, delay_time_ms = @delayTimeMs, execution_time_ms = @executionTimeMs,
        failure_kind = @failureKind, failure_text = @failureText, failure_digest = @failureDigest,
        writing = NULL
      WHERE attempt = @attempt`),
    countDeath: db.prepare<[object]>(`
      UPDATE scenes SET deaths = deaths + 1, died_in = @run
      WHERE scene = (SELECT scene FROM attempts WHERE attempt = @attempt) AND coalesce(died_in, 0) < @run`),
    addPicture: db.prepare<[object]>(`
      INSERT INTO pictures (attempt, number, name, file, file_key, width, height, bytes, sha256, seed, label, output)
      VALUES (@attempt, @number, @name, @file, @key, @width, @height, @bytes, @sha256, @seed, @label, @output)`),
    moveScene: db.prepare<[object]>(`
      UPDATE scenes SET state = @state, due_at = @dueAt, failure_kind = @failureKind, failure_text = @failureText
      WHERE scene = (SELECT scene FROM attempts WHERE attempt = @attempt) AND state = 'active'`),
    sendSeed: db.prepare<[object]>(
      "UPDATE scenes SET state = 'waiting', due_at = 1 WHERE id = @id AND state = 'unneeded' AND due_at = 0",
    ),
    countFound: db.prepare<[object]>(
      'UPDATE commits SET lost_submissions = max(0, lost_submissions - @found)',
    ),
    recordMoved: db.prepare<[object]>(
      'UPDATE pictures SET file = @to, file_key = @fileKey, move_to = NULL WHERE picture = @key',
    ),
  };
}

export function prepareReads(db: Database) {
  const attemptRow = selectAttempts();
  return {
    attemptRow: db.prepare<[object], AttemptRow>(`${attemptRow} WHERE a.attempt = @attempt`),
    intended: db.prepare<[], AttemptRow>(`${attemptRow} WHERE a.state = 'intended'`),
    submitted: db.prepare<[], AttemptRow>(
      `${attemptRow} WHERE a.state = 'submitted' ORDER BY a.submitted_at`,
    ),
    unfinishedWriting: db.prepare<[], AttemptRow>(
      `${attemptRow} WHERE a.writing IS NOT NULL ORDER BY a.attempt`,
    ),
    history: db.prepare<[object], HistoryRow>(`
      SELECT state, failure_kind AS failureKind, failure_digest AS failureDigest FROM attempts a WHERE scene = @sceneKey AND number < @number
        AND number > (SELECT counted_from FROM scenes s WHERE s.scene = a.scene) ORDER BY number`),
    // What a run has left in order to be sent again is no death.
    intendedIn: db.prepare<[object], { attempt: number; run: number }>(`
      SELECT attempt, run FROM attempts JOIN runs USING (run) WHERE state = 'intended' AND run <> @by
        AND (exit_code IS NULL OR exit_code IN (${disorderlyExitCodes.join()}))`),
    jobOf: db.prepare<[object]>(
      'SELECT 1 FROM attempts WHERE job_id = @jobId AND base_url = @baseUrl AND endpoint_id = @id',
    ),
    savedMeanwhile: db.prepare<[object], { sceneId: string }>(`
      SELECT s.id AS sceneId FROM attempts a JOIN scenes s USING (scene)
      WHERE job_id = @jobId AND base_url = @baseUrl AND endpoint_id = @id AND a.state = 'saved'
        AND a.settled_at >= (SELECT intended_at FROM attempts WHERE attempt = @attempt)`),
    stateOf: db.prepare<[object], { state: AttemptState }>(
      'SELECT state FROM attempts WHERE attempt = @attempt',
    ),
    ownerOf: db.prepare<[object], { sceneId: string; fingerprint: string; file: string }>(`
      SELECT s.id AS sceneId, s.fingerprint, p.file FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene)
      WHERE p.file_key = @key`),
    takers: db.prepare<[], { sceneId: string; fingerprint: string; to: string }>(`
      SELECT s.id AS sceneId, s.fingerprint, p.move_to AS "to"
      FROM pictures p JOIN attempts USING (attempt) JOIN scenes s USING (scene) WHERE p.move_to IS NOT NULL`),
    pendingMoves: db.prepare<[], { key: number; from: string; to: string }>(`
      SELECT p.picture AS key, p.file AS "from", p.move_to AS "to"
      FROM pictures p WHERE p.move_to IS NOT NULL ORDER BY p.move_to = p.name, p.picture`),
  };
}

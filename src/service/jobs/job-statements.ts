/** Prepared SQL statements of the job store, for jobs and for webhooks. */
import type { Text } from '../../lib/files/filed-text.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import type { JobState } from '../model/job.ts';
import type { StoredText } from './long-texts.ts';

export interface TakenJob {
  id: string;
  workerId: string;
  /** JSON text of an object. */
  input: Text;
  webhook: string | null;
  /** JSON text of an object; null if the job has no bucket of its own. */
  s3Config: string | null;
}

/** A queued job. `bytes` is the size of its input file; null if its input is in the database. */
export type WaitingJob = StoredText &
  Pick<TakenJob, 'webhook' | 's3Config'> & { id: string; bytes: number | null };

/** A job with the fields that its status needs. Times are epoch ms. */
export interface JobRecord {
  id: string;
  endpointId: string;
  state: JobState;
  queuedAt: number;
  startedAt: number | null;
  endedAt: number | null;
  retries: number;
  error: string | null;
  /** JSON text of an error that is not a string. */
  errorValue: string | null;
  /** Latest worker, in the form of `pullingWorker`. */
  workerId: string | null;
  /** JSON text: the latest progress message of the worker while `IN_PROGRESS`. */
  progress: string | null;
  /** JSON as bytes: input while `IN_PROGRESS`, later the output. Null if it is in `payloadFile`. */
  payload: Buffer | null;
  payloadFile: string | null;
}

/** A job without its texts. */
export interface JobMetadata {
  number: number;
  endpointId: string;
  state: JobState;
  queuedAt: number;
  startedAt: number | null;
  endedAt: number | null;
  workerId: string | null;
  retries: number;
  maxRetries: number;
  ttlMs: number;
  inputBytes: number;
}

/** An accepted job with the digest of the submitted body. */
type SubmittedJob = Pick<JobRecord, 'id' | 'endpointId' | 'state' | 'endedAt'> & { body: Buffer };

/** Columns that a move writes. Of omitted columns, those of the ending become null, and the others stay. */
export interface JobChange {
  queuedAt?: number;
  startedAt?: number;
  expiresAt?: number;
  retries?: number;
  workerId?: string;
  isPulled?: 0 | 1;
  endedAt?: number;
  output?: string | null;
  outputFile?: string | null;
  error?: string;
  errorValue?: string | null;
  log?: string;
}

type StoredChange = { [Key in keyof JobChange]-?: JobChange[Key] | null } & { id: string; state: JobState };

interface NewJob {
  id: string;
  endpointId: string;
  now: number;
  ttlMs: number;
  executionTimeoutMs: number;
  isLowPriority: 0 | 1;
  maxRetries: number;
  keyId: string;
  summary: string;
  inputBytes: number;
}

/** A job that exceeds its execution timeout or its time to live. */
export interface DueJob {
  id: string;
  endpointId: string;
  state: JobState;
  workerId: string | null;
  executionTimeoutMs: number;
  ttlMs: number;
  isExpired: 0 | 1;
}

interface Expired {
  until: number;
  max: number;
}

/** Selects the same jobs each time within one transaction. */
const expired = 'SELECT number FROM job WHERE endedAt <= @until ORDER BY endedAt, number LIMIT @max';

/** SQL: the names of all files of long texts that belong to a job. */
export const namedFiles = `SELECT outputFile AS file FROM job WHERE outputFile IS NOT NULL
  UNION ALL SELECT file FROM input WHERE file IS NOT NULL
  UNION ALL SELECT file FROM part WHERE file IS NOT NULL`;

export function prepareJobStatements(db: Database) {
  return {
    insert: db.prepare<[NewJob]>(
      `INSERT INTO job (id, endpointId, state, acceptedAt, queuedAt, expiresAt, ttlMs, executionTimeoutMs,
         isLowPriority, maxRetries, retries, keyId, isPulled, summary, inputBytes)
       VALUES (@id, @endpointId, 'IN_QUEUE', @now, @now, @now + @ttlMs, @ttlMs, @executionTimeoutMs,
         @isLowPriority, @maxRetries, 0, @keyId, 0, @summary, @inputBytes)`,
    ),
    addS3Config: db.prepare<[job: number | bigint, s3Config: string]>(
      'INSERT INTO credentials (job, s3Config) VALUES (?, ?)',
    ),
    submitted: db.prepare<[key: Buffer], SubmittedJob>(
      `SELECT id, endpointId, state, endedAt, body FROM input JOIN job ON job = number WHERE idempotencyKey = ?`,
    ),
    forgetKey: db.prepare<[key: Buffer]>('UPDATE input SET idempotencyKey = NULL WHERE idempotencyKey = ?'),
    idempotentSince: db.prepare<[], { since: number }>('SELECT since FROM idempotent'),
    restartIdempotency: db.prepare<[{ now: number }]>(
      'UPDATE idempotent SET since = @now WHERE since > @now',
    ),
    forgetS3Config: db.prepare<[job: number]>('UPDATE credentials SET s3Config = NULL WHERE job = ?'),
    hadS3Config: db.prepare<[job: number], { one: 1 }>('SELECT 1 AS one FROM credentials WHERE job = ?'),
    addInput: db.prepare<
      [
        job: number | bigint,
        file: string | null,
        bytes: number | null,
        text: string | null,
        idempotencyKey: Buffer | null,
        body: Buffer | null,
      ]
    >('INSERT INTO input (job, file, bytes, text, idempotencyKey, body) VALUES (?, ?, ?, ?, ?, ?)'),
    input: db.prepare<[string], StoredText>(
      'SELECT text, file FROM job JOIN input ON input.job = job.number WHERE id = ?',
    ),
    someWaiting: db.prepare<[{ endpointId: string; max: number }], { id: string }>(
      `SELECT id FROM job WHERE endedAt IS NULL AND endpointId = @endpointId AND state = 'IN_QUEUE'
       LIMIT @max`,
    ),
    someWaitingOfKey: db.prepare<[{ endpointId: string; keyId: string; max: number }], { id: string }>(
      `SELECT id FROM job WHERE endedAt IS NULL AND endpointId = @endpointId AND state = 'IN_QUEUE'
         AND isLowPriority IN (0, 1) AND keyId = @keyId LIMIT @max`,
    ),
    keyOf: db.prepare<[string], { keyId: string }>('SELECT keyId FROM job WHERE id = ?'),
    waiting: db.prepare<[], { endpointId: string; jobs: number }>(
      `SELECT endpointId, jobs FROM tally WHERE what = 'IN_QUEUE' AND jobs > 0`,
    ),
    // The payload is sent as it is stored: as bytes, which are never decoded or parsed.
    find: db.prepare<[string], JobRecord>(
      `SELECT id, endpointId, state, queuedAt, startedAt, endedAt, retries, error, errorValue, workerId, progress,
         CASE state WHEN 'IN_PROGRESS' THEN (SELECT file FROM input WHERE job = number) ELSE outputFile END
           AS payloadFile,
         CAST(CASE state WHEN 'IN_PROGRESS' THEN (SELECT text FROM input WHERE job = number)
           WHEN 'COMPLETED' THEN output WHEN 'FAILED' THEN output END AS BLOB) AS payload
       FROM job WHERE id = ?`,
    ),
    metadata: db.prepare<[string], JobMetadata>(
      `SELECT number, endpointId, state, queuedAt, startedAt, endedAt, workerId, retries, maxRetries, ttlMs, inputBytes
       FROM job WHERE id = ?`,
    ),
    tally: db.prepare<[string], { what: JobState | 'retried'; jobs: number }>(
      'SELECT what, jobs FROM tally WHERE endpointId = ?',
    ),
    queued: db.prepare<[string], { jobs: number }>(
      `SELECT jobs FROM tally WHERE endpointId = ? AND what = 'IN_QUEUE'`,
    ),
    latestCompleted: db.prepare<[string], { id: string }>(
      `SELECT id FROM job WHERE endedAt IS NOT NULL AND endpointId = ? AND state = 'COMPLETED'
       ORDER BY number DESC LIMIT 5`,
    ),
    latestDone: db.prepare<[{ endpointId: string }], { state: string }>(
      `SELECT state FROM (${['COMPLETED', 'FAILED', 'TIMED_OUT'].map(latestIn).join(' UNION ALL ')})
       ORDER BY number DESC LIMIT 3`,
    ),
    move: db.prepare<[StoredChange]>(
      `UPDATE job SET state = @state, queuedAt = coalesce(@queuedAt, queuedAt),
         startedAt = CASE @state WHEN 'IN_QUEUE' THEN NULL ELSE coalesce(@startedAt, startedAt) END, expiresAt = coalesce(@expiresAt, expiresAt),
         retries = coalesce(@retries, retries), workerId = coalesce(@workerId, workerId),
         isPulled = coalesce(@isPulled, isPulled), log = coalesce(@log, log), progress = NULL,
         endedAt = @endedAt, output = @output, outputFile = @outputFile, error = @error, errorValue = @errorValue
       WHERE id = @id`,
    ),
    setProgress: db.prepare<[{ id: string; progress: string }]>(
      'UPDATE job SET progress = @progress WHERE id = @id',
    ),
    keepLog: db.prepare<[{ id: string; workerId: string; log: string }]>(
      `UPDATE job SET log = @log
       WHERE id = @id AND workerId = @workerId AND state IN ('CANCELLED', 'TIMED_OUT') AND log IS NULL`,
    ),
    running: db.prepare<[{ isPulled: 0 | 1 }], { id: string; endpointId: string; workerId: string | null }>(
      // Few jobs run at a time: sorting them is much faster than scanning all jobs in order.
      `SELECT id, endpointId, workerId FROM job INDEXED BY jobOverdue
       WHERE state = 'IN_PROGRESS' AND isPulled = @isPulled ORDER BY number`,
    ),
    due: db.prepare<[{ now: number; max: number }], DueJob>(
      `SELECT id, endpointId, state, workerId, executionTimeoutMs, ttlMs, expiresAt <= @now AS isExpired FROM job
       WHERE (endedAt IS NULL AND expiresAt <= @now)
         OR (state = 'IN_PROGRESS' AND startedAt + executionTimeoutMs <= @now)
       LIMIT @max`,
    ),
    open: db.prepare<[], { one: 1 }>('SELECT 1 AS one FROM job WHERE endedAt IS NULL LIMIT 1'),
    expired: db.prepare<[{ until: number }], { one: 1 }>(
      'SELECT 1 AS one FROM job WHERE endedAt <= @until LIMIT 1',
    ),
    deleteExpiredInputs: db.prepare<[Expired], { file: string | null }>(
      `DELETE FROM input WHERE job IN (${expired}) RETURNING file`,
    ),
    deleteExpiredParts: db.prepare<[Expired & { maxParts: number }], { file: string | null }>(
      `DELETE FROM part WHERE number IN (SELECT number FROM part WHERE job IN (${expired}) LIMIT @maxParts)
       RETURNING file`,
    ),
    deleteExpired: db.prepare<[Expired], { file: string | null }>(
      `DELETE FROM job WHERE number IN (${expired}) RETURNING outputFile AS file`,
    ),
    expiredFiles: db.prepare<[{ until: number }], { file: string }>(
      `SELECT outputFile AS file FROM job WHERE endedAt <= @until AND outputFile IS NOT NULL
       UNION ALL SELECT file FROM input JOIN job ON job.number = input.job WHERE endedAt <= @until AND file IS NOT NULL
       UNION ALL SELECT file FROM part JOIN job ON job.number = part.job WHERE endedAt <= @until AND file IS NOT NULL`,
    ),
    deleteInput: db.prepare<[job: number], { file: string | null }>(
      'DELETE FROM input WHERE job = ? RETURNING file',
    ),
    deleteJob: db.prepare<[job: number], { file: string | null }>(
      'DELETE FROM job WHERE number = ? RETURNING outputFile AS file',
    ),
    files: db.prepare<[], { file: string }>(namedFiles),
    addPart: db.prepare<[{ job: number } & StoredText]>(
      'INSERT INTO part (job, file, text) VALUES (@job, @file, @text)',
    ),
    hasParts: db.prepare<[number], { one: 1 }>('SELECT 1 AS one FROM part WHERE job = ? LIMIT 1'),
    parts: db.prepare<[number], StoredText>('SELECT text, file FROM part WHERE job = ? ORDER BY number'),
    deleteParts: db.prepare<[number], { file: string | null }>(
      'DELETE FROM part WHERE job = ? RETURNING file',
    ),
  };
}

export interface DueWebhook {
  job: number;
  id: string;
  endpointId: string;
  keyId: string;
  queue: string;
  url: string;
  /** Number of tries so far, including one in progress. */
  tries: number;
  dueAt: number;
  /** End of the job, epoch ms. */
  endedAt: number;
  /** Approximate memory that its body needs while it is sent, in bytes. */
  bytes: number;
}

interface FailedWebhook extends Pick<DueWebhook, 'id' | 'endpointId' | 'url' | 'tries'> {
  /** Error of the latest try. */
  why: string;
  /** Time of the next try; null if the webhook was given up. */
  dueAt: number | null;
}

/** One try of a webhook. If the job was retried and has ended again, that is another webhook. */
interface Tried {
  job: number;
  tries: number;
  endedAt: number;
}

const ofTry =
  'job = @job AND tries = @tries AND @endedAt IS (SELECT endedAt FROM job WHERE number = webhook.job)';

/** Memory for a text in a file, which is sent piece by piece. */
const bytesOfFile = 1024 * 1024;

/** Prepares the SQL statements of webhooks, in the job store. */
export function prepareWebhookStatements(db: Database) {
  return {
    add: db.prepare<[job: number | bigint, url: string, queue: string]>(
      'INSERT INTO webhook (job, url, queue, tries) VALUES (?, ?, ?, 0)',
    ),
    /** Makes the webhook of a job due at the end of the job, in epoch ms. Null for a job that runs again. */
    begin: db.prepare<[at: number | null, job: number]>(
      'UPDATE webhook SET dueAt = ?, tries = 0, why = NULL WHERE job = ?',
    ),
    /** Makes one index lookup for each queue, however many webhooks it has. */
    queues: db.prepare<[{ after: string; max: number }], { queue: string; dueAt: number }>(
      `WITH RECURSIVE waiting (queue) AS (
         SELECT min(queue) FROM webhook WHERE dueAt IS NOT NULL AND queue > @after
         UNION ALL SELECT (SELECT min(queue) FROM webhook WHERE dueAt IS NOT NULL AND queue > waiting.queue)
           FROM waiting WHERE waiting.queue IS NOT NULL LIMIT @max)
       SELECT queue, (SELECT min(dueAt) FROM webhook WHERE dueAt IS NOT NULL AND queue = waiting.queue) AS dueAt
       FROM waiting WHERE queue IS NOT NULL`,
    ),
    due: db.prepare<[{ queue: string; now: number; max: number }], DueWebhook>(
      `SELECT webhook.job, id, endpointId, keyId, queue, url, tries, dueAt, endedAt,
         iif(input.file IS NULL, octet_length(input.text), ${bytesOfFile})
           + iif(outputFile IS NULL, coalesce(octet_length(output), 0), ${bytesOfFile}) AS bytes
       FROM webhook JOIN job ON job.number = webhook.job JOIN input ON input.job = webhook.job
       WHERE queue = @queue AND dueAt IS NOT NULL AND dueAt <= @now AND endedAt IS NOT NULL
       ORDER BY dueAt, webhook.job LIMIT @max`,
    ),
    try: db.prepare<[Tried & { wasDueAt: number; dueAt: number }]>(
      `UPDATE webhook SET dueAt = @dueAt, tries = @tries + 1 WHERE ${ofTry} AND dueAt = @wasDueAt`,
    ),
    delivered: db.prepare<[Tried]>(`UPDATE webhook SET dueAt = NULL, why = NULL WHERE ${ofTry}`),
    failed: db.prepare<[Tried & { why: string; dueAt: number | null }]>(
      `UPDATE webhook SET dueAt = @dueAt, why = @why WHERE ${ofTry}`,
    ),
    /** Lists webhooks that were given up first. */
    allFailed: db.prepare<[max: number], FailedWebhook>(
      `SELECT id, endpointId, url, tries, why, dueAt FROM webhook JOIN job ON number = job
       WHERE why IS NOT NULL ORDER BY dueAt, webhook.job LIMIT ?`,
    ),
    countFailed: db.prepare<[], { failed: number; waiting: number }>(
      'SELECT count(*) AS failed, count(dueAt) AS waiting FROM webhook WHERE why IS NOT NULL',
    ),
    sendAgain: db.prepare<[{ now: number; id: string }]>(
      `UPDATE webhook SET dueAt = @now
       WHERE why IS NOT NULL AND job = (SELECT number FROM job WHERE id = @id)`,
    ),
    sendSomeAgain: db.prepare<[{ now: number; after: number; max: number }], { job: number }>(
      `UPDATE webhook SET dueAt = @now
       WHERE job IN (SELECT job FROM webhook WHERE why IS NOT NULL AND dueAt IS NULL AND job > @after
         ORDER BY job LIMIT @max) RETURNING job`,
    ),
  };
}

/** Selects the last three jobs in a state, by an index, so that the number of kept jobs does not matter. */
function latestIn(state: string): string {
  return `SELECT * FROM (SELECT state, number FROM job WHERE endedAt IS NOT NULL AND endpointId = @endpointId
    AND state = '${state}' AND startedAt IS NOT NULL ORDER BY number DESC LIMIT 3)`;
}

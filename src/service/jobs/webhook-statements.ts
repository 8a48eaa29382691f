/** Prepared SQL statements of webhooks, in the job store. */
import type { Database } from '../../lib/sqlite/database.ts';

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

/** Returns the queue of a webhook. Dead receivers do not delay others, and keys do not delay each other. */
export function queueOf(url: string, keyId: string): string {
  return `${new URL(url).origin} ${keyId}`;
}

const ofTry =
  'job = @job AND tries = @tries AND @endedAt IS (SELECT endedAt FROM job WHERE number = webhook.job)';

/** Memory for a text in a file, which is sent piece by piece. */
const bytesOfFile = 1024 * 1024;

export function prepareWebhookStatements(db: Database) {
  return {
    add: db.prepare<[job: number | bigint, url: string, queue: string]>(
      'INSERT INTO webhook (job, url, queue, tries) VALUES (?, ?, ?, 0)',
    ),
    /** `at` is null for a job that runs again. */
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

/** The statements of webhooks, in the job store. */
import type { Database } from '../../lib/sqlite/database.ts';

export interface DueWebhook {
  job: number;
  id: string;
  endpointId: string;
  url: string;
  /** Begun so far. */
  tries: number;
  dueAt: number;
  /** About as many of its body as will be in memory at a time. */
  bytes: number;
}

/** What stands in a file is sent piece by piece. */
const bytesOfFile = 1024 * 1024;

export function prepareWebhookStatements(db: Database) {
  return {
    add: db.prepare<[job: number | bigint, url: string]>(
      'INSERT INTO webhook (job, url, tries) VALUES (?, ?, 0)',
    ),
    begin: db.prepare<[at: number, job: number]>('UPDATE webhook SET dueAt = ?, tries = 0 WHERE job = ?'),
    due: db.prepare<[{ now: number; max: number; dueAt: number; job: number }], DueWebhook>(
      `SELECT webhook.job, id, endpointId, url, tries, dueAt,
         iif(input.file IS NULL, octet_length(input.text), ${bytesOfFile})
           + iif(outputFile IS NULL, coalesce(octet_length(output), 0), ${bytesOfFile}) AS bytes
       FROM webhook JOIN job ON job.number = webhook.job JOIN input ON input.job = webhook.job
       WHERE dueAt IS NOT NULL AND dueAt <= @now AND (dueAt, webhook.job) > (@dueAt, @job) AND endedAt IS NOT NULL
       ORDER BY dueAt, webhook.job LIMIT @max`,
    ),
    // Unless the job was retried and has ended again since, which is another webhook.
    postpone: db.prepare<[{ job: number; tries: number; wasDueAt: number | null; dueAt: number | null }]>(
      `UPDATE webhook SET dueAt = @dueAt, tries = @tries + 1
       WHERE job = @job AND tries = @tries AND dueAt IS @wasDueAt`,
    ),
    silence: db.prepare<[{ job: number; tries: number; dueAt: number | null }]>(
      'UPDATE webhook SET dueAt = NULL WHERE job = @job AND tries = @tries AND dueAt IS @dueAt',
    ),
  };
}

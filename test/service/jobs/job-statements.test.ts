/** Promise: queries of the job store do not become slower as the number of jobs grows. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { jobSchema } from '../../../src/service/jobs/job-schema.ts';
import { prepareJobStatements, prepareWebhookStatements } from '../../../src/service/jobs/job-statements.ts';
import { openForWriting } from '../../../src/lib/sqlite/database.ts';
import { makeDataDir } from '../service-harness.ts';

/**
 * Statements that may read a whole table: one runs once at the start, and the others read tables of limited
 * size.
 */
const mayReadAll = new Set(['files', 'waiting', 'idempotentSince', 'restartIdempotency', 'queues']);

it('each statement finds its rows by an index', async () => {
  const db = openForWriting(join(await makeDataDir(), 'service.sqlite'), jobSchema);
  const statements = { ...prepareJobStatements(db), ...prepareWebhookStatements(db) };
  const readingAll = Object.entries(statements).flatMap(([name, { source }]) => {
    const steps = db
      .prepare<[], { detail: string }>(`EXPLAIN QUERY PLAN ${source.replaceAll(/@\w+|\?/g, '1')}`)
      .all();
    return steps.some(({ detail }) => /^SCAN \w+$/.test(detail)) && !mayReadAll.has(name) ? [name] : [];
  });
  db.close();
  expect(readingAll).toEqual([]);
});

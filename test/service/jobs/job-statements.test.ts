/** Promise: what the service asks of its book takes no longer because many jobs are in it. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { jobSchema } from '../../../src/service/jobs/job-schema.ts';
import { prepareJobStatements, prepareWebhookStatements } from '../../../src/service/jobs/job-statements.ts';
import { openForWriting } from '../../../src/lib/sqlite/database.ts';
import { makeDataDir } from '../service-harness.ts';

/** Statements that may read a whole table: once at the start, a tally with a few rows for each endpoint, a table of one row, or rows whose number has a limit. */
const mayReadAll = new Set(['files', 'waiting', 'idempotentSince', 'restartIdempotency', 'queues']);

it('finds what it asks for by an index', async () => {
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

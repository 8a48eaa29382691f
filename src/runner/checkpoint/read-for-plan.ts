/** What a plan needs to know of a batch: what earlier runs took, what is left alone, where pictures were made. */
import type { Experience } from '../core/forecast.ts';
import type { RunStats } from '../core/run-stats.ts';
import { spentOn, type Pricing } from '../core/spending.ts';
import type { Database } from '../../lib/sqlite/database.ts';
import type { SetAside, MadeAt } from '../core/plan.ts';
import type { Endpoint } from '../core/attempt.ts';
import { storedJson } from './damage.ts';
import { readSpending } from './read-totals.ts';

/** Only the latest jobs: a batch's speed changes. */
const latestJobs = 512;

export function readExperience(db: Database, pricing: Pricing | undefined): Experience {
  const spending = readSpending(db);
  const latest = db
    .prepare<[number], { executionMs: number | null; inFlightMs: number | null }>(
      `SELECT execution_time_ms AS executionMs, settled_at - submitted_at AS inFlightMs
       FROM attempts WHERE +state = 'saved' ORDER BY attempt DESC LIMIT ?`,
    )
    .all(latestJobs);
  const saved = db.prepare<[], { n: number }>("SELECT count(*) AS n FROM attempts WHERE state = 'saved'");
  return {
    saved: saved.get()?.n ?? 0,
    spent: pricing && spentOn(spending, spending.times, pricing),
    jobs: spending.jobs,
    sample: latest.length,
    executionMs: median(latest.map(({ executionMs }) => executionMs)),
    inFlightMs: median(latest.map(({ inFlightMs }) => inFlightMs)),
    lastRun: readPace(db),
  };
}

function median(values: (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
}

/** How fast the latest run with an orderly end was, where it rendered anything. */
function readPace(db: Database): Experience['lastRun'] {
  const rows = db
    .prepare<[], { stats: string }>(
      'SELECT stats FROM runs WHERE stats IS NOT NULL ORDER BY run DESC LIMIT 20',
    )
    .all();
  for (const { stats } of rows) {
    const { jobs, tookMs, concurrency } = storedJson(stats, 'a run') as RunStats;
    const all = jobs.submitted + jobs.resumed;
    if (all > 0 && tookMs > 0) return { jobs: all, tookMs, concurrency };
  }
  return null;
}

/** Where the newest picture was found that no setting and no known shape gave the place of; null if none was. */
export function readFoundAt(db: Database): string | null {
  const newest = db.prepare<[], string | null>(
    `SELECT json_extract(output, '$.at')
     FROM (SELECT output FROM pictures ORDER BY picture DESC LIMIT ${latestJobs})
     WHERE CASE WHEN json_valid(output) THEN json_type(output, '$.at') = 'text' END LIMIT 1`,
  );
  return newest.pluck().get() ?? null;
}

/** The rest is counted. */
const maxBadRows = 5;

export function readSetAside(db: Database): SetAside {
  const attempts = db.prepare<[string], { n: number }>('SELECT count(*) AS n FROM attempts WHERE state = ?');
  return {
    inFlight: attempts.get('submitted')?.n ?? 0,
    intended: attempts.get('intended')?.n ?? 0,
    failed: readFailedKinds(db),
    badRows: db
      .prepare<[number], SetAside['badRows'][number]>(
        'SELECT source, problem FROM bad_rows ORDER BY position LIMIT ?',
      )
      .all(maxBadRows),
  };
}

/** Earlier attempts of the same scene that a service may have billed. */
export function readPaidBefore(db: Database, attempt: number): number {
  const paid = db.prepare<[number], { n: number }>(
    `SELECT count(*) AS n FROM attempts a JOIN attempts b ON b.scene = a.scene AND b.number < a.number
     WHERE a.attempt = ? AND b.state <> 'refused'`,
  );
  return paid.get(attempt)?.n ?? 0;
}

/** How many scenes have failed by which kind, the most first. */
export function readFailedKinds(db: Database): SetAside['failed'] {
  return db
    .prepare<[], SetAside['failed'][number]>(
      `SELECT coalesce(failure_kind, 'unknown') AS kind, count(*) AS scenes FROM scenes WHERE state = 'failed'
       GROUP BY kind ORDER BY scenes DESC, kind`,
    )
    .all();
}

/** Most frequent first, of the saved scenes that are listed. */
export function readMadeAt(db: Database): MadeAt[] {
  return db
    .prepare<[], Endpoint & { scenes: number }>(
      `SELECT a.base_url AS baseUrl, a.endpoint_id AS id, a.version, count(*) AS scenes
       FROM scenes s JOIN attempts a ON a.scene = s.scene AND a.number = s.attempts
       WHERE s.state = 'saved' GROUP BY 1, 2, 3 ORDER BY scenes DESC`,
    )
    .all()
    .map(({ scenes, ...endpoint }) => ({ endpoint, scenes }));
}

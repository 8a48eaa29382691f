/** Usage of each key: execution time of its jobs, and its open jobs. Triggers of the job store add it up. */
import { existsSync } from 'node:fs';
import { type Database, openForReading } from '../../lib/sqlite/database.ts';
import { jobSchema } from './job-schema.ts';

export interface EndpointUsage {
  endpointId: string;
  jobs: number;
  /** Execution time of ended jobs, in ms. */
  gpuMs: number;
}

/** Queued and running jobs of a key. */
interface OpenUsage {
  queued: number;
  queuedBytes: number;
  /** Sum of the execution timeouts of queued and running jobs, in ms. */
  openMs: number;
}

export class KeyUsage {
  readonly #sql: ReturnType<typeof prepareStatements>;

  constructor(db: Database) {
    this.#sql = prepareStatements(db);
  }

  of(keyId: string): EndpointUsage[] {
    return this.#sql.of.all(keyId);
  }

  open(keyId: string): OpenUsage {
    return this.#sql.open.get(keyId) ?? { queued: 0, queuedBytes: 0, openMs: 0 };
  }

  /** Returns the execution time in ms of jobs that ended on this day. `day` is in days of UTC since 1970. */
  msOn(keyId: string, day: number): number {
    return this.#sql.day.get(keyId, day)?.ms ?? 0;
  }

  /** Returns the ids of all keys that have submitted jobs, including deleted keys. */
  keyIds(): string[] {
    return this.#sql.keyIds.all().map(({ keyId }) => keyId);
  }
}

function prepareStatements(db: Database) {
  return {
    of: db.prepare<[string], EndpointUsage>(
      'SELECT endpointId, jobs, gpuMs FROM usage WHERE keyId = ? ORDER BY endpointId',
    ),
    open: db.prepare<[string], OpenUsage>(
      `SELECT coalesce(sum(queued), 0) AS queued, coalesce(sum(queuedBytes), 0) AS queuedBytes,
         coalesce(sum(openMs), 0) AS openMs FROM usage WHERE keyId = ?`,
    ),
    day: db.prepare<[string, number], { ms: number }>(
      'SELECT coalesce(sum(dayMs), 0) AS ms FROM usage WHERE keyId = ? AND day = ?',
    ),
    // `none` marks jobs that are older than the keys.
    keyIds: db.prepare<[], { keyId: string }>(
      "SELECT DISTINCT keyId FROM usage WHERE keyId <> 'none' ORDER BY keyId",
    ),
  };
}

/** Returns the usage by key id, also while a service is running. `path` is the job store. Throws `UnusableDatabase`. */
export function readKeyUsage(path: string): Map<string, EndpointUsage[]> {
  const db = existsSync(path) ? openForReading(path, jobSchema) : undefined;
  if (db === undefined) return new Map();
  try {
    // Stores from before the introduction of keys have no such table.
    const isKept = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'usage'").get() !== undefined;
    return isKept ? byKey(db) : new Map();
  } finally {
    db.close();
  }
}

function byKey(db: Database): Map<string, EndpointUsage[]> {
  const rows = db
    .prepare<[], EndpointUsage & { keyId: string }>(
      'SELECT keyId, endpointId, jobs, gpuMs FROM usage ORDER BY keyId, endpointId',
    )
    .all();
  const usage = new Map<string, EndpointUsage[]>();
  for (const { keyId, ...used } of rows) usage.set(keyId, [...(usage.get(keyId) ?? []), used]);
  return usage;
}

/** The usage of each key, also while a service is running. */
import { existsSync } from 'node:fs';
import { openForReading } from '../../lib/sqlite/database.ts';
import { jobSchema } from '../jobs/job-schema.ts';

export interface KeyUsage {
  endpointId: string;
  /** Submissions. */
  jobs: number;
  /** In workers. */
  gpuMs: number;
}

/** By the key's id; throws `UnusableDatabase`. `path` is that of the job store. */
export function readUsage(path: string): Map<string, KeyUsage[]> {
  const db = existsSync(path) ? openForReading(path, jobSchema) : undefined;
  if (db === undefined) return new Map();
  try {
    // A store older than keys.
    const isKept = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'usage'").get() !== undefined;
    return isKept ? byKey(db) : new Map();
  } finally {
    db.close();
  }
}

function byKey(db: NonNullable<ReturnType<typeof openForReading>>): Map<string, KeyUsage[]> {
  const rows = db
    .prepare<[], KeyUsage & { keyId: string }>(
      'SELECT keyId, endpointId, jobs, gpuMs FROM usage ORDER BY keyId, endpointId',
    )
    .all();
  const usage = new Map<string, KeyUsage[]>();
  for (const { keyId, ...used } of rows) usage.set(keyId, [...(usage.get(keyId) ?? []), used]);
  return usage;
}

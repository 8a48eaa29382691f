/** Where the pictures of a batch were made. */
import type { Endpoint } from '../core/attempt.ts';
import type { MadeAt } from '../core/plan.ts';
import type { Database } from '../../lib/sqlite/database.ts';

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

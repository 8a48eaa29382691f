/** How many scenes are in which state. */
import type { SceneCounts } from '../core/scene.ts';
import type { Database } from '../sqlite/database.ts';

export function readCounts(db: Database): SceneCounts {
  const states = db.prepare<[], { state: keyof SceneCounts; n: number }>(
    'SELECT state, count(*) AS n FROM scenes GROUP BY state',
  );
  const bad = db.prepare<[], { n: number }>('SELECT count(*) AS n FROM bad_rows').get();
  const counts = { waiting: 0, active: 0, saved: 0, failed: 0, withdrawn: 0, invalid: bad?.n ?? 0 };
  for (const { state, n } of states.all()) counts[state] = n;
  return counts;
}

/** The latest of a batch: what came to its end and what went wrong. */
import type { EndedAttempt } from '../core/run-condition.ts';
import type { Database } from '../../lib/sqlite/database.ts';

export interface Latest {
  /** The newest picture, relative to the images folder. */
  picture: string | undefined;
  trouble: { sceneId: string; kind: string; text: string; at: number } | undefined;
}

/** Attempts looked at: the newest are settled in about the order in which they began. */
const latestAttempts = 5_000;

/** Quick at any size. */
export function readLatest(db: Database): Latest {
  const picture = db
    .prepare<[], string>('SELECT file FROM pictures ORDER BY picture DESC LIMIT 1')
    .pluck()
    .get();
  const trouble = db
    .prepare<[number], NonNullable<Latest['trouble']>>(
      `SELECT s.id AS sceneId, l.failure_kind AS kind, coalesce(l.failure_text, '') AS text, l.settled_at AS at
       FROM (SELECT scene, failure_kind, failure_text, settled_at FROM attempts ORDER BY attempt DESC LIMIT ?) l
       JOIN scenes s USING (scene) WHERE l.failure_kind IS NOT NULL ORDER BY l.settled_at DESC LIMIT 1`,
    )
    .get(latestAttempts);
  return { picture, trouble };
}

/** The latest, in no order. Quick at any size. */
export function readEnded(db: Database): EndedAttempt[] {
  return db
    .prepare<[number], Omit<EndedAttempt, 'hasFinished'> & { hasFinished: number }>(
      `SELECT l.settled_at AS at, l.submitted_at AS submittedAt, l.execution_time_ms AS executionTimeMs,
         l.state = 'saved' OR EXISTS (SELECT 1 FROM scenes s
           WHERE s.scene = l.scene AND s.state = 'failed' AND s.attempts = l.number) AS hasFinished
       FROM (SELECT scene, number, state, submitted_at, settled_at, execution_time_ms
             FROM attempts ORDER BY attempt DESC LIMIT ?) l
       WHERE l.settled_at IS NOT NULL`,
    )
    .all(latestAttempts)
    .map((row) => ({ ...row, hasFinished: row.hasFinished === 1 }));
}

/** The latest of a batch: what it saved and what went wrong. */
import type { Database } from '../sqlite/database.ts';

export interface Latest {
  /** When it saved scenes of late, epoch ms, the newest first; at most some thousands. */
  savedAt: number[];
  /** The newest picture, relative to the images folder. */
  picture: string | undefined;
  trouble: { sceneId: string; kind: string; text: string; at: number } | undefined;
}

/** Attempts looked at: the newest are settled in about the order in which they began. */
const latestAttempts = 5_000;

/** Quick at any size. */
export function readLatest(db: Database): Latest {
  const savedAt = db
    .prepare<[number], number>(
      `SELECT settled_at FROM (SELECT state, settled_at FROM attempts ORDER BY attempt DESC LIMIT ?)
       WHERE state = 'saved' ORDER BY settled_at DESC`,
    )
    .pluck()
    .all(latestAttempts);
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
  return { savedAt, picture, trouble };
}

/** How far a checkpoint has come by its own word, and what was lost of it. */
import type { Database } from '../../lib/sqlite/database.ts';
import type { Reached } from './commit-mark.ts';

/** Of one that is only read, and may be of a version that did not count yet. */
export function readReached(db: Database): Reached {
  const attempts = db.prepare<[], number | null>('SELECT max(attempt) FROM attempts').pluck().get() ?? 0;
  const { number, lost_submissions: lost } = readCommits(db);
  return { commit: number, attempts: attempts + lost };
}

/** Submissions whose record was lost, which a person has accepted: they count as unanswered. */
export function readLostSubmissions(db: Database): number {
  return readCommits(db).lost_submissions;
}

interface Commits {
  number: number;
  lost_submissions: number;
}

/** Whether it is of a version that keeps something to be checked by. */
export function isCounted(db: Database): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'commits'").get() !== undefined;
}

export function readCommits(db: Database): Commits {
  const commits = isCounted(db) ? db.prepare<[], Commits>('SELECT * FROM commits').get() : undefined;
  return commits ?? { number: 0, lost_submissions: 0 };
}

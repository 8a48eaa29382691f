/** How far a checkpoint has come by its own word, and what was lost of it. */
import type { Database } from '../../lib/sqlite/database.ts';
import type { Reached } from './commit-mark.ts';

/** Of one that is only read, and may be of a version that did not count yet. */
export function readReached(db: Database): Reached {
  const attempts = db.prepare<[], number | null>('SELECT max(attempt) FROM attempts').pluck().get() ?? 0;
  const { number, lost_submissions: lost, unused_keys: unused } = readCommits(db);
  return { commit: number, attempts: attempts - unused + lost };
}

/** Submissions whose record was lost, which a person has accepted: they count as unanswered. */
export function readLostSubmissions(db: Database): number {
  return readCommits(db).lost_submissions;
}

interface Commits {
  number: number;
  lost_submissions: number;
  unused_keys: number;
}

/** Whether it is of a version that keeps something to be checked by. */
export function isCounted(db: Database): boolean {
  return db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'commits'").get() !== undefined;
}

export function readCommits(db: Database): Commits {
  const none = { number: 0, lost_submissions: 0, unused_keys: 0 };
  return isCounted(db)
    ? { ...none, ...db.prepare<[], Partial<Commits>>('SELECT * FROM commits').get() }
    : none;
}

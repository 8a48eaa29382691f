/** When the time of a job in the book is over, and what deletes it then, from the disk as well. */
import type { Database } from '../sqlite/database.ts';
import type { GroupCommit } from '../sqlite/group-commit.ts';
import type { DeletedJob, JobStanding, prepareJobStatements } from './job-statements.ts';

export interface JobExpiryParts {
  db: Database;
  commit: GroupCommit;
  sql: ReturnType<typeof prepareJobStatements>;
  /** How long a settled job is kept. */
  retentionMs: number;
  /** Wall clock, epoch ms. */
  now: () => number;
  /** Deletes files of outputs whose jobs are gone. */
  deleteFiles?: (names: string[]) => void;
}

/** Few enough that deleting large results never holds the service up for long. */
const deletionsAtOnce = 25;

/** While nobody waits for the service. */
const deletionsBetweenServices = 1_000;

/** A book up to this size is small enough to be rewritten in an instant. */
const maxRebuildBytes = 64 * 1024 * 1024;

export class JobExpiry {
  readonly #parts: JobExpiryParts;
  #mayHoldRemains = true;

  constructor(parts: JobExpiryParts) {
    this.#parts = parts;
  }

  isOver({ endedAt }: Pick<JobStanding, 'endedAt'>): boolean {
    return endedAt !== null && endedAt <= this.#newestEnd();
  }

  /**
   * Deletes a few of the jobs whose time is over and returns how many; call until 0, then `scrub`. What a power cut
   * brings back is still over.
   */
  async deleteSome(): Promise<number> {
    const { commit, sql } = this.#parts;
    if (sql.expired.get({ until: this.#newestEnd() }) === undefined) return 0;
    return this.#forget(await commit.writeUnsynced(() => this.#delete(deletionsAtOnce)));
  }

  /** All of them and what they left behind, while there is no service. */
  deleteAll(): void {
    while (this.#forget(this.#delete(deletionsBetweenServices)) > 0);
    this.scrub(true);
  }

  /**
   * Removes what deleted jobs left behind: their copies in the write-ahead log, and the copies of texts that SQLite
   * leaves in a page when it moves rows to another, which `secure_delete` does not reach. The latter takes a rewrite
   * of the book, so it is done to small books while they are idle, at start and at the end.
   */
  scrub(isIdle = this.#parts.sql.open.get() === undefined): void {
    const { db } = this.#parts;
    const bytes = this.#pragma('page_count') * this.#pragma('page_size');
    if (this.#mayHoldRemains && isIdle && bytes <= maxRebuildBytes) {
      db.exec('VACUUM');
      this.#mayHoldRemains = false;
    }
    db.pragma('wal_checkpoint(TRUNCATE)');
  }

  #delete(max: number): DeletedJob[] {
    return this.#parts.sql.deleteExpired.all({ until: this.#newestEnd(), max });
  }

  /** Of jobs that are deleted, what is elsewhere. */
  #forget(jobs: DeletedJob[]): number {
    if (jobs.length > 0) this.#mayHoldRemains = true;
    this.#parts.deleteFiles?.(jobs.flatMap(({ outputFile }) => outputFile ?? []));
    return jobs.length;
  }

  /** Jobs that ended at this instant or before are over. */
  #newestEnd(): number {
    return Math.floor(this.#parts.now()) - this.#parts.retentionMs;
  }

  #pragma(name: string): number {
    return Number(this.#parts.db.pragma(name, { simple: true }));
  }
}

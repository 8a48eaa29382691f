/** What the attempts of a batch came to, kept up to date by reading only what is new. */
import type { AttemptState } from '../core/attempt.ts';
import type { Database, Statement } from '../../lib/sqlite/database.ts';
import { addBrought, nothingBrought, type Brought } from '../core/spending.ts';
import { readLostSubmissions } from './commit-mark.ts';
import { readBrought, spentColumns } from './read-totals.ts';

/** Rows between two turns of the event loop. */
const pageRows = 10_000;

const spentKeys = ['executedMs', 'untold', 'untimed', 'rendered'] as const;

type Spent = Record<(typeof spentKeys)[number], number>;

interface Row extends Spent {
  attempt: number;
  scene: number;
  state: AttemptState;
  settled_at: number | null;
  failure_kind: string | null;
}

export interface KindTally {
  attempts: number;
  /** The latest of them. */
  last: number;
}

/** A settled attempt never changes, so each is counted once; those in flight are read again. */
export class AttemptTally {
  total = 0;
  /** Not accepted by the service: no job, no bill. */
  refused = 0;
  unanswered = 0;
  expired = 0;
  /** As `Spending` has them. */
  readonly spent: Spent = { executedMs: 0, untold: 0, untimed: 0, rendered: 0 };
  brought: Brought = nothingBrought;
  readonly kinds = new Map<string, KindTally>();
  readonly #open = new Set<number>();
  /** Scenes of attempts that have begun or ended since this was emptied. */
  readonly touched = new Set<number>();
  #lost = 0;
  #seen = 0;
  #lastPicture = 0;

  get inFlight(): number {
    return this.#open.size;
  }

  /** Most of a long batch, with turns of the event loop in it; what little is left is for `catchUp`. */
  async catchUpSlowly(db: Database, breathe: () => Promise<void>): Promise<void> {
    const page = pageOf(db);
    while (this.#readPage(page) === pageRows) await breathe();
  }

  catchUp(db: Database): void {
    const again = db.prepare<[string], Row>(
      `SELECT ${columns} FROM attempts WHERE attempt IN (SELECT value FROM json_each(?)) AND settled_at IS NOT NULL`,
    );
    for (const row of again.all(JSON.stringify([...this.#open]))) {
      this.#open.delete(row.attempt);
      this.#addSettled(row);
    }
    const page = pageOf(db);
    while (this.#readPage(page) === pageRows);
    const lost = readLostSubmissions(db) - this.#lost;
    this.#lost += lost;
    this.total += lost;
    this.unanswered += lost;
    this.#spend({ executedMs: 0, untold: lost, untimed: lost, rendered: lost });
    this.brought = addBrought(this.brought, readBrought(db, this.#lastPicture));
    this.#lastPicture = db.prepare<[], number | null>('SELECT max(picture) FROM pictures').pluck().get() ?? 0;
  }

  #readPage(page: Statement<[number]>): number {
    const rows = page.all(this.#seen) as Row[];
    for (const row of rows) {
      this.total += 1;
      this.touched.add(row.scene);
      if (row.settled_at === null) this.#open.add(row.attempt);
      else this.#addSettled(row);
    }
    this.#seen = rows.at(-1)?.attempt ?? this.#seen;
    return rows.length;
  }

  #addSettled({ attempt, scene, state, failure_kind, ...spent }: Row): void {
    this.touched.add(scene);
    this.#spend(spent);
    if (state === 'refused') this.refused += 1;
    if (state === 'unanswered') this.unanswered += 1;
    if (state === 'expired') this.expired += 1;
    if (failure_kind !== null) this.#addFailure(failure_kind, attempt);
  }

  #spend(spent: Spent): void {
    for (const key of spentKeys) this.spent[key] += spent[key];
  }

  #addFailure(kind: string, attempt: number): void {
    const { attempts, last } = this.kinds.get(kind) ?? { attempts: 0, last: 0 };
    this.kinds.set(kind, { attempts: attempts + 1, last: Math.max(last, attempt) });
  }
}

const spent = spentColumns();
const columns = `attempt, scene, state, settled_at, failure_kind, coalesce(${spent.executedMs}, 0) AS executedMs,
  ${spent.untold} AS untold, ${spent.untimed} AS untimed, ${spent.rendered} AS rendered`;

function pageOf(db: Database): Statement<[number]> {
  return db.prepare<[number]>(
    `SELECT ${columns} FROM attempts WHERE attempt > ? ORDER BY attempt LIMIT ${pageRows}`,
  );
}

/** What a runner remembers of what it has put on record lately, so that it can write that back where the database has lost it. */
import type { Attempt } from '../../core/attempt.ts';

/** How far the batch has come by the latest answer; all of it only grows, unless the database goes back. */
export interface Seen {
  /** Version of the batch when this runner wrote last. */
  own: number;
  version: number;
  /** Attempts that were ever begun. */
  claimed: number;
}

/** Longer than most replicas stay behind; a few hundred bytes a write. */
const keptMs = 5 * 60_000;
const keptWrites = 100_000;

interface Group {
  number: number;
  at: number;
  writes: number;
  /** For the function in the database, without what it only answers. */
  lists: Record<string, object[]>;
}

export class Recall {
  /** That of the run: another run may get its number where its row was lost. */
  readonly token: string;
  seen: Seen = { own: 0, version: 0, claimed: 0 };
  /** From when it is noticed until all is written back. */
  isBehind = false;
  #groups: Group[] = [];
  /** Number of the latest that is not remembered any more. */
  #forgotten = 0;
  #writes = 0;
  readonly #elapsed: () => number;

  constructor(token: string, elapsed: () => number) {
    this.token = token;
    this.#elapsed = elapsed;
  }

  keep(number: number, lists: Record<string, object[]>, claimed: Attempt[]): void {
    const { claim: _claim, owner: _owner, ...kept } = lists;
    const all = { ...kept, ...(claimed.length > 0 && { reclaim: claimed.map(reclaimedRow) }) };
    const writes = Object.values(all).reduce((sum, rows) => sum + rows.length, 0);
    if (writes === 0 || this.#groups.some((group) => group.number === number)) return;
    this.#groups.push({ number, at: this.#elapsed(), writes, lists: all });
    this.#writes += writes;
    const tooOld = this.#elapsed() - keptMs;
    for (
      let [first] = this.#groups;
      first && (first.at < tooOld || this.#writes > keptWrites);
      [first] = this.#groups
    ) {
      this.#groups.shift();
      this.#forgotten = first.number;
      this.#writes -= first.writes;
    }
  }

  /** Whether something that came after the group of this number is not remembered. */
  hasForgotten(number: number): boolean {
    return this.#forgotten > number;
  }

  /** What came after the group of this number, in order. */
  after(number: number): Group[] {
    return this.#groups.filter((group) => group.number > number);
  }
}

function reclaimedRow({ key, sceneId, fingerprint, number, endpoint, idempotency }: Attempt): object {
  return { attempt: key, sceneId, fingerprint, number, ...endpoint, at: idempotency?.intendedAt ?? 0 };
}

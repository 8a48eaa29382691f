/** Remembers what a runner recorded lately, so that the runner can write it back if the database loses it. */
import type { Attempt } from '../../core/attempt.ts';

/** Progress of the batch by the latest answer. All numbers only grow, unless the database goes back. */
export interface Seen {
  /** Version of the batch when this runner last wrote. */
  own: number;
  version: number;
  /** Number of attempts ever begun. */
  claimed: number;
}

export interface Found {
  /** Number of the last group that the database had. */
  lastGroup: number;
  /** True if others had declared the run dead. */
  isDead: boolean;
}

/** Longer than most replicas lag behind. A write takes a few hundred bytes. */
const keptMs = 5 * 60_000;
const keptWrites = 100_000;

interface Group {
  number: number;
  at: number;
  writes: number;
  /** Lists for the database function, without those that only ask. */
  lists: Record<string, object[]>;
}

export class Recall {
  /** Token of the run. Another run may get the same number if the row of this one is lost. */
  readonly token: string;
  seen: Seen = { own: 0, version: 0, claimed: 0 };
  /** True from when a loss is noticed until everything is written back. */
  isBehind = false;
  /** State of the database when writing back began. If that is interrupted, the database shows it no more. */
  found: Found | undefined;
  #groups: Group[] = [];
  /** Number of the latest group that is no longer remembered. */
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

  /** True if a group after this number is no longer remembered. */
  hasForgotten(number: number): boolean {
    return this.#forgotten > number;
  }

  after(number: number): Group[] {
    return this.#groups.filter((group) => group.number > number);
  }
}

function reclaimedRow({ key, sceneId, fingerprint, number, endpoint, idempotency }: Attempt): object {
  return { attempt: key, sceneId, fingerprint, number, ...endpoint, at: idempotency?.intendedAt ?? 0 };
}

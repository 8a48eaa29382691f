/** The best of each group of pictures, by a number that each may have. */

export interface Candidate {
  /** Of its own. */
  key: string;
  /** Equal within a group. */
  group: string;
  /** Undefined where it has none: it is never the best. */
  value: number | undefined;
  /** Of equal values the lower one is better; undefined where there is none. */
  seedNumber: number | undefined;
}

/** Given each candidate in the order of its list. */
export class BestOf {
  readonly #count: number;
  readonly #best = new Map<string, Candidate[]>();

  /** How many of each group. */
  constructor(count: number) {
    this.#count = count;
  }

  add(candidate: Candidate): void {
    if (candidate.value === undefined) return;
    const best = this.#best.get(candidate.group) ?? [];
    const place = best.findIndex((other) => isBetter(candidate, other));
    best.splice(place === -1 ? best.length : place, 0, candidate);
    this.#best.set(candidate.group, best.slice(0, this.#count));
  }

  /** The keys of the best of every group; `open`: groups whose best is not known yet. */
  chosen(open: ReadonlySet<string>): Set<string> {
    const settled = [...this.#best].filter(([group]) => !open.has(group));
    return new Set(settled.flatMap(([, best]) => best.map(({ key }) => key)));
  }
}

/** The one that came earlier stays ahead of its equals. */
function isBetter(a: Candidate, b: Candidate): boolean {
  const [left = -Infinity, right = -Infinity] = [a.value, b.value];
  if (left !== right) return left > right;
  return (a.seedNumber ?? Infinity) < (b.seedNumber ?? Infinity);
}

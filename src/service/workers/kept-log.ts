/** Log lines of a worker: the latest ones, and those of its current job. */

const maxLatestLines = 200;
const maxLineLength = 2_000;
const maxJobLogLength = 64 * 1024;

export class KeptLog {
  readonly latest: string[] = [];
  #ofJob: string[] | undefined;
  #length = 0;

  /** Number of lines ever written. */
  count = 0;

  add(line: string): void {
    this.count += 1;
    const kept = line.length <= maxLineLength ? line : `${line.slice(0, maxLineLength)}…`;
    this.latest.push(kept);
    if (this.latest.length > maxLatestLines) this.latest.shift();
    if (this.#ofJob === undefined) return;
    this.#ofJob.push(kept);
    this.#length += kept.length + 1;
    // The end of a log says more than its beginning.
    while (this.#length > maxJobLogLength) this.#length -= (this.#ofJob.shift()?.length ?? 0) + 1;
  }

  /** Starts the log of a new job. */
  begin(): void {
    this.#ofJob = [];
    this.#length = 0;
  }

  /** Lines since the latest call of `begin`. */
  get ofJob(): readonly string[] {
    return this.#ofJob ?? [];
  }
}

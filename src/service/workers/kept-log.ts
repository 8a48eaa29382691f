/** What a worker writes for people: its latest lines, and those of the job it is at. */

const maxLatestLines = 200;
const maxLineLength = 2_000;
const maxJobLogLength = 64 * 1024;

export class KeptLog {
  readonly latest: string[] = [];
  #ofJob: string[] | undefined;
  #length = 0;

  /** Lines that were ever written. */
  count = 0;

  add(line: string): void {
    this.count += 1;
    const kept = line.length <= maxLineLength ? line : `${line.slice(0, maxLineLength)}…`;
    this.latest.push(kept);
    if (this.latest.length > maxLatestLines) this.latest.shift();
    if (this.#ofJob === undefined) return;
    this.#ofJob.push(kept);
    this.#length += kept.length + 1;
    // The end says more than the beginning.
    while (this.#length > maxJobLogLength) this.#length -= (this.#ofJob.shift()?.length ?? 0) + 1;
  }

  /** What comes from now on belongs to a job. */
  begin(): void {
    this.#ofJob = [];
    this.#length = 0;
  }

  /** The lines since then. */
  get ofJob(): readonly string[] {
    return this.#ofJob ?? [];
  }
}

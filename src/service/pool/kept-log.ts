/** What a worker writes for people: its latest lines, and those of the job it is at. */

const maxLatestLines = 200;
const maxLineLength = 2_000;
const maxJobLogLength = 64 * 1024;

export class KeptLog {
  readonly latest: string[] = [];
  #ofJob: string[] | undefined;
  #length = 0;

  /** When the last line was written, or its job gave another sign (monotonic ms). */
  signAt = performance.now();

  /** Lines that were ever written. */
  count = 0;

  add(line: string): void {
    this.touch();
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

  touch(): void {
    this.signAt = performance.now();
  }

  /** Calls once when nothing has come for so long; what is returned ends that. */
  onSilence(ms: number, call: () => void): () => void {
    const timer = setInterval(() => {
      if (performance.now() - this.signAt < ms) return;
      clearInterval(timer);
      call();
    }, ms / 4).unref();
    return () => clearInterval(timer);
  }

  /** What comes from now on belongs to a job. */
  begin(): void {
    this.touch();
    this.#ofJob = [];
    this.#length = 0;
  }

  /** The lines since then, with line breaks; undefined where there are none. */
  end(): string | undefined {
    const lines = this.#ofJob;
    this.#ofJob = undefined;
    return lines === undefined || lines.length === 0 ? undefined : lines.join('\n');
  }

  get ofJob(): readonly string[] {
    return this.#ofJob ?? [];
  }
}

/** The report of a run that goes on, written now and then, so that a run that is killed has left one. */
import { FatalFailure } from '../core/failure.ts';
import type { Run } from './run.ts';

/** The next one is not begun before this many times as long as the last one took: 3 % of the time at most. */
const restShare = 30;

export class InterimReports {
  readonly #run: Run;
  readonly #over = new AbortController();
  #working: Promise<void> = Promise.resolve();
  /** What was wrong with the last one. */
  #trouble: string | undefined;

  constructor(run: Run) {
    this.#run = run;
  }

  begin(): void {
    const { reportEveryMs } = this.#run.settings;
    if (reportEveryMs !== undefined) this.#working = this.#work(reportEveryMs);
  }

  /** Cuts the one that is being written; resolves when nothing is being written any more. */
  async end(): Promise<void> {
    this.#over.abort();
    await this.#working;
  }

  async #work(everyMs: number): Promise<void> {
    const { ports, stop } = this.#run;
    const signal = AbortSignal.any([stop.leaving, this.#over.signal]);
    let waitMs = everyMs;
    while (!signal.aborted) {
      await ports.clock.sleep(waitMs, signal);
      const began = ports.clock.elapsed();
      if (!signal.aborted) await this.#write(signal);
      waitMs = Math.max(everyMs, restShare * (ports.clock.elapsed() - began));
    }
  }

  /** A disk that does not take it ends no run: there is another one to come. */
  async #write(signal: AbortSignal): Promise<void> {
    const { report, emit } = this.#run.ports;
    try {
      await report.update(signal);
      this.#trouble = undefined;
    } catch (thrown) {
      if (!(thrown instanceof FatalFailure)) return this.#run.stopForThrown(thrown);
      const text = `the report of the run so far was not written: ${thrown.message}`;
      if (text !== this.#trouble) emit({ type: 'warning', text });
      this.#trouble = text;
    }
  }
}

/** Writes the report during a run now and then, so that a killed run leaves one. */
import { FatalFailure } from '../core/failure.ts';
import type { Ports, Report } from './ports.ts';
import type { Stop } from './stop.ts';

interface InterimPorts extends Pick<Ports, 'clock' | 'emit'> {
  report: Pick<Report, 'update'>;
}

/** The next one is not begun before this many times as long as the last one took: 3 % of the time at most. */
const restShare = 30;

export class InterimReports {
  readonly #ports: InterimPorts;
  readonly #stop: Stop;
  readonly #over = new AbortController();
  #working: Promise<void> = Promise.resolve();
  /** What was wrong with the last one. */
  #problem: string | undefined;

  constructor(ports: InterimPorts, stop: Stop) {
    this.#ports = ports;
    this.#stop = stop;
  }

  /** None are written without `everyMs`. */
  begin(everyMs: number | undefined): void {
    if (everyMs !== undefined) this.#working = this.#work(everyMs);
  }

  /** Cuts the one that is being written; resolves when nothing is being written any more. */
  async end(): Promise<void> {
    this.#over.abort();
    await this.#working;
  }

  async #work(everyMs: number): Promise<void> {
    const { clock } = this.#ports;
    const signal = AbortSignal.any([this.#stop.leaving, this.#over.signal]);
    let waitMs = everyMs;
    while (!signal.aborted) {
      await clock.sleep(waitMs, signal);
      const began = clock.elapsed();
      if (!signal.aborted) await this.#write(signal);
      waitMs = Math.max(everyMs, restShare * (clock.elapsed() - began));
    }
  }

  /** A disk that does not take it ends no run: there is another one to come. */
  async #write(signal: AbortSignal): Promise<void> {
    const { report, emit } = this.#ports;
    try {
      await report.update(signal);
      this.#problem = undefined;
    } catch (thrown) {
      if (!(thrown instanceof FatalFailure)) return this.#stop.forThrown(thrown);
      const text = `the report of the run so far was not written: ${thrown.message}`;
      if (text !== this.#problem) emit({ type: 'warning', text });
      this.#problem = text;
    }
  }
}

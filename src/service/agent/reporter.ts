/** Reports of a remote worker to the service: its machine, its state and its log. */
import { once } from 'node:events';
import type { MachineView } from '../../protocol/console-data.ts';
import { RefusedForGood, type ServiceClient } from './service-client.ts';

/** Limits of the log in one report. The service accepts reports of up to 1 MB. */
const maxLines = 1_000;
const maxLogBytes = 512 * 1024;
const maxErrorLength = 10_000;
const maxNameLength = 200;
/** Maximum wait for a report in ms before work goes on. A proxy may let results pass and no reports. */
const maxWaitMs = 10_000;
/** Time limit of the last report in ms, as the service may be away. */
const farewellMs = 3_000;

export class Reporter {
  readonly #parts;
  readonly #end = new AbortController();
  #lines: string[] = [];
  #logBytes = 0;
  #omitted = 0;
  /** Error of the worker that died. Null once the service has received it, or no longer needs it. */
  #died: string | null = null;
  /** Ids of the jobs that the service has assigned to the worker, as of the latest report. */
  jobs: string[] = [];
  /** True if the service knows that the worker takes no more jobs. */
  isDrained = false;
  isSending = false;
  #isKnown = false;
  #isRefusalReported = false;
  /** Latest report. Reports are sent one after the other, so that lines arrive in order. */
  #sending: Promise<void> = Promise.resolve();

  constructor(parts: {
    client: ServiceClient;
    machine: (signal: AbortSignal) => Promise<MachineView>;
    workload: string;
    /** Aborted when the worker takes no more jobs. */
    ending: AbortSignal;
    /** Aborted when the worker must leave at once. Reports in progress are aborted as well. */
    leave: AbortSignal;
    onProblem: (text: string) => void;
    /** Called when the service wants the worker to end. */
    onDrain: () => void;
    onRefused: (error: RefusedForGood) => void;
  }) {
    this.#parts = parts;
  }

  log(line: string): void {
    this.#lines.push(line);
    this.#logBytes += bytesOf(line);
    while (this.#lines.length > maxLines || this.#logBytes > maxLogBytes) {
      this.#logBytes -= bytesOf(this.#lines.shift() ?? '');
      this.#omitted += 1;
    }
  }

  /**
   * Reports that the worker is there. Resolves once the service has accepted or refused it, or the worker is to
   * end.
   */
  start(): Promise<void> {
    return this.send(AbortSignal.any([this.#parts.ending, this.#signal]));
  }

  /** Sends a report. Resolves when the attempt is over, even if it failed. */
  send(signal = this.#signal, died: string | null = null): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send(signal, died)).catch(() => undefined);
    return this.#sending;
  }

  /**
   * Resolves once the log so far has arrived, or a time limit is over. `died`: error of the worker that died. The
   * service then requeues its jobs; a later report would requeue the next job.
   */
  async flush(died: string | null = null): Promise<void> {
    const limit = AbortSignal.timeout(maxWaitMs);
    const signal = this.#signal;
    this.#died = died?.slice(0, maxErrorLength) ?? null;
    const sent = died === null ? this.send() : this.send(AbortSignal.any([limit, signal]), this.#died);
    await Promise.race([sent, once(limit, 'abort')]);
    // If the report was aborted, the last report contains the error.
    if (!signal.aborted) this.#died = null;
  }

  /**
   * Sends the last report, if the service knows this worker. If the service is away, tries only if a job has to be
   * given back.
   */
  async leave(): Promise<void> {
    this.#end.abort();
    await this.#sending;
    const { client, leave } = this.#parts;
    if (!this.#isKnown || (client.isAway && !leave.aborted)) return;
    await this.#send(AbortSignal.timeout(farewellMs), this.#died, 'leaving').catch(() => undefined);
  }

  get #signal(): AbortSignal {
    return AbortSignal.any([this.#parts.leave, this.#end.signal]);
  }

  async #send(signal: AbortSignal, died: string | null, last?: 'leaving'): Promise<void> {
    const { client, machine, workload, ending, onDrain, onRefused } = this.#parts;
    const { lines, omitted } = this.#takeLines();
    const log = omitted === 0 ? lines : [`(${omitted} lines omitted: too many at once)`, ...lines];
    this.isSending = true;
    try {
      const seen = last === undefined ? await machine(signal) : null;
      const state = last ?? (ending.aborted ? 'draining' : 'working');
      const name = workload.slice(0, maxNameLength);
      const answer = await client.report({ machine: seen, workload: name, state, log, died }, signal);
      this.#isKnown = true;
      if ('refusal' in answer) return this.#noteRefusal(answer.refusal);
      this.jobs = answer.jobs;
      this.isDrained = state === 'draining';
      if (answer.drain && state === 'working') onDrain();
    } catch (error) {
      const since = this.#takeLines();
      this.#omitted = omitted + since.omitted;
      for (const line of [...lines, ...since.lines]) this.log(line);
      if (error instanceof RefusedForGood) onRefused(error);
      throw error;
    } finally {
      this.isSending = false;
    }
  }

  #takeLines(): { lines: string[]; omitted: number } {
    const taken = { lines: this.#lines, omitted: this.#omitted };
    [this.#lines, this.#logBytes, this.#omitted] = [[], 0, 0];
    return taken;
  }

  /** Reports the first refusal as a problem. Jobs do not depend on reports. */
  #noteRefusal(why: string): void {
    if (!this.#isRefusalReported)
      this.#parts.onProblem(
        `the service refuses a report of this worker (${why}): part of its log is lost there`,
      );
    this.#isRefusalReported = true;
  }
}

function bytesOf(line: string): number {
  return Buffer.byteLength(JSON.stringify(line)) + 1;
}

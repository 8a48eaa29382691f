/** What a worker of ours says of itself: its machine, its state and its log. */
import { once } from 'node:events';
import type { MachineView } from '../../protocol/console-data.ts';
import { RefusedForGood, type ServiceClient } from './service-client.ts';

/** The service takes a report of a megabyte. */
const maxLines = 1_000;
const maxLogBytes = 512 * 1024;
const maxDeathLength = 10_000;
const maxNameLength = 200;
/** What needs its log there waits so long: a proxy may let results through and no reports. */
const maxWaitMs = 10_000;
/** The service may be away. */
const farewellMs = 3_000;

export class Reporter {
  readonly #parts;
  readonly #end = new AbortController();
  #lines: string[] = [];
  #logBytes = 0;
  #omitted = 0;
  /** What a worker died of, until the service has heard of it, or is not to any more. */
  #died: string | null = null;
  /** What the service has it at, as of the last report. */
  jobs: string[] = [];
  /** Whether the service knows that it takes no more. */
  isDrained = false;
  isSending = false;
  #isKnown = false;
  #isRefusalSaid = false;
  /** One after the other, so that lines arrive in order. */
  #sending: Promise<void> = Promise.resolve();

  constructor(parts: {
    client: ServiceClient;
    machine: (signal: AbortSignal) => Promise<MachineView>;
    workload: string;
    /** It takes no more jobs. */
    ending: AbortSignal;
    /** What is being sent is broken off. */
    leave: AbortSignal;
    onProblem: (text: string) => void;
    /** The service wants the worker to end. */
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

  /** Says that it is there; resolves once the service has heard or refused it, or it is to end. */
  start(): Promise<void> {
    return this.send(AbortSignal.any([this.#parts.ending, this.#signal]));
  }

  /** Resolves, also where that does not arrive, once it is not under way any more. */
  send(signal = this.#signal, died: string | null = null): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send(signal, died)).catch(() => undefined);
    return this.#sending;
  }

  /**
   * What it has said until now is there when this resolves, if it gets through in time. `died`: why its worker has, which
   * has the service put its jobs back; later that would cost it the next one.
   */
  async flush(died: string | null = null): Promise<void> {
    const limit = AbortSignal.timeout(maxWaitMs);
    const signal = this.#signal;
    this.#died = died?.slice(0, maxDeathLength) ?? null;
    const sent = died === null ? this.send() : this.send(AbortSignal.any([limit, signal]), this.#died);
    await Promise.race([sent, once(limit, 'abort')]);
    // Where that was broken off, the last word has it.
    if (!signal.aborted) this.#died = null;
  }

  /** The last word, where the service knows it; one that is away is told only of a job that is given back. */
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

  /** Its jobs do not depend on it. */
  #noteRefusal(why: string): void {
    if (!this.#isRefusalSaid)
      this.#parts.onProblem(
        `the service refuses a report of this worker (${why}): part of its log is lost there`,
      );
    this.#isRefusalSaid = true;
  }
}

function bytesOf(line: string): number {
  return Buffer.byteLength(JSON.stringify(line)) + 1;
}

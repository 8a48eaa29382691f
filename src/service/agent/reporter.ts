/** What a worker of ours says of itself every ten seconds: its machine, its state and its log. */
import type { MachineView } from '../../protocol/console-data.ts';
import type { WorkerReport } from '../pool/worker-report.ts';
import { RefusedForGood, type ServiceClient } from './service-client.ts';

export interface ReporterParts {
  client: ServiceClient;
  machine: () => Promise<MachineView>;
  workload: string;
  /** What is being sent is broken off. */
  leave: AbortSignal;
}

const pauseMs = 10_000;
const maxLines = 1_000;
/** The service may be away. */
const farewellMs = 3_000;

export class Reporter {
  readonly #parts: ReporterParts;
  readonly #drain = new AbortController();
  readonly #end = new AbortController();
  #lines: string[] = [];
  #omitted = 0;
  #died: string | null = null;
  #state: 'working' | 'draining' = 'working';
  #refused: RefusedForGood | undefined;
  /** What the service has it at, as of the last report. */
  jobs: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isSending = false;
  /** One after the other, so that lines arrive in order. */
  #sending: Promise<void> = Promise.resolve();

  constructor(parts: ReporterParts) {
    this.#parts = parts;
  }

  /** Aborts when the service wants the worker to end. */
  get drain(): AbortSignal {
    return this.#drain.signal;
  }

  log(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length <= maxLines) return;
    this.#lines.shift();
    this.#omitted += 1;
  }

  /** Has the service put the jobs of the worker back, and count that as a death. */
  noteDeath(why: string): void {
    this.#died = why;
  }

  /** Says that it is there, and goes on saying so. Throws `RefusedForGood`. */
  async start(): Promise<void> {
    await this.send();
    this.#timer = setInterval(() => {
      // While the service is away one is enough.
      if (!this.#isSending) void this.send().catch(() => undefined);
    }, pauseMs);
  }

  /** Says that it takes no more jobs. */
  beginDrain(): void {
    this.#state = 'draining';
    void this.send().catch(() => undefined);
  }

  throwIfRefused(): void {
    if (this.#refused !== undefined) throw this.#refused;
  }

  send(): Promise<void> {
    const sent = this.#sending.then(() => this.#send(this.#state, this.#signal));
    this.#sending = sent.catch(() => undefined);
    return sent;
  }

  /** The last word. */
  async leave(): Promise<void> {
    clearInterval(this.#timer);
    this.#end.abort();
    await this.#sending;
    await this.#send('leaving', AbortSignal.timeout(farewellMs)).catch(() => undefined);
  }

  get #signal(): AbortSignal {
    return AbortSignal.any([this.#parts.leave, this.#end.signal]);
  }

  async #send(state: WorkerReport['state'], signal: AbortSignal): Promise<void> {
    const { client, machine, workload } = this.#parts;
    const omitted = this.#omitted === 0 ? [] : [`(${this.#omitted} lines omitted: too many at once)`];
    const lines = this.#lines;
    const died = this.#died;
    const report = { machine: await machine(), workload, state, log: [...omitted, ...lines], died };
    this.#lines = [];
    this.#omitted = 0;
    this.#died = null;
    this.#isSending = true;
    try {
      const { drain, jobs } = await client.report(report, signal);
      this.jobs = jobs;
      if (drain && state === 'working') this.#drain.abort();
    } catch (error) {
      this.#lines.unshift(...lines);
      this.#died ??= died;
      if (error instanceof RefusedForGood) {
        this.#refused = error;
        this.#drain.abort();
      }
      throw error;
    } finally {
      this.#isSending = false;
    }
  }
}

/** What a worker of ours says of itself every ten seconds: its machine, its state and its log. */
import type { MachineView } from '../../protocol/console-data.ts';
import type { WorkerReport } from '../pool/worker-report.ts';
import { RefusedForGood, type ServiceClient } from './service-client.ts';

export interface ReporterParts {
  client: ServiceClient;
  machine: (signal: AbortSignal) => Promise<MachineView>;
  workload: string;
  /** What is being sent is broken off. */
  leave: AbortSignal;
  onProblem: (text: string) => void;
}

const pauseMs = 10_000;
/** The service takes a report of a megabyte. */
const maxLines = 1_000;
const maxLogBytes = 512 * 1024;
const maxDeathLength = 10_000;
const maxNameLength = 200;
/** The service may be away. */
const farewellMs = 3_000;

export class Reporter {
  readonly #parts: ReporterParts;
  readonly #drain = new AbortController();
  readonly #end = new AbortController();
  #lines: string[] = [];
  #logBytes = 0;
  #omitted = 0;
  #died: string | null = null;
  #state: 'working' | 'draining' = 'working';
  #refused: RefusedForGood | undefined;
  /** What the service has it at, as of the last report. */
  jobs: string[] = [];
  #isKnown = false;
  #timer: NodeJS.Timeout | undefined;
  #isSending = false;
  #isRefusalSaid = false;
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
    this.#logBytes += bytesOf(line);
    while (this.#lines.length > maxLines || this.#logBytes > maxLogBytes) {
      this.#logBytes -= bytesOf(this.#lines.shift() ?? '');
      this.#omitted += 1;
    }
  }

  /** Has the service put the jobs of the worker back, and count that as a death. */
  noteDeath(why: string): void {
    this.#died = why.slice(0, maxDeathLength);
  }

  /** Says that it is there, as soon as the service hears it or `ending` aborts, and goes on saying so. Throws `RefusedForGood`. */
  async start(ending: AbortSignal): Promise<void> {
    await this.#send('working', AbortSignal.any([ending, this.#signal])).catch((error: unknown) => {
      if (!ending.aborted) throw error;
    });
    this.#timer = setInterval(() => {
      // While the service is away one is enough.
      if (!this.#isSending) void this.send().catch(() => undefined);
    }, pauseMs);
  }

  /** Says that it takes no more jobs. */
  beginDrain(): undefined {
    this.#state = 'draining';
    void this.send().catch(() => undefined);
  }

  throwIfRefused(): void {
    if (this.#refused !== undefined) throw this.#refused;
  }

  /** Resolves to whether the service took it. Throws `RefusedForGood`. */
  send(): Promise<boolean> {
    const sent = this.#sending.then(() => this.#send(this.#state, this.#signal));
    this.#sending = sent.then(
      () => undefined,
      () => undefined,
    );
    return sent;
  }

  /** The last word, where the service knows it; one that is away is told only of a job that is given back. */
  async leave(): Promise<void> {
    clearInterval(this.#timer);
    this.#end.abort();
    await this.#sending;
    const { client, leave } = this.#parts;
    if (!this.#isKnown || (client.isAway && !leave.aborted)) return;
    await this.#send('leaving', AbortSignal.timeout(farewellMs)).catch(() => undefined);
  }

  get #signal(): AbortSignal {
    return AbortSignal.any([this.#parts.leave, this.#end.signal]);
  }

  async #send(state: WorkerReport['state'], signal: AbortSignal): Promise<boolean> {
    const { client, machine, workload } = this.#parts;
    const seen = state === 'leaving' ? null : await machine(signal);
    const { lines, omitted } = this.#takeLines();
    const died = this.#died;
    const log = omitted === 0 ? lines : [`(${omitted} lines omitted: too many at once)`, ...lines];
    this.#died = null;
    this.#isSending = true;
    try {
      const name = workload.slice(0, maxNameLength);
      const answer = await client.report({ machine: seen, workload: name, state, log, died }, signal);
      this.#isKnown = true;
      if ('refusal' in answer) {
        this.#died ??= died;
        this.#noteRefusal(answer.refusal);
        return false;
      }
      this.jobs = answer.jobs;
      if (answer.drain && state === 'working') this.#drain.abort();
      return true;
    } catch (error) {
      const since = this.#takeLines();
      this.#omitted = omitted + since.omitted;
      for (const line of [...lines, ...since.lines]) this.log(line);
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

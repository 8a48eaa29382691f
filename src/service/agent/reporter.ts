/** Reports of a remote worker to the service: its machine, its state and its log. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, hostname, totalmem } from 'node:os';
import { withTimeLimit } from '../../lib/limits.ts';
import type { GpuView, MachineView } from '../../protocol/console-data.ts';
import { helperEnvironment } from '../workloads/worker-environment.ts';
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
  /** Error of a worker that died, kept until a report with it is sent. Null otherwise. */
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

  /** Reports the worker. Resolves once it was accepted or refused, or is to end. */
  start(): Promise<void> {
    return this.send(AbortSignal.any([this.#parts.ending, this.#signal]));
  }

  /** Sends a report. Resolves when the attempt is over, even if it failed. */
  send(signal = this.#signal, died: string | null = null): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send(signal, died)).catch(() => undefined);
    return this.#sending;
  }

  /** Resolves once the log has arrived, or after a limit. `died`: the service then requeues the worker's jobs. */
  async flush(died: string | null = null): Promise<void> {
    const limit = AbortSignal.timeout(maxWaitMs);
    const signal = this.#signal;
    this.#died = died?.slice(0, maxErrorLength) ?? null;
    const sent = died === null ? this.send() : this.send(AbortSignal.any([limit, signal]), this.#died);
    await Promise.race([sent, once(limit, 'abort')]);
    if (!signal.aborted) this.#died = null;
  }

  /** Sends the last report. If the service does not answer, sends it only if the worker has a job to give back. */
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

/** Describes this machine, with GPUs by the NVIDIA driver unless `signal` aborts. `device`: the only GPU used. */
export async function describeMachine(device: string | undefined, signal: AbortSignal): Promise<MachineView> {
  const gpus = await nvidiaGpus(signal);
  return {
    host: hostname(),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    gpus: device === undefined ? gpus : gpus.filter(({ index }) => String(index) === device),
  };
}

const columns = 'index,name,memory.total,memory.used,driver_version,temperature.gpu';

/** Time limit of `nvidia-smi` in ms. A driver that hangs may prevent even its end, so nothing waits for it. */
const queryMs = 5_000;

/** Returns the GPUs; none if there is no driver or it does not answer. */
function nvidiaGpus(signal: AbortSignal): Promise<GpuView[]> {
  const query = [`--query-gpu=${columns}`, '--format=csv,noheader,nounits'];
  return withTimeLimit(
    queryMs,
    signal,
    (limit) =>
      new Promise((resolve) => {
        const child = execFile('nvidia-smi', query, { env: helperEnvironment() }, (error, output) =>
          resolve(error === null ? readGpus(output) : []),
        );
        const giveUp = (): void => {
          // A program that could not be started has no id, and Node would kill the group of this process instead.
          if (child.pid !== undefined) child.kill('SIGKILL');
          resolve([]);
        };
        if (limit.aborted) giveUp();
        else limit.addEventListener('abort', giveUp, { once: true });
      }),
  );
}

/** Reads lines such as `0, NVIDIA H200, 143771, 512, 570.86.15, 31`. Memory is in MiB. */
export function readGpus(output: string): GpuView[] {
  return output
    .split('\n')
    .map((line) => line.split(', '))
    .filter((fields) => fields.length === 6)
    .map(([index, name = '', total, used, driver = '', celsius]) => ({
      index: amountIn(index),
      name,
      memoryBytes: amountIn(total) * 1024 ** 2,
      usedMemoryBytes: amountIn(used) * 1024 ** 2,
      driver,
      celsius: amountIn(celsius),
    }));
}

/** Returns a number; 0 for `[N/A]`, which some cards report. */
function amountIn(text: string | undefined): number {
  const amount = Number(text);
  return Number.isFinite(amount) ? amount : 0;
}

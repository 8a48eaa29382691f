/** A worker on another machine: takes jobs from the service, has its workload do them, and brings what came of them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { MachineView } from '../../protocol/console-data.ts';
import { textOf } from '../pool/supervised.ts';
import {
  outputText,
  WorkerDied,
  type Worker,
  type Workload,
  type WorkloadJob,
} from '../workloads/workload.ts';
import { Reporter } from './reporter.ts';
import type { Delivery, ServiceClient } from './service-client.ts';

export interface JobWorkerOptions {
  client: ServiceClient;
  workerId: string;
  workload: Workload;
  machine: (signal: AbortSignal) => Promise<MachineView>;
  /** Ends after so long without a job; never where undefined. */
  idleMs: number | undefined;
  /** The workload is started anew after so many jobs; never where undefined. */
  recycleJobs: number | undefined;
  /** Finishes the job that it is at, and takes no more. */
  drain: AbortSignal;
  /** Gives the job back and ends. */
  leave: AbortSignal;
  onEvent: (text: string) => void;
}

const pingMs = 10_000;
/** A result waits so long for the log of its job to be there. */
const maxLogWaitMs = 10_000;
const maxPauseMs = 60_000;

/** Resolves, with why in words, when it has ended. Throws `RefusedForGood`. */
export async function workAtJobs(options: JobWorkerOptions): Promise<string> {
  const worker = new JobWorker(options);
  try {
    return await worker.work();
  } finally {
    await worker.end();
  }
}

class JobWorker {
  readonly #options: JobWorkerOptions;
  readonly #reporter: Reporter;
  #worker: Worker | undefined;
  #jobsOfWorker = 0;
  /** How often what it runs has ended by itself since it last did a job. */
  #deaths = 0;

  constructor(options: JobWorkerOptions) {
    this.#options = options;
    const { client, machine, workload, leave, onEvent: onProblem } = options;
    this.#reporter = new Reporter({ client, machine, workload: workload.name, leave, onProblem });
  }

  async work(): Promise<string> {
    const { client, idleMs, drain, leave } = this.#options;
    const ending = AbortSignal.any([drain, leave, this.#reporter.drain]);
    await this.#reporter.start(ending);
    let freeSince = performance.now();
    ending.addEventListener('abort', () => this.#reporter.beginDrain(), { once: true });
    while (!ending.aborted) {
      // Not before: a job is not to wait for what cannot be started.
      if ((await this.#ready(ending)) === undefined) break;
      const idle = idleMs === undefined ? [] : [AbortSignal.timeout(idleLeft(freeSince, idleMs))];
      const job = await client.take(AbortSignal.any([ending, ...idle])).catch(unlessAborted(ending, ...idle));
      if (job !== undefined) {
        await this.#do(job);
        freeSince = performance.now();
      } else if (!ending.aborted && idle.some(({ aborted }) => aborted)) return 'there was nothing to do';
    }
    this.#reporter.throwIfRefused();
    if (leave.aborted) return 'it was told to leave at once';
    return drain.aborted ? 'it was told to end' : 'the service drained it';
  }

  /** Stops the workload, and has the service know that it is gone. */
  async end(): Promise<void> {
    await this.#worker?.stop();
    await this.#reporter.leave();
  }

  /** With its workload up; undefined where it is to end. */
  async #ready(ending: AbortSignal): Promise<Worker | undefined> {
    const { workload, workerId, recycleJobs, onEvent } = this.#options;
    if (this.#worker !== undefined && this.#jobsOfWorker === recycleJobs) {
      const old = this.#worker;
      this.#worker = undefined;
      await old.stop();
    }
    for (; this.#worker === undefined; this.#deaths += 1) {
      // The first time it is started anew at once.
      const pauseMs = this.#deaths < 2 ? 0 : Math.min(maxPauseMs, 500 * 2 ** this.#deaths);
      if (pauseMs > 0) onEvent(`${workload.name} is started again in ${pauseMs / 1_000} s`);
      await sleep(pauseMs, undefined, { signal: ending }).catch(() => undefined);
      if (ending.aborted) return undefined;
      try {
        const log = (line: string): void => this.#reporter.log(line);
        const started = await workload.startWorker({ workerId, log, signal: ending });
        this.#worker = started;
        this.#jobsOfWorker = 0;
        void started.ended.then((why) => this.#onEnded(started, why));
        return started;
      } catch (error) {
        if (ending.aborted) return undefined;
        onEvent(`${workload.name} cannot be started: ${textOf(error)}`);
      }
    }
    return this.#worker;
  }

  #onEnded(worker: Worker, why: string): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#deaths += 1;
    this.#options.onEvent(`${this.#options.workload.name} ended: ${why}`);
  }

  async #do(job: WorkloadJob): Promise<void> {
    const { client, leave, onEvent } = this.#options;
    const over = new AbortController();
    const unwanted = new AbortController();
    const ping = setInterval(() => void client.ping(job.id), pingMs);
    const stopping = this.#untilUnwanted(job.id, over.signal, unwanted);
    const begunAt = performance.now();
    onEvent(`job ${job.id} begins`);
    try {
      const end = AbortSignal.any([leave, unwanted.signal]);
      // It may have ended while it waited for a job.
      const worker = await this.#ready(end);
      const body = worker && (await this.#outcomeOf(worker, job, end));
      if (body === undefined && unwanted.signal.aborted)
        return onEvent(`job ${job.id} is not wanted any more`);
      if (leave.aborted) return;
      const seconds = (performance.now() - begunAt) / 1_000;
      // Its log has to be there when the job ends, but a proxy may let results through and no reports.
      await Promise.race([this.#reporter.send(), sleep(maxLogWaitMs, undefined, { ref: false })]);
      if (body === undefined) return;
      const became = await this.#deliver(job.id, body, unwanted.signal);
      this.#deaths = 0;
      onEvent(`job ${job.id} ${became} (${seconds.toFixed(seconds < 10 ? 2 : 0)} s)`);
    } catch (error) {
      if (!leave.aborted) throw error;
    } finally {
      clearInterval(ping);
      over.abort();
      await stopping;
      this.#jobsOfWorker += 1;
    }
  }

  /** However long the service is away: whether a result is still wanted it decides when it comes. In words, what became of it. */
  async #deliver(jobId: string, body: string, unwanted: AbortSignal): Promise<string> {
    const { client, leave: signal, onEvent } = this.#options;
    const onProblem = (text: string): void => {
      onEvent(`the result of job ${jobId} is not handed in yet: ${text}`);
      this.#reporter.log(`the result is not handed in yet: ${text}`);
    };
    const how = { signal, unwanted, onProblem };
    const delivery = await client.finish(jobId, body, how);
    if (delivery.kind !== 'refused') return becameOf[delivery.kind];
    const why = `the service did not take its result of ${Buffer.byteLength(body)} bytes: ${delivery.why}`;
    await client.finish(jobId, JSON.stringify({ error: why }), how);
    return `has failed: ${why}`;
  }

  /** What the service is told; undefined where the workload died, which it is told otherwise. */
  async #outcomeOf(worker: Worker, job: WorkloadJob, signal: AbortSignal): Promise<string | undefined> {
    const { client, onEvent } = this.#options;
    try {
      const output = await worker.run(job, {
        signal,
        progress: (message) =>
          client.send('job-done', job.id, `{"status":"IN_PROGRESS","output":${outputText(message)}}`),
        stream: (part) => client.send('job-stream', job.id, `{"output":${outputText(part)}}`),
      });
      return `{"output":${outputText(output)}}`;
    } catch (error) {
      if (signal.aborted) return undefined;
      const text = textOf(error);
      onEvent(`job ${job.id}: ${text}`);
      if (!(error instanceof WorkerDied)) return JSON.stringify({ error: text });
      this.#reporter.noteDeath(text);
      return undefined;
    }
  }

  async #untilUnwanted(jobId: string, over: AbortSignal, unwanted: AbortController): Promise<void> {
    const { client } = this.#options;
    // It fails where the job is over, and where the service refuses this worker, which its report finds out as well.
    for (let ids: string[] | undefined = []; ids !== undefined;) {
      if (ids.includes(jobId)) return unwanted.abort();
      ids = await client.toStop(over).catch(() => undefined);
    }
  }
}

const becameOf = {
  accepted: 'is done',
  unwanted: 'was done, and nobody wants it any more',
  known: 'is done: the service has its result from an earlier try, or wants it no more',
} as const satisfies Record<Exclude<Delivery['kind'], 'refused'>, string>;

function idleLeft(freeSince: number, idleMs: number): number {
  return Math.max(0, Math.round(freeSince + idleMs - performance.now()));
}

/** Undefined for what was broken off by one of these. */
function unlessAborted(...signals: AbortSignal[]): (error: unknown) => undefined {
  return (error) => {
    if (signals.some(({ aborted }) => aborted)) return undefined;
    throw error;
  };
}

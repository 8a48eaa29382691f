/** A worker on another machine: kept up as the service's own are, until it is to end. It asks there for its jobs, or is a container that does. */
import { once } from 'node:events';
import type { MachineView } from '../../protocol/console-data.ts';
import { byteCountOf, type Text } from '../../lib/files/filed-text.ts';
import {
  type BegunJob,
  type JobSource,
  type OfferedJob,
  type Outcome,
  PullingWorker,
} from '../workers/pulling-worker.ts';
import { Supervised } from '../workers/supervised.ts';
import {
  outputText,
  type PullWorker,
  type PullWorkload,
  type WorkerContext,
  type Workload,
} from '../workloads/workload.ts';
import { Reporter } from './reporter.ts';
import type { Delivery, ServiceClient } from './service-client.ts';

export interface AgentOptions {
  client: ServiceClient;
  workerId: string;
  workload: Workload | PullWorkload;
  machine: (signal: AbortSignal) => Promise<MachineView>;
  /** Ends after so long without a job; never where undefined. */
  idleMs: number | undefined;
  /** The workload is started anew after so many jobs; never where undefined, nor where it is a container. */
  recycleJobs: number | undefined;
  /** Finishes the job that it is at, and takes no more. */
  drain: AbortSignal;
  /** Gives the job back and ends. */
  leave: AbortSignal;
  onEvent: (text: string) => void;
}

const pingMs = 10_000;
const reportMs = 10_000;
/** What a container is at the service alone knows. */
const containerReportMs = 2_000;

/** Resolves, with why in words, when it has ended. Throws `RefusedForGood`. */
export async function runAgent(options: AgentOptions): Promise<string> {
  const agent = new Agent(options);
  try {
    return await agent.work();
  } finally {
    await agent.end();
  }
}

class Agent implements JobSource {
  readonly #options: AgentOptions;
  readonly #isContainer: boolean;
  readonly #reporter: Reporter;
  readonly #supervised: Supervised;
  /** Aborted with why in words. */
  readonly #enough = new AbortController();
  /** No more jobs are to be taken. */
  readonly #ending: AbortSignal;
  /** Nothing more is done, nor brought. */
  readonly #over = new AbortController();
  /** Why the service will have nothing of it any more. */
  #refusal: Error | undefined;
  /** Once the service has heard what the worker before died of. */
  #heard: Promise<void> = Promise.resolve();
  /** What was asked for, until a worker has begun with what came: the one that asked may have ended. */
  #taking: Promise<OfferedJob | undefined> | undefined;
  /** Of the job that it was given. */
  #pingTimer: NodeJS.Timeout | undefined;
  /** Since the worker was started. */
  #jobsDone = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #reportTimer: NodeJS.Timeout | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { workload, drain, leave, onEvent } = options;
    this.#isContainer = 'startPullWorker' in workload;
    this.#ending = AbortSignal.any([drain, leave, this.#enough.signal]);
    leave.addEventListener('abort', () => this.#over.abort(), { once: true });
    this.#reporter = new Reporter({
      ...options,
      workload: workload.name,
      ending: this.#ending,
      onProblem: onEvent,
      onDrain: () => this.#enough.abort('the service drained it'),
      onRefused: (error) => this.#noteRefusal(error),
    });
    this.#supervised = new Supervised({
      now: Date.now,
      start: (context) => this.#start(context),
      onChange: () => this.#startOrEnd(),
      onEnded: (_, why) => {
        if (this.#isContainer) this.#tellDeath(why);
      },
      onProblem: (text, pauseMs) => {
        const isLast = pauseMs === 0 || this.#ending.aborted;
        onEvent(isLast ? text : `${text}; starting again in ${pauseMs / 1_000} s`);
      },
    });
  }

  async work(): Promise<string> {
    const { drain, leave } = this.#options;
    await this.#reporter.start();
    this.#ending.addEventListener('abort', () => void this.#report(), { once: true });
    this.#ending.addEventListener('abort', () => this.#startOrEnd(), { once: true });
    // While the service is away one is enough.
    const reportOrLook = (): void => void (this.#reporter.isSending ? this.#look() : this.#report());
    this.#reportTimer = setInterval(reportOrLook, this.#isContainer ? containerReportMs : reportMs);
    this.#startOrEnd();
    if (!this.#over.signal.aborted) await once(this.#over.signal, 'abort');
    if (this.#refusal !== undefined) throw this.#refusal;
    if (leave.aborted) return 'it was told to leave at once';
    return drain.aborted ? 'it was told to end' : String(this.#enough.signal.reason);
  }

  /** Stops the workload, and has the service know that it is gone. */
  async end(): Promise<void> {
    this.#over.abort();
    clearInterval(this.#reportTimer);
    clearTimeout(this.#idleTimer);
    await this.#supervised.stop();
    clearInterval(this.#pingTimer);
    await this.#reporter.leave();
  }

  take(signal: AbortSignal): Promise<OfferedJob | undefined> {
    this.#noteFree();
    return new Promise((resolve) => {
      const giveUp = (): void => resolve(undefined);
      const hand = (job: OfferedJob | undefined): void => {
        // Another worker gets it, or the service has it back.
        if (signal.aborted || this.#over.signal.aborted) return;
        signal.removeEventListener('abort', giveUp);
        this.#taking = undefined;
        resolve(job);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      void (this.#taking ??= this.#take()).then(hand);
    });
  }

  begin({ id }: OfferedJob, unwanted: AbortController): BegunJob {
    const { client, onEvent } = this.#options;
    this.#noteBusy();
    this.#supervised.isExcused = false;
    const ended = new AbortController();
    void this.#stopUnwanted(id, ended.signal, unwanted);
    const begunAt = performance.now();
    onEvent(`job ${id} begins`);
    return {
      progress: (message) =>
        client.send('job-done', id, ['{"status":"IN_PROGRESS","output":', outputText(message), '}']),
      stream: (part) => client.send('job-stream', id, ['{"output":', outputText(part), '}']),
      end: async (outcome) => {
        const bring = this.#bring(id, outcome, performance.now() - begunAt, unwanted.signal);
        await bring.catch((error: unknown) => {
          if (!this.#over.signal.aborted) this.#noteRefusal(error);
        });
        clearInterval(this.#pingTimer);
        ended.abort();
      },
    };
  }

  async #start(context: WorkerContext): Promise<PullWorker> {
    const { workload, workerId } = this.#options;
    const log = (line: string): void => {
      context.log(line);
      this.#reporter.log(line);
    };
    const own = { ...context, workerId, log };
    this.#jobsDone = 0;
    if ('startPullWorker' in workload) return await workload.startPullWorker(own);
    return new PullingWorker(await workload.startWorker(own), this);
  }

  #startOrEnd(): void {
    if (!this.#ending.aborted) void this.#heard.then(() => this.#supervised.start());
    else if (this.#supervised.state !== 'up') this.#over.abort();
  }

  /** That has the service put back all that it was given. */
  #tellDeath(why: string): void {
    this.#heard = this.#reporter.flush(why);
  }

  /** A worker brings what it is at; what a container is at cannot be known any more. */
  #noteRefusal(error: unknown): void {
    this.#refusal ??= error as Error;
    if (this.#isContainer) this.#over.abort();
    else this.#enough.abort();
  }

  async #take(): Promise<OfferedJob | undefined> {
    const { client } = this.#options;
    try {
      const job = await client.take(this.#ending);
      if (job !== undefined) this.#pingTimer = setInterval(() => void client.ping(job.id), pingMs);
      return job;
    } catch (error) {
      if (!this.#ending.aborted) this.#noteRefusal(error);
      this.#over.abort();
      return undefined;
    }
  }

  async #report(): Promise<void> {
    await this.#reporter.send();
    this.#look();
  }

  /** Sees whether a container is at a job; of a service that is away what it said last counts. */
  #look(): void {
    if (!this.#isContainer || this.#supervised.state !== 'up') return;
    if (this.#reporter.jobs.length > 0) {
      this.#supervised.markHealthy();
      this.#noteBusy();
    } else if (!this.#ending.aborted || this.#reporter.isDrained || this.#options.client.isAway)
      this.#noteFree();
  }

  /** It is at no job, and gets none once it is ending. */
  #noteFree(): void {
    const { idleMs } = this.#options;
    if (this.#ending.aborted) this.#over.abort();
    else if (idleMs !== undefined) this.#idleTimer ??= setTimeout(() => this.#noteIdle(), idleMs);
  }

  #noteIdle(): void {
    this.#noteBusy();
    // One that is not up cannot tell whether there is something to do.
    if (this.#supervised.state === 'up') this.#enough.abort('there was nothing to do');
  }

  #noteBusy(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
  }

  async #bring(
    id: string,
    outcome: Outcome | undefined,
    tookMs: number,
    unwanted: AbortSignal,
  ): Promise<void> {
    const { recycleJobs, onEvent } = this.#options;
    if (outcome === undefined) {
      if (this.#supervised.isExcused) onEvent(`job ${id} is not wanted any more`);
      return;
    }
    if (!('output' in outcome)) onEvent(`job ${id}: ${'died' in outcome ? outcome.died : outcome.error}`);
    if ('died' in outcome) return this.#tellDeath(outcome.died);
    // Its log has to be there when the job ends.
    await this.#reporter.flush();
    const body = 'output' in outcome ? ['{"output":', outcome.output, '}'] : [JSON.stringify(outcome)];
    const seconds = tookMs / 1_000;
    const became = await this.#deliver(id, body, unwanted);
    this.#supervised.markHealthy();
    onEvent(`job ${id} ${became} (${seconds.toFixed(seconds < 10 ? 2 : 0)} s)`);
    this.#jobsDone += 1;
    if (this.#jobsDone === recycleJobs) void this.#supervised.retire();
  }

  /** However long the service is away: whether a result is still wanted it decides when it comes. In words, what became of it. */
  async #deliver(jobId: string, body: readonly Text[], unwanted: AbortSignal): Promise<string> {
    const { client, onEvent } = this.#options;
    const onProblem = (text: string): void => {
      onEvent(`the result of job ${jobId} is not handed in yet: ${text}`);
      this.#reporter.log(`the result is not handed in yet: ${text}`);
    };
    const how = { signal: this.#over.signal, unwanted, onProblem };
    const delivery = await client.finish(jobId, body, how);
    if (delivery.kind !== 'refused') return becameOf[delivery.kind];
    const why = `the service did not take its result of ${byteCountOf(body)} bytes: ${delivery.why}`;
    await client.finish(jobId, [JSON.stringify({ error: why })], how);
    return `has failed: ${why}`;
  }

  async #stopUnwanted(jobId: string, ended: AbortSignal, unwanted: AbortController): Promise<void> {
    // It fails where the job has ended, and where the service refuses this worker, which its report finds out as well.
    let ids: string[] | undefined = [];
    while (ids !== undefined && !ids.includes(jobId))
      ids = await this.#options.client.toStop(ended).catch(() => undefined);
    if (ids === undefined) return;
    this.#supervised.isExcused = true;
    unwanted.abort();
  }
}

const becameOf = {
  accepted: 'is done',
  unwanted: 'was done, and nobody wants it any more',
  known: 'is done: the service has its result from an earlier try, or wants it no more',
} as const satisfies Record<Exclude<Delivery['kind'], 'refused'>, string>;

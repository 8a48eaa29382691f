/** A worker on another machine, which is restarted if it dies. It pulls its jobs, or its container does. */
import { once } from 'node:events';
import type { MachineView } from '../../protocol/console-data.ts';
import { byteCountOf, type Text } from '../../lib/files/filed-text.ts';
import {
  type BegunJob,
  type JobSource,
  type OfferedJob,
  type Outcome,
  PullingWorker,
  Supervised,
} from '../workers/supervised.ts';
import {
  outputText,
  type PullWorker,
  type PullWorkload,
  type WorkerContext,
  type Workload,
} from '../workloads/workload-definition.ts';
import { Reporter } from './reporter.ts';
import type { Delivery, ServiceClient } from './service-client.ts';

export interface AgentOptions {
  client: ServiceClient;
  workerId: string;
  workload: Workload | PullWorkload;
  machine: (signal: AbortSignal) => Promise<MachineView>;
  /** Time in ms without a job after which the worker ends; undefined for never. */
  idleMs: number | undefined;
  /** Number of jobs after which the workload is restarted; undefined for never. Ignored for a container. */
  recycleJobs: number | undefined;
  /** Aborted to finish the current job and take no more. */
  drain: AbortSignal;
  /** Aborted to give the current job back and end. */
  leave: AbortSignal;
  onEvent: (text: string) => void;
}

const pingMs = 10_000;
const reportMs = 10_000;
/** Shorter than `reportMs`, because only reports tell which job a container runs. */
const containerReportMs = 2_000;

/** Runs a worker until it ends. Returns the reason as text. Throws `RefusedForGood`. */
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
  /** Aborted, with a reason for people, when the worker takes no more jobs. */
  readonly #stopTaking = new AbortController();
  /** Aborted when no more jobs are taken, for any reason. */
  readonly #ending: AbortSignal;
  /** Aborted when everything ends, including deliveries. */
  readonly #over = new AbortController();
  /** Set when the service refuses this worker for good. */
  #refusal: Error | undefined;
  /** Resolves once the service has received the error of the previous worker. */
  #crashReported: Promise<void> = Promise.resolve();
  /** Request for a job, kept until a worker takes the job: the worker that asked may have ended. */
  #taking: Promise<OfferedJob | undefined> | undefined;
  #pingTimer: NodeJS.Timeout | undefined;
  /** Number of jobs since the worker was started. */
  #jobsDone = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #reportTimer: NodeJS.Timeout | undefined;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { workload, drain, leave, onEvent } = options;
    this.#isContainer = 'startPullWorker' in workload;
    this.#ending = AbortSignal.any([drain, leave, this.#stopTaking.signal]);
    leave.addEventListener('abort', () => this.#over.abort(), { once: true });
    this.#reporter = new Reporter({
      ...options,
      workload: workload.name,
      ending: this.#ending,
      onProblem: onEvent,
      onDrain: () => this.#stopTaking.abort('the service drained it'),
      onRefused: (error) => this.#noteRefusal(error),
    });
    this.#supervised = new Supervised({
      now: Date.now,
      start: (context) => this.#start(context),
      onChange: () => this.#startOrEnd(),
      onEnded: (_, why) => {
        if (this.#isContainer) this.#reportCrash(why);
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
    // While a report is being retried, no second one is started.
    const reportOrCheck = (): void =>
      void (this.#reporter.isSending ? this.#checkContainer() : this.#report());
    this.#reportTimer = setInterval(reportOrCheck, this.#isContainer ? containerReportMs : reportMs);
    this.#startOrEnd();
    if (!this.#over.signal.aborted) await once(this.#over.signal, 'abort');
    if (this.#refusal !== undefined) throw this.#refusal;
    if (leave.aborted) return 'it was told to leave at once';
    return drain.aborted ? 'it was told to end' : String(this.#stopTaking.signal.reason);
  }

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
        // The next worker gets the job, or the service gets it back.
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
        const finished = this.#finishJob(id, outcome, performance.now() - begunAt, unwanted.signal);
        await finished.catch((error: unknown) => {
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
    if (!this.#ending.aborted) void this.#crashReported.then(() => this.#supervised.start());
    else if (this.#supervised.state !== 'up') this.#over.abort();
  }

  /** Reports that the worker died, so that the service requeues its jobs. */
  #reportCrash(why: string): void {
    this.#crashReported = this.#reporter.flush(why);
  }

  /** Handles a final refusal. A worker may still deliver its job; those of a container are not known. */
  #noteRefusal(error: unknown): void {
    this.#refusal ??= error as Error;
    if (this.#isContainer) this.#over.abort();
    else this.#stopTaking.abort();
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
    this.#checkContainer();
  }

  /** Checks whether a container runs a job. If the service is away, the latest report counts. */
  #checkContainer(): void {
    if (!this.#isContainer || this.#supervised.state !== 'up') return;
    if (this.#reporter.jobs.length > 0) {
      this.#supervised.markHealthy();
      this.#noteBusy();
    } else if (!this.#ending.aborted || this.#reporter.isDrained || this.#options.client.isAway)
      this.#noteFree();
  }

  /** Notes that no job is running. Ends a worker that takes no more jobs; otherwise starts the idle timeout. */
  #noteFree(): void {
    const { idleMs } = this.#options;
    if (this.#ending.aborted) this.#over.abort();
    else if (idleMs !== undefined) this.#idleTimer ??= setTimeout(() => this.#noteIdle(), idleMs);
  }

  #noteIdle(): void {
    this.#noteBusy();
    // A worker that is not up cannot know whether there is work.
    if (this.#supervised.state === 'up') this.#stopTaking.abort('there was nothing to do');
  }

  #noteBusy(): void {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
  }

  async #finishJob(
    id: string,
    outcome: Outcome | undefined,
    tookMs: number,
    unwanted: AbortSignal,
  ): Promise<void> {
    const { recycleJobs, onEvent } = this.#options;
    if (outcome === undefined) {
      if (this.#supervised.isExcused) onEvent(`job ${id} is no longer wanted`);
      return;
    }
    if (!('output' in outcome)) onEvent(`job ${id}: ${'died' in outcome ? outcome.died : outcome.error}`);
    if ('died' in outcome) return this.#reportCrash(outcome.died);
    // The log must arrive before the job ends.
    await this.#reporter.flush();
    const body = 'output' in outcome ? ['{"output":', outcome.output, '}'] : [JSON.stringify(outcome)];
    const seconds = tookMs / 1_000;
    const outcomeText = await this.#deliver(id, body, unwanted);
    this.#supervised.markHealthy();
    onEvent(`job ${id} ${outcomeText} (${seconds.toFixed(seconds < 10 ? 2 : 0)} s)`);
    this.#jobsDone += 1;
    if (this.#jobsDone === recycleJobs) void this.#supervised.retire();
  }

  /** Delivers a result, however long the service is away, and returns the outcome as text. */
  async #deliver(jobId: string, body: readonly Text[], unwanted: AbortSignal): Promise<string> {
    const { client, onEvent } = this.#options;
    const onProblem = (text: string): void => {
      onEvent(`the result of job ${jobId} is not handed in yet: ${text}`);
      this.#reporter.log(`the result is not handed in yet: ${text}`);
    };
    const how = { signal: this.#over.signal, unwanted, onProblem };
    const delivery = await client.finish(jobId, body, how);
    if (delivery.kind !== 'refused') return outcomeTexts[delivery.kind];
    const why = `the service did not take its result of ${byteCountOf(body)} bytes: ${delivery.why}`;
    await client.finish(jobId, [JSON.stringify({ error: why })], how);
    return `has failed: ${why}`;
  }

  async #stopUnwanted(jobId: string, ended: AbortSignal, unwanted: AbortController): Promise<void> {
    // Fails once the job has ended. It also fails if the service refuses this worker, which reports reveal too.
    let ids: string[] | undefined = [];
    while (ids !== undefined && !ids.includes(jobId))
      ids = await this.#options.client.toStop(ended).catch(() => undefined);
    if (ids === undefined) return;
    this.#supervised.isExcused = true;
    unwanted.abort();
  }
}

const outcomeTexts = {
  accepted: 'is done',
  unwanted: 'was done, but is no longer wanted',
  known: 'is done: the service has its result from an earlier try, or no longer wants it',
} as const satisfies Record<Exclude<Delivery['kind'], 'refused'>, string>;

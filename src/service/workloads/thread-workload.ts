/** A module of our own as a workload, in a thread: it holds up nothing of the process that it is in, and ends with it. */
import { Worker as Thread } from 'node:worker_threads';
import { packageFile } from '../../lib/files/package-file.ts';
import { type RunReport, type Worker, WorkerDied, type Workload, type WorkloadJob } from './workload.ts';

export type ThreadJob = Pick<WorkloadJob, 'id' | 'input'>;
export type ThreadAnswer = { output: unknown } | { error: string } | { progress: unknown };

/** The module has `handler({ id, input }, { progress })`; its path is absolute. */
export function threadWorkload(name: string, path: string): Workload {
  return { name, startWorker: () => Promise.resolve(new ThreadWorker(path)) };
}

interface Run {
  report: RunReport;
  resolve(output: unknown): void;
  reject(error: Error): void;
}

class ThreadWorker implements Worker {
  readonly ended: Promise<string>;
  readonly #thread: Thread;
  #run: Run | undefined;
  #endedBecause: string | undefined;

  constructor(path: string) {
    this.#thread = new Thread(runnerPath, { workerData: path, execArgv: [] });
    this.#thread.unref();
    this.#thread.on('message', (answer: ThreadAnswer) => this.#take(answer));
    this.ended = new Promise((resolve) => {
      const end = (reason: string): void => {
        this.#endedBecause ??= reason;
        this.#settle()?.reject(new WorkerDied(reason));
        resolve(reason);
      };
      this.#thread.once('error', (error) => end(`the worker's thread failed: ${String(error)}`));
      this.#thread.once('exit', () => end("the worker's thread was ended"));
    });
  }

  run({ id, input }: WorkloadJob, report: RunReport): Promise<unknown> {
    if (this.#endedBecause !== undefined) return Promise.reject(new WorkerDied(this.#endedBecause));
    // What it is at cannot be told to stop.
    const cancel = (): void => void this.stop();
    report.signal.addEventListener('abort', cancel, { once: true });
    const outcome = new Promise((resolve, reject) => {
      this.#run = { report, resolve, reject };
    });
    this.#thread.postMessage({ id, input } satisfies ThreadJob);
    if (report.signal.aborted) cancel();
    return outcome.finally(() => report.signal.removeEventListener('abort', cancel));
  }

  async stop(): Promise<void> {
    await this.#thread.terminate();
  }

  #take(answer: ThreadAnswer): void {
    if ('progress' in answer) void this.#run?.report.progress(answer.progress);
    else if ('error' in answer) this.#settle()?.reject(new Error(answer.error));
    else this.#settle()?.resolve(answer.output);
  }

  /** It takes one job at a time. */
  #settle(): Run | undefined {
    const run = this.#run;
    this.#run = undefined;
    return run;
  }
}

/** The built one in any case: Node 20 cannot start what is not. */
const runnerPath = packageFile('dist/service/workloads/thread-runner.js');

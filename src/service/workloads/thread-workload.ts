/** A module of this product as a workload, in a thread: it does not block the service, and ends with its process. */
import { Worker as Thread } from 'node:worker_threads';
import { packageFile } from '../../lib/files/package-file.ts';
import {
  type RunReport,
  type Worker,
  WorkerDied,
  type Workload,
  type WorkloadJob,
} from './workload-definition.ts';

export type ThreadJob = { id: string; inputText: string };
export type ThreadAnswer = { output: unknown } | { error: string } | { progress: unknown };

/** Returns a workload that runs `handler({ id, input }, { progress })` of a module. `path` is absolute. */
export function threadWorkload(name: string, path: string): Workload {
  return { name, startWorker: () => Promise.resolve(new ThreadWorker(path)) };
}

/** Unused threads by module path. The next service in this process reuses them, with their compiled code. */
const idle = new Map<string, Thread[]>();

/** Ends unused threads. For a process that continues after its service has stopped. */
export async function endIdleThreads(): Promise<void> {
  const threads = [...idle.values()].flat();
  idle.clear();
  await Promise.all(threads.map((thread) => thread.terminate()));
}

function takeThread(path: string): Thread {
  const known = idle.get(path)?.pop();
  if (known !== undefined) return known;
  const thread = new Thread(runnerPath, { workerData: path, execArgv: [] });
  thread.unref();
  // The end of an unused thread harms no job.
  thread.on('error', () => undefined);
  thread.once('exit', () => idle.set(path, idle.get(path)?.filter((each) => each !== thread) ?? []));
  return thread;
}

interface Run {
  report: RunReport;
  resolve(output: unknown): void;
  reject(error: Error): void;
}

class ThreadWorker implements Worker {
  readonly ended: Promise<string>;
  readonly #path: string;
  readonly #thread: Thread;
  #end: (reason: string) => void = () => undefined;
  #run: Run | undefined;
  #endedBecause: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#thread = takeThread(path);
    this.#thread.on('message', this.#take);
    this.ended = new Promise((resolve) => {
      this.#end = (reason) => {
        this.#endedBecause ??= reason;
        this.#settle()?.reject(new WorkerDied(reason));
        resolve(reason);
      };
    });
    this.#thread.once('error', this.#onError);
    this.#thread.once('exit', this.#onExit);
  }

  run({ id, inputText }: WorkloadJob, report: RunReport): Promise<unknown> {
    if (this.#endedBecause !== undefined) return Promise.reject(new WorkerDied(this.#endedBecause));
    const cancel = (): void => void this.stop();
    report.signal.addEventListener('abort', cancel, { once: true });
    const outcome = new Promise((resolve, reject) => {
      this.#run = { report, resolve, reject };
    });
    this.#thread.postMessage({ id, inputText: inputText.toString() } satisfies ThreadJob);
    if (report.signal.aborted) cancel();
    return outcome.finally(() => report.signal.removeEventListener('abort', cancel));
  }

  /** Ends a thread with a job, because it cannot be interrupted. Keeps an idle thread for the next worker. */
  async stop(): Promise<void> {
    if (this.#endedBecause !== undefined) return;
    if (this.#run !== undefined) {
      await this.#thread.terminate();
      return;
    }
    this.#thread.off('message', this.#take).off('error', this.#onError).off('exit', this.#onExit);
    this.#end("the worker's thread was handed back");
    idle.set(this.#path, [...(idle.get(this.#path) ?? []), this.#thread]);
  }

  readonly #onError = (error: unknown): void => this.#end(`the worker's thread failed: ${String(error)}`);

  readonly #onExit = (): void => this.#end("the worker's thread was ended");

  readonly #take = (answer: ThreadAnswer): void => {
    if ('progress' in answer) void this.#run?.report.progress(answer.progress);
    else if ('error' in answer) this.#settle()?.reject(new Error(answer.error));
    else this.#settle()?.resolve(answer.output);
  };

  /** Takes the current job off the worker and returns it; undefined if there is none. */
  #settle(): Run | undefined {
    const run = this.#run;
    this.#run = undefined;
    return run;
  }
}

/** Always the built file, because Node 20 cannot run TypeScript. */
const runnerPath = packageFile('dist/service/workloads/thread-runner.js');

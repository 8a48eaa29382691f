/** A workload for tests: a function that runs in this process. */
import type { RunReport, Workload, WorkloadJob } from '../../src/service/workloads/workload-definition.ts';

/** A job with its input parsed. */
export type ReadJob = WorkloadJob & { input: Record<string, unknown> };

export function readJob(job: WorkloadJob): ReadJob {
  return { ...job, input: JSON.parse(job.inputText.toString()) as ReadJob['input'] };
}

/** Creates a workload. When a job is no longer wanted, its worker does not wait for `run` to finish. */
export function inProcessWorkload(
  name: string,
  run: (job: ReadJob, report: RunReport) => Promise<unknown>,
): Workload {
  const worker = {
    run: (job: WorkloadJob, report: RunReport) => orUnwanted(report.signal, () => run(readJob(job), report)),
    ended: new Promise<string>(() => undefined),
    stop: () => Promise.resolve(),
  };
  return { name, startWorker: () => Promise.resolve(worker) };
}

function orUnwanted(signal: AbortSignal, work: () => Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('it is not wanted any more')), { once: true });
    new Promise((begin) => begin(work())).then(resolve, reject);
  });
}

/** A workload of a test: a function of its own, within this process. */
import type { RunReport, Workload, WorkloadJob } from '../../src/service/workloads/workload.ts';

/** What `run` still does for a job that is not wanted any more is not waited for. */
export function inProcessWorkload(
  name: string,
  run: (job: WorkloadJob, report: RunReport) => Promise<unknown>,
): Workload {
  const worker = {
    run: (job: WorkloadJob, report: RunReport) => orUnwanted(report.signal, () => run(job, report)),
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

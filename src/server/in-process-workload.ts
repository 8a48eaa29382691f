/** A workload whose workers are functions of this process: nothing to start, nothing that could die. */
import type { RunReport, Workload, WorkloadJob } from './workload.ts';

export function inProcessWorkload(
  name: string,
  run: (job: WorkloadJob, report: RunReport) => Promise<unknown>,
): Workload {
  const worker = { run, ended: new Promise<string>(() => undefined), stop: () => Promise.resolve() };
  return { name, startWorker: () => Promise.resolve(worker) };
}

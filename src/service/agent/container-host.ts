/** A container on another machine that takes its jobs by itself: started, reported on, and ended when it has none. */
import { setTimeout as sleep } from 'node:timers/promises';
import { textOf } from '../pool/supervised.ts';
import type { PullWorker, PullWorkload } from '../workloads/workload.ts';
import type { JobWorkerOptions } from './job-worker.ts';
import { Reporter } from './reporter.ts';

export type ContainerHostOptions = Omit<JobWorkerOptions, 'workload' | 'recycleJobs'> & {
  workload: PullWorkload;
};

const lookMs = 2_000;
const maxPauseMs = 60_000;

/** Resolves, with why in words, when it has ended. Throws `RefusedForGood`. */
export async function hostContainer(options: ContainerHostOptions): Promise<string> {
  const { client, machine, workload, workerId, idleMs, drain, leave, onEvent } = options;
  const reporter = new Reporter({ client, machine, workload: workload.name, leave, onProblem: onEvent });
  let container: PullWorker | undefined;
  try {
    const ending = AbortSignal.any([drain, leave, reporter.drain]);
    await reporter.start(ending);
    let busyAt = performance.now();
    let reporting: Promise<boolean> | undefined;
    const told = new Promise<undefined>((resolve) =>
      ending.addEventListener(
        'abort',
        () => {
          // It may be given a job until it has said that it takes none.
          reporting = undefined;
          resolve(reporter.beginDrain());
        },
        { once: true },
      ),
    );
    for (let pauseMs = 1_000; !leave.aborted;) {
      if (container === undefined && ending.aborted) break;
      try {
        container ??= await workload.startPullWorker({
          workerId,
          log: (line) => reporter.log(line),
          signal: ending,
        });
      } catch (error) {
        if (ending.aborted) break;
        onEvent(`${workload.name} cannot be started: ${textOf(error)}; trying again in ${pauseMs / 1_000} s`);
        await sleep(pauseMs, undefined, { signal: ending }).catch(() => undefined);
        pauseMs = Math.min(maxPauseMs, pauseMs * 2);
        continue;
      }
      const died = await Promise.race([container.ended, sleep(lookMs, undefined, { signal: leave })]).catch(
        () => undefined,
      );
      if (died !== undefined) {
        onEvent(`${workload.name} ended: ${died}`);
        reporter.noteDeath(died);
        container = undefined;
        await sleep(pauseMs, undefined, { signal: ending }).catch(() => undefined);
        pauseMs = Math.min(maxPauseMs, pauseMs * 2);
      }
      reporting ??= reporter.send().catch(() => false);
      const isHeard = await Promise.race([reporting, ending.aborted ? sleep(lookMs, undefined) : told]);
      reporter.throwIfRefused();
      if (isHeard !== undefined) reporting = undefined;
      if (reporter.jobs.length > 0) {
        busyAt = performance.now();
        pauseMs = 1_000;
      }
      // Of a service that is away what it said last counts.
      else if (ending.aborted && (isHeard === true || client.isAway)) break;
      else if (idleMs !== undefined && performance.now() - busyAt > idleMs) return 'there was nothing to do';
    }
    reporter.throwIfRefused();
    return drain.aborted || leave.aborted ? 'it was told to end' : 'the service drained it';
  } finally {
    await container?.stop();
    await reporter.leave();
  }
}

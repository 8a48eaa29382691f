/** Runs after the last kill: one run to the end, one run that has nothing to do, and `nightrender verify`. */
import type { Batch } from './batch.ts';
import { Runner, type RunnerEnd } from './runner.ts';
import type { HostileService } from './service-process.ts';
import { endWithin } from './strike.ts';

type End = RunnerEnd & { isOverdue: boolean };

interface LastRuns {
  complaints: string[];
  ends: [string, End][];
}

const longestRunMs = 600_000;

export async function lastRuns(batch: Batch, service: HostileService): Promise<LastRuns> {
  const last = await endWithin(new Runner(batch.dir), longestRunMs);
  const { jobs, answers } = await service.report();
  const idle = await endWithin(new Runner(batch.dir), longestRunMs);
  const { answers: answersAfter, ...after } = await service.report();
  const verified = await endWithin(new Runner(batch.dir, 'verify'), longestRunMs);
  const submitted = after.jobs.length - jobs.length;
  const asked = answersAfter - answers;
  return {
    complaints: [
      ...(isDone(last) ? [] : [`the last run ended with ${last.code}, and the batch is not at its end`]),
      ...(idle.code === last.code ? [] : [`one more run ended with ${idle.code} instead of ${last.code}`]),
      ...(asked === 0 ? [] : [`one more run sent ${asked} requests, ${submitted} of which became jobs`]),
      ...(verified.code === 0
        ? []
        : [`\`nightrender verify\` ended with ${verified.code}: ${verified.stdout.slice(-500)}`]),
    ],
    ends: [
      ['the last run', last],
      ['one more run', idle],
      ['verify', verified],
    ],
  };
}

/** True if all scenes are saved or some have failed, so nothing is left to do. */
function isDone({ code }: End): boolean {
  return code === 0 || code === 3;
}

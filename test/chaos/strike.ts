/** Ends a run early: at which moment, and by which signals. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from '../faults/chance.ts';
import type { Runner, RunnerEnd } from './runner.ts';

export interface Strike {
  moment: Moment;
  /** Signals, and the waits between them in ms. The last one ends the run. */
  blows: readonly (NodeJS.Signals | number)[];
}

/**
 * A number of ms after the start, a number of ms after the plan (while the run polls jobs in flight), or a line that it
 * prints.
 */
type Moment = { after: 'start' | 'plan'; ms: number } | { after: 'line'; line: number };

export function drawStrike(random: Chance): Strike {
  return { moment: drawMoment(random), blows: drawBlows(random) };
}

/** Ends a run early. `isOverdue`: true if the run did not stop in time after it was told to. */
export async function strike(
  runner: Runner,
  { moment, blows }: Strike,
): Promise<RunnerEnd & { isOverdue: boolean }> {
  await reach(runner, moment);
  for (const blow of blows) {
    if (typeof blow === 'number') await Promise.race([sleep(blow), runner.ended]);
    else runner.signal(blow);
  }
  return endWithin(runner, longestLeaveMs);
}

/** Waits for the end of a run, and kills it after `ms`. */
export async function endWithin(runner: Runner, ms: number): Promise<RunnerEnd & { isOverdue: boolean }> {
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    runner.signal('SIGKILL');
  }, ms);
  const end = await runner.ended;
  clearTimeout(timer);
  return { ...end, isOverdue };
}

/** Far longer than `shutdown.grace` and the 2 s after it, because the machine may be busy with other things. */
const longestLeaveMs = 30_000;

function drawMoment(random: Chance): Moment {
  const kind = random.draw();
  if (kind < 0.3) return { after: 'start', ms: random.between(0, 1_500) };
  if (kind < 0.5) return { after: 'plan', ms: random.between(0, 60) };
  return { after: 'line', line: random.between(2, 80) };
}

function drawBlows(random: Chance): Strike['blows'] {
  const kind = random.draw();
  const short = random.between(0, 150);
  const long = random.between(200, 1_000);
  if (kind < 0.55) return ['SIGKILL'];
  if (kind < 0.65) return ['SIGTERM'];
  if (kind < 0.7) return ['SIGINT'];
  if (kind < 0.73) return ['SIGHUP'];
  if (kind < 0.75) return ['SIGHUP', long, 'SIGKILL'];
  if (kind < 0.8) return ['SIGTERM', short, 'SIGKILL'];
  if (kind < 0.84) return ['SIGINT', short, 'SIGINT', short, 'SIGKILL'];
  if (kind < 0.9) return ['SIGSTOP', long, 'SIGKILL'];
  if (kind < 0.96) return ['SIGSTOP', long, 'SIGCONT', short, 'SIGKILL'];
  return ['SIGSTOP', long, 'SIGCONT', long, 'SIGTERM'];
}

async function reach(runner: Runner, moment: Moment): Promise<void> {
  if (moment.after === 'line') return runner.lines(moment.line);
  if (moment.after === 'plan') await runner.planned();
  await Promise.race([sleep(moment.ms), runner.ended]);
}

/** Text about the workers and jobs of an endpoint, as the service reports them. */
import { formatDuration } from '../lib/text/format.ts';
import {
  hasNoJob,
  hasNoWorker,
  oddWords,
  workerStates,
  type JobWord,
  type ServiceHealth,
} from '../runner/core/service-health.ts';

const words = {
  running: 'running',
  idle: 'idle',
  ready: 'ready',
  initializing: 'starting',
  throttled: 'throttled',
  unhealthy: 'unhealthy',
} as const;

/** Text such as `7 running, 2 idle`. Undefined if the report has no workers. */
export function workersText({ workers }: ServiceHealth): string | undefined {
  const reported = workerStates.filter((state) => workers[state] !== undefined);
  if (reported.length === 0) return undefined;
  // Services count running and idle workers as ready, too.
  const isSplit = (workers.running ?? 0) + (workers.idle ?? 0) > 0;
  const some = reported.filter((state) => (workers[state] ?? 0) > 0 && !(state === 'ready' && isSplit));
  return some.map((state) => `${workers[state]?.toLocaleString('en')} ${words[state]}`).join(', ') || 'none';
}

/**
 * Says for how long nothing has finished, and why if statuses or the latest health tell. Undefined if
 * `stalledMs` is.
 */
export function stallText(
  { stalledMs, words: said = [] }: { stalledMs: number | undefined; words?: readonly JobWord[] },
  health: ServiceHealth | undefined,
): string | undefined {
  if (stalledMs === undefined) return undefined;
  const silence = `nothing has finished for ${formatDuration(stalledMs).replace(/ \d+ s$/, '')}`;
  const odd = oddWords(said);
  if (odd !== undefined) return `${silence}: the service says ${odd}`;
  if (health === undefined) return silence;
  if (hasNoJob(health)) return `${silence}: jobs in flight are done, their results wait to be saved`;
  if (!hasNoWorker(health)) return silence;
  const others = workersText(health);
  return `${silence}: no worker is ready${others === 'none' ? '' : ` (${others})`}`;
}

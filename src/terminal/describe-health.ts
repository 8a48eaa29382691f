/** A service's report of its workers, in words. */
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

/** `7 running, 2 idle`; undefined where the report has no workers. */
export function workersText({ workers }: ServiceHealth): string | undefined {
  const reported = workerStates.filter((state) => workers[state] !== undefined);
  if (reported.length === 0) return undefined;
  // Services count running and idle ones among those that are ready.
  const isSplit = (workers.running ?? 0) + (workers.idle ?? 0) > 0;
  const some = reported.filter((state) => (workers[state] ?? 0) > 0 && !(state === 'ready' && isSplit));
  return some.map((state) => `${workers[state]?.toLocaleString('en')} ${words[state]}`).join(', ') || 'none';
}

/** Undefined where `stalledMs` is; the words of the service or its latest health say why, where they can. */
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

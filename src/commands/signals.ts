/** SIGINT and SIGTERM as a request to leave, SIGHUP as one to finish. */
import type { Stop, StopMode } from '../pipeline/stop.ts';
import type { Ending } from '../core/ending.ts';

const rules = {
  SIGINT: { mode: 'leave', ending: { kind: 'interrupted', text: 'Interrupted (SIGINT)' } },
  SIGTERM: { mode: 'leave', ending: { kind: 'terminated', text: 'Terminated (SIGTERM)' } },
  SIGHUP: {
    mode: 'drain',
    ending: {
      kind: 'incomplete',
      text: 'Asked to finish (SIGHUP): what is in flight is collected, the rest is left to the next run',
    },
  },
} as const satisfies Record<string, { mode: StopMode; ending: Ending }>;

/**
 * Returns what takes the listening back. A second SIGINT or SIGTERM ends the process at once: nothing on disk needs an
 * ending. A second SIGHUP changes nothing: a closed terminal may send several.
 */
export function stopOnSignals(stop: Stop): () => void {
  const listeners = Object.entries(rules).map(([signal, { mode, ending }]) => {
    const listener = (): void => stop.request(mode, ending);
    if (mode === 'leave') process.once(signal, listener);
    else process.on(signal, listener);
    return () => process.removeListener(signal, listener);
  });
  return () => listeners.forEach((remove) => remove());
}

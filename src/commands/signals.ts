/** SIGINT and SIGTERM as a request to leave. */
import type { Stop } from '../pipeline/stop.ts';

const rules = {
  SIGINT: { kind: 'interrupted', text: 'Interrupted (SIGINT)' },
  SIGTERM: { kind: 'terminated', text: 'Terminated (SIGTERM)' },
} as const;

/** Returns what takes the listening back. A second signal ends the process at once: nothing on disk needs an ending. */
export function stopOnSignals(stop: Stop): () => void {
  const listeners = Object.entries(rules).map(([signal, ending]) => {
    const listener = (): void => stop.request('leave', ending);
    process.once(signal, listener);
    return () => process.removeListener(signal, listener);
  });
  return () => listeners.forEach((remove) => remove());
}

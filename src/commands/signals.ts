/** Signals: SIGINT and SIGTERM stop a command, and SIGHUP lets it finish. */
import { once } from 'node:events';
import { asFatalFailure } from '../runner/checkpoint/journal.ts';
import type { Ending } from '../runner/core/ending.ts';
import { Stop, type StopMode } from '../runner/pipeline/stop.ts';

/** SIGINT and SIGTERM ask a command to stop, SIGHUP to finish its jobs in flight. */
const rules = {
  SIGINT: { mode: 'leave', ending: { kind: 'interrupted', text: 'Interrupted (SIGINT)' } },
  SIGTERM: { mode: 'leave', ending: { kind: 'terminated', text: 'Terminated (SIGTERM)' } },
  SIGHUP: {
    mode: 'drain',
    ending: {
      kind: 'incomplete',
      text: 'Asked to finish (SIGHUP): the next run renders the rest',
    },
  },
} as const satisfies Record<string, { mode: StopMode; ending: Ending }>;

/**
 * Passes signals to `work` as a `Stop`. A second SIGINT or SIGTERM ends the process at once, which is safe:
 * everything on disk is crash-proof. A second SIGHUP changes nothing, because a closed terminal may send
 * several.
 */
export async function withSignals<Result>(work: (stop: Stop) => Promise<Result>): Promise<Result> {
  const stop = new Stop(asFatalFailure);
  let isLeaving = false;
  const listeners = Object.entries(rules).map(([signal, { mode, ending }]) => {
    const listener = (): void => {
      // Keep listening after the first signal, or a second one that is on its way would be lost.
      if (mode === 'leave' && isLeaving) {
        stopListening('leave');
        process.kill(process.pid, signal);
        return;
      }
      isLeaving ||= mode === 'leave';
      stop.request(mode, ending);
    };
    process.on(signal, listener);
    return { mode, remove: () => process.removeListener(signal, listener) };
  });
  const stopListening = (...modes: StopMode[]): void => {
    for (const { mode, remove } of listeners) if (modes.includes(mode)) remove();
  };
  try {
    return await work(stop);
  } finally {
    stopListening('leave', 'drain');
  }
}

/** Resolves at the first SIGINT or SIGTERM, the normal end of a service. A second one ends the process. */
export async function untilSignal(): Promise<void> {
  const heard = new AbortController();
  const signals = ['SIGINT', 'SIGTERM'].map((name) => once(process, name, heard));
  await Promise.race(signals).finally(() => heard.abort());
}

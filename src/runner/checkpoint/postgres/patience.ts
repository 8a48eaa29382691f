/** Waits for a database that does not answer, and explains why one cannot be used. */
import { setTimeout as delay } from 'node:timers/promises';
import { FatalFailure } from '../../core/failure.ts';
import { UnusableSchema } from './schema.ts';
import { PostgresFailure } from '../../../lib/postgres/postgres.ts';

const firstWaitMs = 200;
const maxWaitMs = 5_000;

/**
 * Tries again until the database answers. Throws a `FatalFailure` if it answers but refuses, and the reason
 * of `signal`.
 */
export async function retryUntilReachable<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(maxWaitMs, 2 * waitMs)) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PostgresFailure)) throw error;
      if (error.kind === 'wrong') throw asFatalFailure(error);
    }
    signal?.throwIfAborted();
    await delay(waitMs, undefined, signal && { signal }).catch(() => signal?.throwIfAborted());
  }
}

/** Returns errors of the database as `FatalFailure`, and any other error unchanged, because it is a bug. */
export function asFatalFailure(error: unknown): unknown {
  if (error instanceof UnusableSchema)
    return new FatalFailure({ kind: 'output-unwritable', text: error.message });
  if (!(error instanceof PostgresFailure)) return error;
  return new FatalFailure({
    kind: 'output-unwritable',
    text: `${error.message}; fix that, then start the run again`,
  });
}

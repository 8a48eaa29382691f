/** Waits for a database that is gone, and says in a user's words why one cannot be used. */
import { setTimeout as delay } from 'node:timers/promises';
import { FatalFailure } from '../../core/failure.ts';
import { UnusableSchema } from './schema.ts';
import { PostgresFailure } from '../../../lib/postgres/postgres.ts';

const firstWaitMs = 200;
const maxWaitMs = 5_000;

/** Tries again until it comes back. Throws a `FatalFailure` where it is there and does not let us, and the reason of `signal`. */
export async function untilThere<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
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

/** Errors of the database are failures; all others are bugs. */
export function asFatalFailure(error: unknown): unknown {
  if (error instanceof UnusableSchema)
    return new FatalFailure({ kind: 'output-unwritable', text: error.message });
  if (!(error instanceof PostgresFailure)) return error;
  return new FatalFailure({
    kind: 'output-unwritable',
    text: `${error.message}; fix that, then start the run again`,
  });
}

/** A limit of time for work that a signal may end as well. */

/**
 * Passes the work a signal that aborts when `signal` does, or after `ms` milliseconds. The reason is then a `TimeoutError`. An
 * `AbortSignal.timeout` inside of an `AbortSignal.any` is no limit: Node 20 loses it with its next garbage collection, and the work never ends.
 */
export async function withTimeLimit<Result>(
  ms: number,
  signal: AbortSignal,
  work: (limited: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const limit = new AbortController();
  const end = (): void => limit.abort(signal.reason);
  const timer = setTimeout(
    () => limit.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
    ms,
  );
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await work(limit.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

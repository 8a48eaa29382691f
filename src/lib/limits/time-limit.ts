/** A time limit for work that a signal can end too. */

/**
 * Passes the work a signal that aborts when `signal` does, or after `ms` milliseconds with a `TimeoutError`.
 * `AbortSignal.timeout` inside `AbortSignal.any` does not work: Node 20 loses it at the next garbage
 * collection, and the work never ends.
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

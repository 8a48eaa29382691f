/** Promise: limited work ends in time, even after a garbage collection, or when its signal aborts. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { withTimeLimit } from '../../../src/lib/limits.ts';

/** Resolves when the signal aborts. Only its listener refers to the signal. */
function untilAborted(signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    const end = (): void => resolve((signal.reason as Error).name);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  });
}

it('a time limit ends work that has taken too long, although memory was freed meanwhile', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const never = new AbortController();
  const works = Array.from({ length: 50 }, () => withTimeLimit(30, never.signal, untilAborted));
  const collecting = setInterval(collect, 5);
  expect(new Set(await Promise.all(works))).toEqual(new Set(['TimeoutError']));
  clearInterval(collecting);
});

it('a time limit passes the abort of its signal on, at once if that has aborted before', async () => {
  const stop = new AbortController();
  const work = withTimeLimit(600_000, stop.signal, untilAborted);
  stop.abort();
  expect(await work).toBe('AbortError');
  expect(await withTimeLimit(600_000, stop.signal, untilAborted)).toBe('AbortError');
});

it('a time limit returns the result of the work, and throws its errors', async () => {
  const { signal } = new AbortController();
  expect(await withTimeLimit(600_000, signal, async () => 'done')).toBe('done');
  await expect(withTimeLimit(600_000, signal, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
});

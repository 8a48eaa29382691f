/**
 * Promise: a request is never written twice, even if undici starts it again. Undici was never seen to do so,
 * but a second submission would be billed.
 */
import { Dispatcher } from 'undici';
import { expect, it, vi } from 'vitest';
import { exchange } from '../../../src/runner/client/exchange.ts';

class StartsTwice extends Dispatcher {
  readonly aborts = [vi.fn<() => void>(), vi.fn<() => void>()];

  wasCutAtOnce = false;

  override dispatch(_: Dispatcher.DispatchOptions, receiver: Dispatcher.DispatchHandler): boolean {
    for (const abort of this.aborts) {
      receiver.onRequestStart?.(
        {
          abort,
          aborted: false,
          paused: false,
          reason: null,
          pause: vi.fn<() => void>(),
          resume: vi.fn<() => void>(),
        },
        undefined,
      );
    }
    this.wasCutAtOnce = this.aborts[1]?.mock.calls.length === 1;
    receiver.onResponseError?.({ abort: vi.fn<() => void>() } as never, new Error('the connection is gone'));
    return true;
  }
}

it('a request is written at most once: a second start of it is cut', async () => {
  const dispatcher = new StartsTwice();
  const request = { origin: 'http://service.test', path: '/', method: 'POST' } as const;
  const limits = { maxBodyBytes: 1_000, wholeAnswerMs: 60_000 };
  const outcome = await exchange(dispatcher, request, limits, new AbortController().signal);
  expect(outcome).toMatchObject({ kind: 'broken', wasSent: true });
  expect(dispatcher.wasCutAtOnce).toBe(true);
});

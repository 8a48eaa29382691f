/**
 * Promise: requests are sent in the order of arrival, aborted requests leave the queue at once, and a
 * Retry-After delays all that wait.
 */
import { expect, it } from 'vitest';
import type { Failure } from '../../../src/runner/core/failure.ts';
import { RateLimiter } from '../../../src/runner/pipeline/rate-limiter.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

type Paused = Awaited<ReturnType<typeof paused>>;
type Reply = { kind: string; failure?: Failure };

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const { signal } = new AbortController();

it('the rate limiter removes only aborted requests from its queue', async () => {
  const limiter = new RateLimiter({ atOnce: 1, perTenSeconds: 10_000 }, new VirtualClock(0));
  const [staying, leaving] = [new AbortController(), new AbortController()];
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const pass = (name: string, controller: AbortController): Promise<string> => {
    const request = async (): Promise<{ kind: string }> => {
      sent.push(name);
      await new Promise<void>((resolve) => answers.push(resolve));
      return { kind: 'accepted' };
    };
    return limiter.pass(controller.signal, request).then((reply) => reply?.kind ?? 'left');
  };
  const first = pass('first', staying);
  const left = [pass('a', leaving), pass('c', leaving)];
  const stayed = [pass('b', staying), pass('d', staying)];
  leaving.abort();
  expect(await Promise.all(left)).toEqual(['left', 'left']);
  expect(await pass('e', leaving)).toBe('left');
  for (let turn = 0; turn < 3; turn++) {
    answers.shift()?.();
    await settle();
  }
  expect(await Promise.all([first, ...stayed])).toEqual(['accepted', 'accepted', 'accepted']);
  expect(sent).toEqual(['first', 'b', 'd']);
});

it('the rate limiter leaves no timer behind if all waiting requests were aborted', async () => {
  const clock = new VirtualClock(0);
  const limiter = new RateLimiter({ atOnce: 9, perTenSeconds: 1 }, clock);
  const leaving = new AbortController();
  const accept = async (): Promise<Reply> => ({ kind: 'accepted' });
  await limiter.pass(leaving.signal, accept);
  const waiting = limiter.pass(leaving.signal, accept);
  leaving.abort();
  expect(await waiting).toBeUndefined();
  await settle();
  expect(clock.sleeping).toBe(0);
});

/** Returns a limiter whose first request was refused, with five more requests waiting. */
async function paused(retryAfterMs: number, maxPauseMs?: number) {
  const clock = new VirtualClock(0);
  const limiter = new RateLimiter({ atOnce: 9, perTenSeconds: 1_000 }, clock, maxPauseMs);
  const failure = { kind: 'overloaded', text: '429', retryAfterMs } as const;
  let answerSlow = (): void => undefined;
  const slow = limiter.pass(signal, () => {
    return new Promise<Reply>((resolve) => (answerSlow = () => resolve({ kind: 'accepted' })));
  });
  await limiter.pass(signal, async (): Promise<Reply> => ({ kind: 'failure', failure }));
  const sentAt: number[] = [];
  const request = async (): Promise<Reply> => (sentAt.push(clock.elapsed()), { kind: 'accepted' });
  const waiting = Promise.all(Array.from({ length: 5 }, () => limiter.pass(signal, request)));
  await settle();
  return { clock, limiter, sentAt, waiting, slow, answerSlow: () => answerSlow() };
}

it('the rate limiter sends nothing before the time that the service has named', async () => {
  const { clock, limiter, sentAt, waiting } = await paused(60_000);
  expect([limiter.isPaused, limiter.allowedRequests()]).toEqual([true, 0]);
  while (clock.advance()) await settle();
  await waiting;
  expect(sentAt).toHaveLength(5);
  expect(sentAt.every((at) => at >= 60_000 && at < 60_100)).toBe(true);
});

it.each([
  ['a request is accepted that was on its way', (there: Paused) => there.answerSlow()],
  ['a job has ended', (there: Paused) => there.limiter.resume()],
])('the rate limiter continues at once if %s', async (_, end) => {
  const there = await paused(60_000);
  end(there);
  await settle();
  while (there.sentAt.length < 5 && there.clock.advance()) await settle();
  await there.waiting;
  expect(there.clock.elapsed()).toBeLessThan(100);
});

it('the rate limiter pauses no longer than requested', async () => {
  const { clock, waiting, sentAt } = await paused(600_000, 20_000);
  while (clock.advance()) await settle();
  await waiting;
  expect(sentAt[0]).toBe(20_000);
});

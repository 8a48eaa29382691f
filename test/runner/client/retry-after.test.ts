/** Promise: the client waits as long as the Retry-After of the service says. */
import { describe, expect, it } from 'vitest';
import { readRetryAfter } from '../../../src/runner/client/exchange.ts';
import { answer, type Script } from '../../fakes/scripted-server.ts';
import { statusFrom, submitTo } from './client.ts';

const now = 'Wed, 21 Oct 2026 07:28:00 GMT';

const waits: [value: string, ms: number | undefined][] = [
  ['0', 0],
  ['7', 7_000],
  ['1.5', 1_500],
  ['Wed, 21 Oct 2026 07:28:30 GMT', 30_000],
  ['Wednesday, 21-Oct-26 07:28:30 GMT', 30_000],
  ['Wed, 21 Oct 2026 07:27:00 GMT', 0],
  ['Wed, 21 Oct 2099 07:28:00 GMT', 600_000],
  ['86400', 600_000],
  ['9'.repeat(400), 600_000],
  ['-5', undefined],
  ['soon 5', undefined],
  ['2026', 600_000],
  ['Wed, 99 Xyz 2026 07:28:30 GMT', undefined],
  ['', undefined],
];

describe.each([429, 425])('with %i', (status) => {
  it.each(waits)('Retry-After: %s', async (value, ms) => {
    const headers = { 'Retry-After': value, Date: now };
    for (const ask of [submitTo, statusFrom]) {
      const reply = await ask(answer(status, '', headers));
      const expected = { kind: 'overloaded', ...(ms !== undefined && { retryAfterMs: ms }) };
      expect(reply).toEqual({
        kind: 'failure',
        failure: { ...expected, text: expect.any(String) as string },
      });
    }
  });
});

it('the wait is the first of two Retry-After headers', async () => {
  const twice: Script = (socket) =>
    socket.end('HTTP/1.1 429 Slow down\r\nRetry-After: 7\r\nRetry-After: 9\r\nContent-Length: 0\r\n\r\n');
  for (const ask of [submitTo, statusFrom])
    expect(await ask(twice)).toMatchObject({ failure: { kind: 'overloaded', retryAfterMs: 7_000 } });
});

it('the wait is read in the body, if the headers do not state it', async () => {
  const body = '{"retry_after": 1.5, "status": 429}';
  expect(await statusFrom(answer(429, body))).toMatchObject({ failure: { retryAfterMs: 1_500 } });
  expect(await statusFrom(answer(429, '{"retry_after":86400}'))).toMatchObject({
    failure: { retryAfterMs: 600_000 },
  });
  const both = answer(429, body, { 'Retry-After': '7' });
  expect(await statusFrom(both)).toMatchObject({ failure: { retryAfterMs: 7_000 } });
});

it('no wait is assumed if the service states none', async () => {
  const reply = await submitTo(answer(429));
  expect(reply).toEqual({
    kind: 'failure',
    failure: { kind: 'overloaded', text: expect.any(String) as string },
  });
});

it('the wait is also read from an answer 503', async () => {
  const reply = await statusFrom(answer(503, '', { 'Retry-After': '120' }));
  expect(reply).toMatchObject({ failure: { kind: 'poll-failed', retryAfterMs: 120_000 } });
});

it('the wait is counted by the clock of this machine if the service does not show its own', () => {
  const headers = { 'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT' };
  expect(readRetryAfter(headers, Date.parse(now))).toBe(30_000);
  expect(readRetryAfter({ ...headers, date: 'yesterday' }, Date.parse(now))).toBe(30_000);
});

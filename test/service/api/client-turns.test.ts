/**
 * Promise: while workers request jobs, only a few submissions run ahead of them. Without such requests,
 * submissions do not wait.
 */
import { afterEach, expect, it, vi } from 'vitest';
import { ClientTurns } from '../../../src/service/api/quotas.ts';

afterEach(() => void vi.useRealTimers());

/** Creates submissions that end one after another when the test says so. */
function open(count: number) {
  vi.useFakeTimers({ toFake: ['performance'] });
  const turns = new ClientTurns();
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const submit = (index: number) =>
    turns.use(
      () =>
        new Promise<void>((resolve) => {
          begun.push(index);
          ends.push(resolve);
        }),
    );
  const all = (): Promise<void[]> => Promise.all(Array.from({ length: count }, (_, index) => submit(index)));
  const end = async (): Promise<void> => {
    ends.shift()?.();
    await vi.waitFor(() => Promise.resolve());
  };
  return { turns, begun, all, end };
}

it('the service admits all submissions at once while no worker asks', () => {
  const { begun, all } = open(256);
  void all();
  expect(begun.length).toBe(256);
});

it('the service admits a few submissions at a time while workers ask, in the order in which they came', async () => {
  const { turns, begun, all, end } = open(20);
  turns.noteWorker();
  void all();
  expect(begun.length).toBe(8);
  await end();
  await expect.poll(() => begun.length).toBe(9);
  for (let rest = 0; rest < 11; rest += 1) await end();
  await expect.poll(() => begun).toEqual(Array.from({ length: 20 }, (_, index) => index));
});

it('the service admits all submissions that wait once no worker has asked for a second', async () => {
  const { turns, begun, all, end } = open(20);
  turns.noteWorker();
  void all();
  vi.advanceTimersByTime(1_001);
  await end();
  await expect.poll(() => begun.length).toBe(20);
});

it('the service continues after a submission that failed', async () => {
  const { turns } = open(0);
  turns.noteWorker();
  const failing = Array.from({ length: 9 }, () => turns.use(() => Promise.reject(new Error('full'))));
  for (const one of failing) await expect(one).rejects.toThrow('full');
  expect(await turns.use(() => Promise.resolve('taken'))).toBe('taken');
});

/** Promise: who waits for a turn leaves at once when told to, and those behind come in the order in which they came. */
import { expect, it } from 'vitest';
import { RequestThrottle } from '../../../src/runner/pipeline/request-throttle.ts';
import { VirtualClock } from '../../fakes/virtual-clock.ts';

it('lets those leave that are told to, and nobody else', async () => {
  const clock = new VirtualClock(0);
  const gate = new RequestThrottle({ atOnce: 1, perTenSeconds: 10_000 }, clock);
  const [staying, leaving] = [new AbortController(), new AbortController()];
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const pass = (name: string, { signal }: AbortController): Promise<string> => {
    const request = async (): Promise<{ kind: string }> => {
      sent.push(name);
      await new Promise<void>((resolve) => answers.push(resolve));
      return { kind: 'taken' };
    };
    return gate.pass(signal, request).then((reply) => reply?.kind ?? 'left');
  };
  const first = pass('first', staying);
  const left = [pass('a', leaving), pass('c', leaving)];
  const stayed = [pass('b', staying), pass('d', staying)];
  leaving.abort();
  expect(await Promise.all(left)).toEqual(['left', 'left']);
  expect(await pass('e', leaving)).toBe('left');
  for (let turn = 0; turn < 3; turn++) {
    answers.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await Promise.all([first, ...stayed])).toEqual(['taken', 'taken', 'taken']);
  expect(sent).toEqual(['first', 'b', 'd']);
});

it('is slowed by what the service tells other programs', async () => {
  const clock = new VirtualClock(0);
  const gate = new RequestThrottle({ atOnce: 20, perTenSeconds: 1_000 }, clock);
  const { signal } = new AbortController();
  for (let told = 0; told < 40; told++) {
    const passed = gate.pass(signal, async () => ({ kind: 'taken' }));
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance();
    await passed;
    expect(gate.isSlowed).toBe(false);
  }
  for (let told = 0; told < 20; told++) gate.slow();
  expect(gate.isSlowed).toBe(true);
});

it('sends as many as before where a request was not answered', async () => {
  const gate = new RequestThrottle({ atOnce: 100, perTenSeconds: 1_000 }, new VirtualClock(0), () => 4);
  const { signal } = new AbortController();
  const failure = { kind: 'unanswered' as const, text: 'the connection was reset' };
  const before = gate.room();
  expect(before).toBeGreaterThan(1);
  await gate.pass(signal, () => Promise.resolve({ kind: 'failure', failure }));
  expect(gate.room()).toBe(before);
});

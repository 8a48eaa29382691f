/**
 * Promise: no write is lost while the database is unreachable, and a write that fails for good fails only for
 * its caller.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { GroupedWrites, type Outcome } from '../../../src/lib/postgres/grouped-writes.ts';
import { PostgresFailure } from '../../../src/lib/postgres/postgres.ts';

const gone = new PostgresFailure('gone', 'cannot be reached', undefined);

function doubled(group: number[]): Outcome[] {
  return group.map((each) => (each < 0 ? { error: new Error(`not ${each}`) } : { result: 2 * each }));
}

it('writes are grouped if they are requested at once, or while a group is in progress', async () => {
  const groups: [number[], number][] = [];
  let arrive = (): void => undefined;
  const writes = new GroupedWrites<number>(async (group, number) => {
    groups.push([group, number]);
    if (number === 1) await new Promise<void>((resolve) => (arrive = resolve));
    return doubled(group);
  });
  const first = [writes.ask(1), writes.ask(2)];
  await expect.poll(() => groups).toHaveLength(1);
  const later = [writes.ask(3), writes.ask(4)];
  await nextTurn();
  await nextTurn();
  expect(groups).toHaveLength(1);
  arrive();
  expect(await Promise.all([...first, ...later])).toEqual([2, 4, 6, 8]);
  expect(await writes.ask(5)).toBe(10);
  expect(groups).toEqual([
    [[1, 2], 1],
    [[3, 4], 2],
    [[5], 3],
  ]);
});

it('a group fails one write alone if only that was not done, and all if none was', async () => {
  const writes = new GroupedWrites<number>(async (group) => {
    if (group.includes(0)) throw new PostgresFailure('wrong', 'no such table', undefined);
    return doubled(group);
  });
  const mixed = await Promise.allSettled([writes.ask(1), writes.ask(-1), writes.ask(2)]);
  expect(mixed.map((each) => (each.status === 'fulfilled' ? each.value : each.reason))).toEqual([
    2,
    new Error('not -1'),
    4,
  ]);
  const all = await Promise.allSettled([writes.ask(1), writes.ask(0)]);
  expect(all).toMatchObject([{ reason: { kind: 'wrong' } }, { reason: { kind: 'wrong' } }]);
  expect(await writes.ask(3)).toBe(6);
});

it('a group of writes is tried again under its number while the database is gone', async () => {
  const numbers: number[] = [];
  const writes = new GroupedWrites<number>(async (group, number) => {
    numbers.push(number);
    if (numbers.length < 3) throw gone;
    return doubled(group);
  });
  expect(await writes.ask(1)).toBe(2);
  expect(numbers).toEqual([1, 1, 1]);
});

it('the writer does not wait for an unreachable database once it is closed, and is idle then', async () => {
  let tries = 0;
  const writes = new GroupedWrites<number>(async () => {
    tries += 1;
    throw gone;
  });
  await writes.idle();
  const asked = expect(writes.ask(1)).rejects.toBe(gone);
  await expect.poll(() => tries).toBeGreaterThan(1);
  writes.giveUp();
  await Promise.all([asked, writes.idle()]);
  const before = tries;
  await expect(writes.ask(2)).rejects.toBe(gone);
  expect(tries).toBe(before + 1);
});

it('the writer is idle when every request has its answer', async () => {
  let isAnswered = false;
  const writes = new GroupedWrites<number>(async (group) => {
    await nextTurn();
    return doubled(group);
  });
  void writes.ask(1).then(() => (isAnswered = true));
  await writes.idle();
  expect(isAnswered).toBe(true);
});

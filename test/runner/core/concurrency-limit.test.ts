/** Promise: how many at once a service bears is found by adding carefully: doubled until it is too much, cut then, and tried anew one by one. */
import { beforeEach, describe, expect, it } from 'vitest';
import {
  allows,
  firstConcurrencyLimit,
  jobRules,
  requestRules,
  untilProbeMs,
  withRefused,
  withSending,
  withTaken,
  withUnanswered,
  type Sent,
} from '../../../src/runner/core/concurrency-limit.ts';

let now = 0;
let limit = firstConcurrencyLimit(0);

beforeEach(() => {
  now = 0;
  limit = firstConcurrencyLimit(0);
});

/** With so many others in flight. */
function send(concurrent: number): Sent {
  const { limit: next, sent } = withSending(limit, concurrent);
  limit = next;
  return sent;
}

function taken(sent: Sent, rules = requestRules): void {
  limit = withTaken(limit, sent, rules, now);
}

function refused(sent: Sent, { rules = requestRules, enough = 4, scatter = 0 } = {}): void {
  limit = withRefused(limit, sent, rules, now, enough, scatter);
}

/** Four in a row with so many others in flight. */
function cutAt(concurrent: number, rules = requestRules): void {
  for (let i = 0; i < 4; i++) refused(send(concurrent), { rules });
}

/** One beyond the size, as soon as that is allowed. */
function probe(): Sent {
  now += untilProbeMs(limit, now);
  expect(allows(limit, limit.size, now)).toBe(true);
  return send(limit.size);
}

describe('while nothing was too much', () => {
  it('is ten more than are there, and none beyond', () => {
    limit = firstConcurrencyLimit(3);
    expect([12, 13].map((concurrent) => allows(limit, concurrent, 1e9))).toEqual([true, false]);
    expect(untilProbeMs(limit, 1e9)).toBe(Infinity);
  });

  it('grows by each one that is taken, where half of it is used', () => {
    taken(send(4));
    expect(limit.size).toBe(10);
    taken(send(5));
    expect(limit.size).toBe(11);
    taken(send(9), jobRules);
    expect(limit.size).toBe(13);
  });
});

describe('what is too much', () => {
  it('cuts it to the fewest of four in a row, and nothing less than four in a row does', () => {
    for (const concurrent of [9, 2, 9]) refused(send(concurrent));
    expect(limit.size).toBe(10);
    taken(send(1));
    for (const concurrent of [9, 7, 8]) refused(send(concurrent));
    expect(limit.size).toBe(10);
    refused(send(9));
    expect(limit.size).toBe(7);
    expect([6, 7].map((concurrent) => allows(limit, concurrent, now))).toEqual([true, false]);
  });

  it('cuts it by a tenth where it had been found, and never below the fewest', () => {
    limit = firstConcurrencyLimit(20);
    cutAt(21);
    cutAt(20);
    expect(limit.size).toBe(18);
    cutAt(3);
    expect(limit.size).toBe(requestRules.fewest);
    cutAt(0, jobRules);
    expect(limit.size).toBe(jobRules.fewest);
  });

  it('of before the cut cuts nothing more', () => {
    const before = Array.from({ length: 4 }, () => send(5));
    cutAt(9);
    for (const sent of before) refused(sent);
    expect(limit.size).toBe(9);
  });
});

describe('after a cut', () => {
  beforeEach(() => cutAt(8));

  it('is tried one by one, and grows from there once two in a row were taken', () => {
    expect([199, 200].map((ms) => allows(limit, 8, now + ms))).toEqual([false, true]);
    const first = probe();
    // While one is on its way, no other.
    expect(allows(limit, 8, now + 60_000)).toBe(false);
    taken(first);
    expect([limit.size, untilProbeMs(limit, now)]).toEqual([8, 200]);
    taken(send(7));
    expect(limit.size).toBe(8);
    taken(probe());
    expect(limit.size).toBe(10);
    taken(send(9));
    expect(limit.size).toBe(11);
  });

  it('is tried ever less often where that is refused, and counts the taken ones anew', () => {
    const waits = Array.from({ length: 8 }, () => {
      refused(probe());
      return untilProbeMs(limit, now);
    });
    expect(waits).toEqual([200, 400, 800, 1_600, 3_200, 6_400, 8_000, 8_000]);
    taken(probe());
    refused(probe());
    taken(probe());
    expect(limit.size).toBe(8);
    taken(probe());
    for (let concurrent = 9; concurrent < 14; concurrent++) taken(send(concurrent));
    cutAt(13);
    expect(untilProbeMs(limit, now)).toBe(200);
  });

  it('is tried again after a while where no answer came', () => {
    const unanswered = send(3);
    const sent = probe();
    limit = withUnanswered(limit, unanswered, now);
    expect(untilProbeMs(limit, now)).toBe(Infinity);
    limit = withUnanswered(limit, sent, now);
    expect(untilProbeMs(limit, now)).toBe(200);
  });

  it('is at once more than nothing where the first one is taken', () => {
    cutAt(0, jobRules);
    expect(limit.size).toBe(0);
    taken(probe());
    expect(limit.size).toBe(2);
  });

  it('is what it was where it is refused a little further on, and more where it is not', () => {
    taken(probe());
    taken(probe());
    for (let concurrent = 9; concurrent < 14; concurrent++) taken(send(concurrent));
    const grown = limit;
    refused(send(12));
    expect([limit.size, untilProbeMs(limit, now)]).toEqual([8, 200]);
    limit = grown;
    cutAt(13);
    expect(limit.size).toBe(13);
  });
});

describe('where as many had been taken just before', () => {
  const one = { enough: 1 };

  function cutInVain(): void {
    taken(send(limit.size - 1));
    refused(send(limit.size - 1), one);
  }

  beforeEach(() => {
    limit = firstConcurrencyLimit(91);
    cutAt(100);
  });

  it('is as before the cuts after the third, and only many in a row cut it for a while', () => {
    cutInVain();
    expect(limit.size).toBe(89);
    cutInVain();
    expect(limit.size).toBe(79);
    cutInVain();
    expect(limit.size).toBe(100);
    for (let i = 0; i < 3; i++) refused(send(50), one);
    expect(limit.size).toBe(100);
    now += 30_000;
    taken(send(50));
    refused(send(50), one);
    expect(limit.size).toBe(50);
  });

  it('stays cut where that was long ago, or more than had been taken was refused', () => {
    cutInVain();
    cutInVain();
    now += 30_000;
    cutInVain();
    expect(limit.size).toBe(70);
    const late = send(69);
    refused(send(69), one);
    taken(late);
    taken(send(60));
    refused(send(61), one);
    expect(limit.size).toBe(54);
  });
});

it('is cut by no more than a share that is refused at any pace would make likely', () => {
  for (let i = 0; i < 16; i++) refused(send(9), { scatter: 0.5 });
  expect(limit.size).toBe(10);
  refused(send(9), { scatter: 0.5 });
  expect(limit.size).toBe(9);
});

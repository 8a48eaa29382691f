/** Promise: the time of a run's lanes is told to the last moment, and never more of it than there was. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  slotStates,
  slotUsageAt,
  newSlotUsage,
  wholeMs,
  withFree,
  withMove,
  type IdleReason,
  type SlotState,
  type SlotUsage,
} from '../../../src/runner/core/slot-usage.ts';

it('counts half of the lanes for a second as half a second, by what each of them does', () => {
  let time = newSlotUsage(4, 100, 'resuming');
  time = withMove(time, 1_100, undefined, 'inFlight');
  time = withMove(time, 1_100, undefined, 'rate');
  time = withFree(time, 1_100, 'nothingLeft');
  time = withMove(time, 3_100, 'rate', 'inFlight');
  time = withMove(time, 4_100, 'inFlight', 'disk');
  time = withMove(time, 4_500, 'disk', undefined);
  expect(spent(slotUsageAt(time, 5_100))).toEqual({
    resuming: 1_000,
    inFlight: 500 + 500 + 250,
    rate: 500,
    disk: 100,
    nothingLeft: 1_000 + 500 + 500 + 150,
  });
});

it('has no time left for a reason while as many are in flight as may be, however many others wait', () => {
  let time = newSlotUsage(2, 0, 'nothingLeft');
  for (const state of ['inFlight', 'inFlight', 'inFlight', 'disk', 'disk', 'load'] as const)
    time = withMove(time, 0, undefined, state);
  time = withMove(time, 1_000, 'inFlight', 'disk');
  time = withMove(time, 2_000, 'inFlight', 'load');
  // One lane is not in flight, and five that wait share it.
  time = slotUsageAt(time, 3_000);
  expect(spent(time)).toEqual({ inFlight: 2_500, disk: 300, load: 200 });
});

it('tells another reason for free lanes only from then on', () => {
  const time = withFree(newSlotUsage(1, 0, 'resuming'), 700, 'outage');
  expect(spent(slotUsageAt(withFree(time, 900, 'outage'), 1_000))).toEqual({ resuming: 700, outage: 300 });
});

const states = fc.constantFrom(...slotStates);
const change = fc.record({
  afterMs: fc.integer({ min: 0, max: 5_000 }),
  to: states,
  isEntering: fc.boolean(),
});

it('sums to the time that has passed, whatever the lanes do', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(change, { maxLength: 40 }), (limit, changes) => {
      let time: SlotUsage = newSlotUsage(limit, 0, 'resuming');
      const held: SlotState[] = [];
      let at = 0;
      for (const { afterMs, to, isEntering } of changes) {
        at += afterMs;
        const from = isEntering ? undefined : held.shift();
        held.push(to);
        time = withMove(time, at, from, to);
        if (to !== 'inFlight') time = withFree(time, at, to);
      }
      const sum = Object.values(time.spentMs).reduce((total, ms) => total + ms, 0);
      expect(sum).toBeCloseTo(at, 3);
      expect(Object.values(wholeMs(time)).reduce((total, ms) => total + ms, 0)).toBe(at);
    }),
  );
});

function spent({ spentMs }: SlotUsage): Partial<Record<'inFlight' | IdleReason, number>> {
  return Object.fromEntries(Object.entries(spentMs).filter(([, ms]) => ms > 0));
}

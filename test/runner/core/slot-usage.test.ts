/**
 * Promise: the reported time of a run's slots is complete up to the last moment, and never more than the time
 * that passed.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { slotStates, SlotUsage, type SlotState } from '../../../src/runner/core/run-stats.ts';

it('slot usage counts half of the slots for a second as half a second, by the state of each slot', () => {
  const usage = new SlotUsage(4, 100);
  usage.move(1_100, undefined, 'inFlight');
  usage.move(1_100, undefined, 'rate');
  usage.setIdleReason(1_100, 'nothingLeft');
  usage.move(3_100, 'rate', 'inFlight');
  usage.move(4_100, 'inFlight', 'disk');
  usage.move(4_500, 'disk', undefined);
  expect(spent(usage, 5_100)).toEqual({
    resuming: 1_000,
    inFlight: 500 + 500 + 250,
    rate: 500,
    disk: 100,
    nothingLeft: 1_000 + 500 + 500 + 150,
  });
});

it('slot usage counts no time for a reason while all slots are in flight, however many scenes wait', () => {
  const usage = new SlotUsage(2, 0);
  for (const state of ['inFlight', 'inFlight', 'inFlight', 'disk', 'load'] as const)
    usage.move(0, undefined, state);
  expect(spent(usage, 1_000)).toEqual({ inFlight: 1_000 });
});

it('slot usage counts a new reason for free slots only from its beginning', () => {
  const usage = new SlotUsage(1, 0);
  usage.setIdleReason(700, 'outage');
  usage.setIdleReason(900, 'outage');
  expect(spent(usage, 1_000)).toEqual({ resuming: 700, outage: 300 });
});

const states = fc.constantFrom(...slotStates);
const change = fc.record({ afterMs: fc.nat(5_000), to: states, isEntering: fc.boolean() });

it('slot usage sums to the time that has passed, whatever the slots do', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.array(change, { maxLength: 40 }), (limit, changes) => {
      const usage = new SlotUsage(limit, 0);
      const held: SlotState[] = [];
      let at = 0;
      for (const { afterMs, to, isEntering } of changes) {
        at += afterMs;
        usage.move(at, isEntering ? undefined : held.shift(), to);
        held.push(to);
        if (to !== 'inFlight') usage.setIdleReason(at, to);
      }
      const sum = Object.values(usage.spentMs(at)).reduce((total, ms) => total + ms, 0);
      // Each value is rounded.
      expect(Math.abs(sum - at)).toBeLessThanOrEqual(slotStates.length / 2);
    }),
  );
});

function spent(usage: SlotUsage, at: number): Partial<Record<SlotState, number>> {
  return Object.fromEntries(Object.entries(usage.spentMs(at)).filter(([, ms]) => ms > 0));
}

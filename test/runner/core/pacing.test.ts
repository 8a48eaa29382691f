/** Promise: requests follow each other within the limits that were set, slower while the service says that it is too much, and no slower for what it refuses at any pace. */
import { beforeEach, describe, expect, it } from 'vitest';
import {
  fullPace,
  isClose,
  paceAt,
  scatterOf,
  untilRoomMs,
  withAnswer,
  withOverload,
  withSent,
  withRate,
} from '../../../src/runner/core/pacing.ts';

/** 99 a second, of which ten may come at once. */
const settings = { atOnce: 100, perTenSeconds: 1_000 };
let now = 0;
let pace = fullPace(settings, 0);

beforeEach(() => {
  now = 0;
  pace = fullPace(settings, 0);
});

/** Sends one as soon as there is room; since when, in ms. */
function send(): number {
  pace = paceAt(pace, settings, now);
  const waitMs = untilRoomMs(pace);
  now += waitMs;
  pace = withSent(paceAt(pace, settings, now));
  return waitMs;
}

/** So many are sent and answered, each `isRefused` of them not taken. */
function answer(count: number, isRefused: (index: number) => boolean = () => false): void {
  for (let index = 0; index < count; index++) {
    send();
    const { epoch } = pace;
    pace = isRefused(index)
      ? withOverload(pace, settings, now, epoch)
      : withAnswer(pace, settings, now, epoch);
  }
}

const every = (nth: number) => (index: number) => index % nth === nth - 1;

describe('while nothing is refused', () => {
  it('a hundredth of ten seconds comes at once, and the rest evenly', () => {
    const waits = Array.from({ length: 12 }, send);
    expect(waits).toEqual([...Array.from({ length: 10 }, () => 0), 11, 10]);
    now += 60_000;
    expect(Array.from({ length: 11 }, send).filter((ms) => ms === 0)).toHaveLength(10);
  });

  it('one is close to the one before where the pace allows hardly more', () => {
    expect(isClose(pace)).toBe(false);
    send();
    const closeAfter = (ms: number) => isClose(paceAt(pace, settings, ms));
    expect([closeAfter(15), closeAfter(16)]).toEqual([true, false]);
  });
});

describe('where it is too much', () => {
  it('the pace is slowed to what was borne, and to half at most', () => {
    answer(40, every(5));
    const { perSecond } = pace;
    expect(perSecond).toBeLessThan(0.95 * 99 * 0.9);
    expect(perSecond).toBeGreaterThan(0.95 * 99 * 0.6);
    pace = fullPace(settings, now);
    answer(12, (index) => index >= 6 && index % 2 === 0);
    expect(pace.perSecond).toBeGreaterThanOrEqual(99 / 2);
    // What comes late comes no more at once.
    now += 60_000;
    expect([send(), send()].map((ms) => ms > 0)).toEqual([false, true]);
  });

  it('a few stray refusals slow nothing', () => {
    answer(2, () => true);
    expect(pace.perSecond).toBe(99);
    answer(200, (index) => index === 100);
    expect(pace.perSecond).toBe(99);
    // No more than a hundredth, whatever their number.
    pace = { ...fullPace(settings, now), heard: { answers: 199, overloads: 0.5 } };
    answer(1, () => true);
    expect(pace.perSecond).toBe(99);
  });

  it('more of one burst slow nothing more, a row of six does', () => {
    answer(20);
    answer(5, () => true);
    expect([pace.epoch, pace.inARow]).toEqual([0, 5]);
    answer(1, () => true);
    expect(pace.epoch).toBe(1);
    answer(20, () => true);
    expect(pace.epoch).toBe(1);
  });

  it('what was on its way then slows it no further than to what it tells of the pace before, and what is older to nothing', () => {
    answer(40, every(5));
    const [{ epoch, perSecond }, slowed] = [pace, pace];
    expect(epoch).toBeGreaterThan(0);
    pace = withOverload({ ...pace, inARow: 0 }, settings, now, epoch - 1);
    expect(pace.epoch).toBe(epoch);
    expect(pace.perSecond).toBeLessThanOrEqual(perSecond);
    expect(pace.perSecond).toBeGreaterThan(0.9 * perSecond);
    pace = withOverload({ ...slowed, inARow: 0 }, settings, now, epoch - 2);
    expect([pace.epoch, pace.perSecond]).toEqual([epoch, perSecond]);
  });

  it('it grows again with each second in which nothing was too much, ever faster, up to what was set', () => {
    answer(40, every(5));
    const paces = Array.from({ length: 30 }, () => {
      now += 1_000;
      answer(1);
      return pace.perSecond;
    });
    const growth = paces.slice(2, 12).map((each, index) => each / (paces[index + 1] ?? 0));
    expect(growth.every((each, index) => each >= (growth[index - 1] ?? 1))).toBe(true);
    expect(growth[0]).toBeLessThan(1.03);
    expect(paces.at(-1)).toBe(99);
  });

  it('it does not grow after a second in which one was refused', () => {
    answer(40, every(5));
    now += 1_000;
    answer(3, (index) => index === 1);
    const { perSecond } = pace;
    now += 1_000;
    answer(1);
    expect(pace.perSecond).toBe(perSecond);
  });

  it('is never slower than one in two seconds', () => {
    const few = { atOnce: 1, perTenSeconds: 6 };
    pace = fullPace(few, 0);
    for (let index = 0; index < 60; index++) {
      const isRefused = index % 2 === 1;
      pace = isRefused ? withOverload(pace, few, 0, pace.epoch) : withAnswer(pace, few, 0, pace.epoch);
    }
    expect(pace.perSecond).toBe(0.5);
  });
});

describe('where a share is refused at any pace', () => {
  it('that is found out, nothing is slowed for it, and it is tried anew after a minute', () => {
    // Of what is sent a fifth is refused, whatever the pace.
    let index = 0;
    const isRefused = (): boolean => index++ % 5 === 4;
    for (let turn = 0; scatterOf(pace, now) === 0 && turn < 5_000; turn++) answer(1, isRefused);
    expect(scatterOf(pace, now)).toBeCloseTo(0.2, 1);
    const { perSecond } = pace;
    answer(400, isRefused);
    expect(pace.perSecond).toBeGreaterThanOrEqual(perSecond);
    expect(scatterOf(pace, now + 60_000)).toBe(0);
  });

  it('a row that is improbable by that share shows a limit', () => {
    pace = { ...pace, scatter: 0.2, scatterUntil: 60_000 };
    answer(7, () => true);
    expect(scatterOf(pace, now)).toBe(0.2);
    answer(1, () => true);
    expect(scatterOf(pace, now)).toBe(0);
  });

  it('twice that share shows one, too, once enough was answered', () => {
    pace = { ...pace, scatter: 0.1, scatterUntil: 600_000 };
    answer(40, every(2));
    expect(pace.epoch).toBe(0);
    answer(40, every(2));
    expect(pace.epoch).toBeGreaterThan(0);
  });
});

it('is shared among those who come, and theirs again when they leave', () => {
  const half = { atOnce: 50, perTenSeconds: 500 };
  const shared = withRate(pace, settings, half);
  expect([shared.perSecond, Math.floor(shared.room)]).toEqual([49.5, 5]);
  expect(withRate(shared, half, settings).perSecond).toBe(99);
});

/** The number and size of webhooks in progress is limited, in total and for each host. */
import { expect, it } from 'vitest';
import { WebhookSlots } from '../../../src/service/webhooks/webhooks.ts';

const mega = 1024 * 1024;

/** Returns how many of these hosts get a slot, each for one webhook. */
function placesFor(slots: WebhookSlots, hosts: number, bytes = 1_000, name = 'host'): number {
  return Array.from({ length: hosts }, (_, index) =>
    slots.acquire({ queue: `${name}-${index}`, bytes }),
  ).filter((leave) => leave !== undefined).length;
}

/** Returns how many webhooks to this host get a slot. */
function placesOf(slots: WebhookSlots, host: string): number {
  const places = Array.from({ length: 10 }, () => slots.acquire({ queue: host, bytes: 1 }));
  return places.filter((leave) => leave !== undefined).length;
}

function learn(slots: WebhookSlots, host: string, hasAnswered: boolean): void {
  slots.acquire({ queue: host, bytes: 1_000 })?.(hasAnswered);
}

it('webhooks use no more than 64 MiB, of which silent hosts hold up a quarter', () => {
  const slots = new WebhookSlots();
  for (let index = 0; index < 10; index++) learn(slots, `silent-${index}`, false);
  learn(slots, 'answering', true);
  expect(placesFor(slots, 10, 8 * mega, 'silent')).toBe(2);
  expect(placesFor(slots, 10, 8 * mega)).toBe(4);
  expect(slots.acquire({ queue: 'answering', bytes: 8 * mega })).toBeDefined();
  expect(slots.acquire({ queue: 'answering', bytes: 9 * mega })).toBeUndefined();
});

it('a webhook that is larger than all of the memory is sent, alone', () => {
  const slots = new WebhookSlots();
  const leave = slots.acquire({ queue: 'a', bytes: 500 * mega });
  expect([leave !== undefined, slots.acquire({ queue: 'b', bytes: 1 })]).toEqual([true, undefined]);
  leave?.(undefined);
  expect(slots.acquire({ queue: 'b', bytes: 1 })).toBeDefined();
});

it('a host gets one place until it has answered, and four from then on', () => {
  const slots = new WebhookSlots();
  const places = (): number => placesOf(slots, 'host');
  expect(slots.hasRoom('host')).toBe(true);
  expect(places()).toBe(1);
  expect(slots.hasRoom('host')).toBe(false);
  learn(slots, 'other', true);
  expect(placesOf(slots, 'other')).toBe(4);
});

it('the oldest of ten thousand hosts is forgotten', () => {
  const slots = new WebhookSlots();
  for (let index = 0; index < 10_001; index++) learn(slots, `answering-${index}`, true);
  expect([placesOf(slots, 'answering-0'), placesOf(slots, 'answering-1')]).toEqual([1, 4]);
});

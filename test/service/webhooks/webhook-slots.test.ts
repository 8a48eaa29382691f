/** How many webhooks may be on their way, to whom, and how large. */
import { expect, it } from 'vitest';
import { WebhookSlots } from '../../../src/service/webhooks/webhook-slots.ts';

const mega = 1024 * 1024;

/** How many of so many hosts get a place, one each. */
function placesFor(slots: WebhookSlots, hosts: number, bytes = 1_000, name = 'host'): number {
  return Array.from({ length: hosts }, (_, index) =>
    slots.acquire({ host: `${name}-${index}`, bytes }),
  ).filter((leave) => leave !== undefined).length;
}

function learn(slots: WebhookSlots, host: string, hasAnswered: boolean): void {
  slots.acquire({ host, bytes: 1_000 })?.(hasAnswered);
}

it('asks a host that is silent one thing at a time, until it answers', () => {
  const slots = new WebhookSlots();
  const ask = () => slots.acquire({ host: 'a', bytes: 1_000 });
  const first = [ask(), ask(), ask(), ask(), ask()];
  expect(first.map((leave) => leave !== undefined)).toEqual([true, true, true, true, false]);
  for (const leave of first) leave?.(false);
  const one = ask();
  expect([one !== undefined, ask()]).toEqual([true, undefined]);
  one?.(true);
  expect([ask(), ask()]).not.toContain(undefined);
});

it('keeps a quarter of the places for hosts that answer', () => {
  const slots = new WebhookSlots();
  learn(slots, 'answering', true);
  expect(placesFor(slots, 1_000)).toBe(384);
  expect(slots.isFull).toBe(false);
  expect(slots.acquire({ host: 'answering', bytes: 1_000 })).toBeDefined();
});

it('gives hosts that were silent a quarter, and not that of those that nobody knows', () => {
  const slots = new WebhookSlots();
  for (let index = 0; index < 1_000; index++) learn(slots, `silent-${index}`, false);
  expect(placesFor(slots, 1_000, 1_000, 'silent')).toBe(128);
  expect(placesFor(slots, 1_000)).toBe(384 - 128);
});

it('is full when all places are taken', () => {
  const slots = new WebhookSlots();
  for (let index = 0; index < 600; index++) learn(slots, `answering-${index}`, true);
  expect(placesFor(slots, 600, 1_000, 'answering')).toBe(512);
  expect(slots.isFull).toBe(true);
});

it('holds no more than 64 MiB, of which silent hosts hold up a quarter', () => {
  const slots = new WebhookSlots();
  for (let index = 0; index < 10; index++) learn(slots, `silent-${index}`, false);
  learn(slots, 'answering', true);
  expect(placesFor(slots, 10, 8 * mega, 'silent')).toBe(2);
  expect(placesFor(slots, 10, 8 * mega)).toBe(4);
  expect(slots.acquire({ host: 'answering', bytes: 8 * mega })).toBeDefined();
  expect(slots.acquire({ host: 'answering', bytes: 9 * mega })).toBeUndefined();
});

it('lets one that is larger than all of that through, alone', () => {
  const slots = new WebhookSlots();
  const leave = slots.acquire({ host: 'a', bytes: 500 * mega });
  expect([leave !== undefined, slots.acquire({ host: 'b', bytes: 1 })]).toEqual([true, undefined]);
  leave?.(undefined);
  expect(slots.acquire({ host: 'b', bytes: 1 })).toBeDefined();
});

it('forgets the oldest of ten thousand hosts', () => {
  const slots = new WebhookSlots();
  for (let index = 0; index < 10_001; index++) learn(slots, `silent-${index}`, false);
  const twice = (host: string) => [slots.acquire({ host, bytes: 1 }), slots.acquire({ host, bytes: 1 })];
  expect(twice('silent-0')).not.toContain(undefined);
  expect(twice('silent-1')).toContain(undefined);
});

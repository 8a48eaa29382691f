/**
 * Promise: a slow reader gets the events of a run in order, and a reader that never reads does not let memory
 * grow.
 */
import { expect, it } from 'vitest';
import { EventQueue } from '../../src/library/event-queue.ts';
import type { BatchEvent } from '../../src/library/library.ts';

it('the event queue gives the events from before and during the reading, and ends', async () => {
  const queue = new EventQueue();
  queue.push(warning(1));
  const seen = textsOf(queue.read());
  queue.push(warning(2));
  await Promise.resolve();
  queue.push(warning(3));
  queue.end();
  expect(await seen).toEqual(['1', '2', '3']);
});

it('the event queue drops the oldest of more than ten thousand events, says how many, and gives the newest in order', async () => {
  const queue = new EventQueue();
  const count = 40_000;
  for (let i = 1; i <= count; i++) queue.push(warning(i));
  queue.end();
  const [first, ...others] = await textsOf(queue.read());
  expect(others.length).toBeLessThanOrEqual(10_000);
  expect(first).toBe(`${count - others.length} dropped`);
  expect(others).toEqual(others.map((_, i) => String(count - others.length + 1 + i)));
});

it('the event queue keeps no events for a reader that has left', async () => {
  const queue = new EventQueue();
  queue.push(warning(1));
  const events = queue.read();
  for await (const _ of events) break;
  queue.push(warning(2));
  expect(await textsOf(queue.read())).toEqual([]);
});

async function textsOf(events: AsyncIterable<BatchEvent>): Promise<string[]> {
  const texts: string[] = [];
  for await (const event of events) {
    if (event.type === 'warning') texts.push(event.text);
    if (event.type === 'events-dropped') texts.push(`${event.events} dropped`);
  }
  return texts;
}

function warning(number: number): BatchEvent {
  return { type: 'warning', text: String(number), at: '2030-01-01T00:00:00.000Z' };
}

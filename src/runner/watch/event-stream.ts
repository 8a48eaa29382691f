/** Tells a page what changes, as server-sent events. */
import type { ServerResponse } from 'node:http';
import type { LiveBatch } from '../core/live-batch.ts';
import type { Broadcast } from './broadcast.ts';

/** Pictures that come with a change: a page that misses some of many asks for them. */
const mostNews = 12;

/** Sends the batch as it is, then what changes, until the page goes away. The head is sent already. */
export async function streamEvents(response: ServerResponse, broadcast: Broadcast): Promise<void> {
  const first = await broadcast.latest();
  if (response.destroyed) return;
  response.write(`retry: 2000\n\n${eventOf('batch', first)}`);
  let missed: LiveBatch | undefined;
  const leave = broadcast.join({
    hear: (batch, earlier) => {
      // Whoever reads slowly misses some changes: only the last one counts.
      if (response.writableNeedDrain) missed = batch;
      else response.write(eventOf('change', changeOf(batch, earlier)));
    },
    beat: () => {
      if (!response.writableNeedDrain) response.write(eventOf('beat', {}));
    },
  });
  response.on('drain', () => {
    if (missed !== undefined) response.write(eventOf('batch', missed));
    missed = undefined;
  });
  response.once('close', leave);
}

/** All but the pictures that the page has already. */
function changeOf(batch: LiveBatch, earlier: LiveBatch | undefined): LiveBatch {
  const known = earlier?.newest[0]?.id ?? 0;
  return { ...batch, newest: batch.newest.filter(({ id }) => id > known).slice(0, mostNews) };
}

/** JSON has no line breaks in it, which would end the event. */
function eventOf(name: string, data: object): string {
  return `event: ${name}\ndata: ${JSON.stringify({ now: Date.now(), ...data })}\n\n`;
}

/**
 * A server that reads requests and answers a constant. No service in Node can be faster. It obeys the same orders as
 * `serve-service.ts`.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Order } from './serve-process.ts';

const body = JSON.stringify({ id: '00000000-0000-4000-8000-000000000000', status: 'IN_QUEUE' });
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
});
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
server.listen(0, '127.0.0.1', () => {
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process
  .on('disconnect', () => process.exit())
  .on('message', ({ kind }: Order) => {
    if (kind === 'end') return process.disconnect();
    const { user, system } = process.cpuUsage();
    const delays = { delayP99Ms: delay.percentile(99) / 1e6, delayMaxMs: delay.max / 1e6 };
    process.send?.({ cpuMs: (user + system) / 1_000, residentBytes: process.memoryUsage.rss(), ...delays });
    delay.reset();
  });

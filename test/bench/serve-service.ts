/**
 * The service in a separate process: `node serve-service.js DATA`. It obeys orders of its parent process and ends with
 * it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { startService } from '../../src/service/instance/start-service.ts';
import { endpointId } from './serve-data.ts';
import type { Order, Use } from './serve-process.ts';

const [dataDir = ''] = process.argv.slice(2);
let clockAheadMs = 0;
const service = await startService({
  dataDir,
  keys: [],
  endpoints: [endpointSettings({ id: endpointId, workers: 0, maxQueued: 10_000_000 }, { remote: true })],
  workloadOf: () => undefined,
  // The limit is raised because the service is measured, not its setting.
  rate: { requests: 1e9, withinMs: 1_000 },
  now: () => Date.now() + clockAheadMs,
  onProblem: (text) => console.error(text),
});
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
process.send?.({ url: service.url });
process.on('disconnect', () => process.exit()).on('message', (order: Order) => void obey(order));

async function obey(order: Order): Promise<void> {
  switch (order.kind) {
    case 'tell use':
      process.send?.(use());
      delay.reset();
      return;
    case 'advance clock':
      clockAheadMs += order.ms;
      process.send?.({});
      return;
    case 'end':
      await service.close();
      process.disconnect();
  }
}

function use(): Use {
  const { user, system } = process.cpuUsage();
  return {
    cpuMs: (user + system) / 1_000,
    residentBytes: process.memoryUsage.rss(),
    delayP99Ms: delay.percentile(99) / 1e6,
    delayMaxMs: delay.max / 1e6,
  };
}

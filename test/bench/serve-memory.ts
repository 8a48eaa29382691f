/** Measures whether the service's memory stays constant during very many requests. */
import { makeData } from './serve-data.ts';
import type { ServeOptions } from './serve-options.ts';
import { startServer } from './serve-process.ts';
import { median } from './statistics.ts';
import { send } from './serve-traffic.ts';
import { target, type Target } from './target.ts';

const mostGrowthBytes = 50e6;
const settledShare = 0.2;

export async function measureMemory(dir: string, options: ServeOptions): Promise<Target[]> {
  const data = await makeData(`${dir}/data`, { queued: options.jobs });
  const server = await startServer('service', [data.dir], options.profile);
  try {
    const traffic = { url: server.url, kind: 'mixed', data, connections: 64 } as const;
    const { result, samples, cpuMs } = await server.measure(() =>
      send({ ...traffic, requests: options.requests }),
    );
    const bytes = samples.map(({ residentBytes }) => residentBytes);
    const settled = bytes.slice(Math.floor(bytes.length * settledShare));
    const fifth = Math.ceil(settled.length / 5);
    const [first, last] = [median(settled.slice(0, fifth)), median(settled.slice(-fifth))];
    const asked = `${result.requests} requests, ${result.submissions} of them submissions`;
    const range = `${mb(Math.min(...settled))} to ${mb(Math.max(...settled))} MB, ${mb(first)} to ${mb(last)} MB by the medians of the first and last fifth`;
    const from = `${asked}: ${range}; ${((cpuMs * 1_000) / result.requests).toFixed(0)} µs of CPU each`;
    return [
      target('growth of memory over the last 80 %', { atMost: mostGrowthBytes / 1e6 }, (last - first) / 1e6, {
        unit: ' MB',
        digits: 0,
        from,
      }),
    ];
  } finally {
    await server.stop();
  }
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}

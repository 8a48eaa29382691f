/** Measures how many requests of each kind a service answers, beside a server that answers a constant. */
import { type Phase, type Served, startServer } from './serve-process.ts';
import { type Data, makeData } from './serve-data.ts';
import type { ServeOptions } from './serve-options.ts';
import { type Got, send, type Traffic } from './serve-traffic.ts';
import { target, type Target } from './target.ts';

export type Kind = Traffic['kind'];

type Rates = Record<Kind, Phase<Got>>;

const connections = 64;

/** Target of requests a second. */
const wanted = { submit: 2_000, status: 5_000, mixed: 7_000, pull: 1_000, health: 1_000 } as const;

export async function measureRates(dir: string, options: ServeOptions): Promise<Target[]> {
  const data = await makeData(`${dir}/data`, { queued: options.jobs });
  const bare = await withServer('bare', [], options, (server) =>
    ratesOf(server, data, ['submit', 'status', 'mixed'], options),
  );
  const rates = await withServer('service', [data.dir], options, (server) =>
    ratesOf(server, data, ['submit', 'status', 'mixed', 'pull', 'health'], options),
  );
  return kindsOf(rates).map(([kind, phase]) => targetOf(kind, phase, bare[kind]));
}

async function withServer<T>(
  program: 'service' | 'bare',
  args: string[],
  { profile }: ServeOptions,
  work: (server: Served) => Promise<T>,
): Promise<T> {
  const server = await startServer(program, args, program === 'service' ? profile : undefined);
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

async function ratesOf(
  server: Served,
  data: Data,
  kinds: Kind[],
  { seconds, kinds: asked }: ServeOptions,
): Promise<Partial<Rates>> {
  const rates: Partial<Rates> = {};
  const { url } = server;
  for (const kind of kinds.filter((each) => asked.length === 0 || asked.includes(each))) {
    const traffic = { url, kind, data, connections };
    await send({ ...traffic, seconds: Math.min(seconds, 2) });
    rates[kind] = await server.measure(() => send({ ...traffic, seconds }));
  }
  return rates;
}

const names: Record<Kind, string> = {
  submit: 'submissions a second, each on the disk',
  status: 'status requests a second',
  mixed: 'both together, two submissions on five status requests',
  pull: 'jobs a second taken and handed in by workers that pull',
  health: 'health requests a second',
};

function kindsOf(rates: Partial<Rates>): [Kind, Phase<Got>][] {
  return Object.entries(rates) as [Kind, Phase<Got>][];
}

function targetOf(kind: Kind, phase: Phase<Got>, bare: Phase<Got> | undefined): Target {
  const bound = { atLeast: wanted[kind] };
  const cpu = `${cpuUs(phase).toFixed(0)} µs of CPU each, ${(1e6 / cpuUs(phase)).toFixed(0)} a second of CPU`;
  const { p50Ms, p99Ms } = phase.result;
  const waits = `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms, event loop p99 ${phase.delayP99Ms.toFixed(0)} ms`;
  const shown = { unit: '', digits: 0, from: `${cpu}; ${waits}` };
  if (bare === undefined) return target(names[kind], bound, perSecond(phase), shown);
  const times = (cpuUs(phase) / cpuUs(bare)).toFixed(1);
  const peer = `${perSecond(bare).toFixed(0)} (${cpuUs(bare).toFixed(0)} µs; ours ${times} ×)`;
  return target(names[kind], bound, perSecond(phase), { ...shown, peer });
}

function perSecond({ result, wallMs }: Phase<Got>): number {
  return (result.requests * 1_000) / wallMs;
}

function cpuUs({ result, cpuMs }: Phase<Got>): number {
  return (cpuMs * 1_000) / result.requests;
}

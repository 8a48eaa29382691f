/** Runs a server in a separate process, and measures its resources during requests. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Refusal } from './refusal.ts';
import { epochMs, takeSamples, type Sample } from './samples.ts';

export type Order = { kind: 'tell use' } | { kind: 'advance clock'; ms: number } | { kind: 'end' };

/** Resource use since the start. Delays of the event loop are since the last query. */
export interface Use {
  /** User and system time of all threads. */
  cpuMs: number;
  residentBytes: number;
  delayP99Ms: number;
  delayMaxMs: number;
}

export interface Phase<T> {
  result: T;
  wallMs: number;
  cpuMs: number;
  delayP99Ms: number;
  delayMaxMs: number;
  /** Memory at the start and the end, and samples in between. */
  startBytes: number;
  endBytes: number;
  samples: Sample[];
}

export interface Served {
  url: string;
  /** Time from the start until the server listened. */
  startMs: number;
  measure<T>(work: () => Promise<T>): Promise<Phase<T>>;
  advanceClock(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server. `profile`: folder for its CPU profile. */
export async function startServer(
  program: 'service' | 'bare',
  args: string[] = [],
  profile?: string,
): Promise<Served> {
  const startedAt = epochMs();
  const child = fork(fileURLToPath(new URL(`./serve-${program}.js`, import.meta.url)), args, {
    // The program sets this value as well.
    env: { ...process.env, UV_THREADPOOL_SIZE: '8' },
    execArgv: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
  });
  const closed = once(child, 'close');
  const { url } = (await answerOf(child, closed)) as { url: string };
  const ask = (order: Order): Promise<unknown> => {
    const answer = answerOf(child, closed);
    child.send(order);
    return answer;
  };
  return {
    url,
    startMs: epochMs() - startedAt,
    measure: (work) => measure(child.pid ?? 0, async () => (await ask({ kind: 'tell use' })) as Use, work),
    advanceClock: async (ms) => void (await ask({ kind: 'advance clock', ms })),
    stop: async () => {
      child.send({ kind: 'end' });
      await closed;
    },
  };
}

async function answerOf(child: ChildProcess, closed: Promise<unknown>): Promise<unknown> {
  const [answer] = (await Promise.race([once(child, 'message'), closed])) as [unknown];
  if (child.exitCode !== null) throw new Refusal(`the server ended with ${child.exitCode}`);
  return answer;
}

const samplesEveryMs = 500;

async function measure<T>(
  pid: number,
  tellUse: () => Promise<Use>,
  work: () => Promise<T>,
): Promise<Phase<T>> {
  const before = await tellUse();
  const startedAt = epochMs();
  const stopSampling = takeSamples(pid, samplesEveryMs);
  const result = await work();
  const wallMs = epochMs() - startedAt;
  const samples = stopSampling();
  const { cpuMs, residentBytes, delayP99Ms, delayMaxMs } = await tellUse();
  const bytes = { startBytes: before.residentBytes, endBytes: residentBytes, samples };
  return { result, wallMs, cpuMs: cpuMs - before.cpuMs, delayP99Ms, delayMaxMs, ...bytes };
}

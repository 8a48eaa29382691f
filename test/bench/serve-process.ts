/** A server in a process of its own, and what it used while it was asked something. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Refusal } from './refusal.ts';
import { epochMs, takeSamples, type Sample } from './samples.ts';

export type Order = { kind: 'tell use' } | { kind: 'advance clock'; ms: number } | { kind: 'end' };

/** Since its start; the delays of the event loop since it was asked before. */
export interface Use {
  /** User and system time of all its threads. */
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
  /** At its beginning and its end, and every now and then in between. */
  startBytes: number;
  endBytes: number;
  samples: Sample[];
}

export interface Served {
  url: string;
  /** From its start until it listened. */
  startMs: number;
  measure<T>(work: () => Promise<T>): Promise<Phase<T>>;
  advanceClock(ms: number): Promise<void>;
  stop(): Promise<void>;
}

/** `profile` is a folder for its CPU profile. */
export async function startServer(
  program: 'service' | 'bare',
  args: string[] = [],
  profile?: string,
): Promise<Served> {
  const startedAt = epochMs();
  const child = fork(fileURLToPath(new URL(`./serve-${program}.js`, import.meta.url)), args, {
    // As the program sets it.
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

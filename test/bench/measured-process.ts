/** Runs a program to its end, and measures the whole process. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from './refusal.ts';
import { epochMs, takeSamples, type Sample } from './samples.ts';

export interface ProcessUse {
  /** Time from start to end. */
  wallMs: number;
  /** Epoch ms. */
  endedAt: number;
  /** User and system time of all threads. */
  cpuMs: number;
  peakBytes: number;
  /** Empty unless samples were requested. */
  samples: Sample[];
}

const apiKey = 'key-of-the-benchmark';

const probe = new URL('./usage-probe.js', import.meta.url).href;
/** Maximum number of characters of stderr that are reported. */
const longestComplaint = 2_000;
/** A program that takes longer is considered hung, and is killed. */
const longestRunMs = 30 * 60_000;

/** Runs `node ...args` in `dir`. Throws `Refusal` if it fails. */
export async function runMeasured(
  name: string,
  args: string[],
  dir: string,
  samplesEveryMs?: number,
): Promise<ProcessUse> {
  const startedAt = epochMs();
  const child = startMeasured(args, dir, 'ignore');
  const timer = setTimeout(() => child.kill('SIGKILL'), longestRunMs);
  const stopSampling = samplesEveryMs === undefined ? undefined : takeSamples(child.pid ?? 0, samplesEveryMs);
  const complaint = collectComplaint(child);
  await once(child, 'close');
  clearTimeout(timer);
  const samples = stopSampling?.() ?? [];
  const endedAt = epochMs();
  if (child.exitCode !== 0) {
    throw new Refusal(`${name} ended with ${child.exitCode ?? child.signalCode}: ${complaint()}`);
  }
  return { wallMs: endedAt - startedAt, endedAt, samples, ...readUse(dir) };
}

/** Returns how many ms `node ...args` takes from start to end, without the measuring code in the process. */
export async function timeOf(args: string[], dir: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { cwd: dir, env: environment(dir), stdio: 'ignore' });
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Refusal(`ended with ${child.exitCode ?? child.signalCode}`);
  return performance.now() - startedAt;
}

/** Starts `node ...args` in `dir`. After its end, `readUse` returns its resource use. */
export function startMeasured(args: string[], dir: string, stdout: 'ignore' | 'pipe'): ChildProcess {
  return spawn(process.execPath, ['--import', probe, ...args], {
    cwd: dir,
    env: { ...environment(dir), BENCH_USAGE_FILE: usageFile(dir) },
    stdio: ['ignore', stdout, 'pipe'],
  });
}

/** Returns a function that returns the end of stderr. */
export function collectComplaint(child: ChildProcess): () => string {
  let complaint = '';
  child.stderr
    ?.setEncoding('utf8')
    .on('data', (text: string) => (complaint = (complaint + text).slice(-longestComplaint)));
  return () => complaint;
}

export function readUse(dir: string): { cpuMs: number; peakBytes: number } {
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(
    readFileSync(usageFile(dir), 'utf8'),
  ) as NodeJS.ResourceUsage;
  return { cpuMs: (userCPUTime + systemCPUTime) / 1_000, peakBytes: maxRSS * 1024 };
}

function usageFile(dir: string): string {
  return join(dir, 'usage.json');
}

/** Returns the environment without settings of this machine. */
function environment(dir: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('NIGHTRENDER_') && name !== 'NODE_OPTIONS',
  );
  const XDG_STATE_HOME = join(dir, 'state');
  return { ...Object.fromEntries(kept), XDG_STATE_HOME, NIGHTRENDER_API_KEY: apiKey };
}

/** A program run to its end, and what it took as a whole process. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from './refusal.ts';
import { epochMs, takeSamples, type Sample } from './samples.ts';

export interface ProcessUse {
  /** From its start to its end. */
  wallMs: number;
  /** Epoch ms. */
  endedAt: number;
  /** User and system time of all its threads. */
  cpuMs: number;
  peakBytes: number;
  /** Of those who asked for them. */
  samples: Sample[];
}

const apiKey = 'key-of-the-benchmark';

const probe = new URL('./usage-probe.js', import.meta.url).href;
/** This much of what it complained about is told. */
const longestComplaint = 2_000;
/** Whoever takes longer hangs. */
const longestRunMs = 30 * 60_000;

/** Runs `node ...args` within `dir`; refuses where it fails. */
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

/** Ms of `node ...args` from start to end, without anything in it that measures. */
export async function timeOf(args: string[], dir: string): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { cwd: dir, env: environment(dir), stdio: 'ignore' });
  await once(child, 'close');
  if (child.exitCode !== 0) throw new Refusal(`ended with ${child.exitCode ?? child.signalCode}`);
  return performance.now() - startedAt;
}

/** Starts `node ...args` within `dir`; at its end, `readUse` tells what it took. */
export function startMeasured(args: string[], dir: string, stdout: 'ignore' | 'pipe'): ChildProcess {
  return spawn(process.execPath, ['--import', probe, ...args], {
    cwd: dir,
    env: { ...environment(dir), BENCH_USAGE_FILE: usageFile(dir) },
    stdio: ['ignore', stdout, 'pipe'],
  });
}

/** What it last said on stderr. */
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

/** Nothing of the machine's own settings reaches what is measured. */
function environment(dir: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('NIGHTRENDER_') && name !== 'NODE_OPTIONS',
  );
  const XDG_STATE_HOME = join(dir, 'state');
  return { ...Object.fromEntries(kept), XDG_STATE_HOME, NIGHTRENDER_API_KEY: apiKey };
}

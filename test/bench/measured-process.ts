/** A program run to its end, and what it took as a whole process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from './refusal.ts';

export interface ProcessUse {
  /** From its start to its end. */
  wallMs: number;
  /** User and system time of all its threads. */
  cpuMs: number;
  peakBytes: number;
}

export const apiKey = 'key-of-the-benchmark';

const probe = new URL('./usage-probe.js', import.meta.url).href;
/** This much of what it complained about is told. */
const longestComplaint = 2_000;

/** Runs `node ...args` within `dir`; refuses where it fails. */
export async function runMeasured(name: string, args: string[], dir: string): Promise<ProcessUse> {
  const usageFile = join(dir, 'usage.json');
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--import', probe, ...args], {
    cwd: dir,
    env: { ...ownEnvironment(), NIGHTRENDER_API_KEY: apiKey, BENCH_USAGE_FILE: usageFile },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaint = '';
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (complaint = (complaint + text).slice(-longestComplaint)));
  await once(child, 'close');
  const wallMs = performance.now() - startedAt;
  if (child.exitCode !== 0) {
    throw new Refusal(`${name} ended with ${child.exitCode ?? child.signalCode}: ${complaint}`);
  }
  const { userCPUTime, systemCPUTime, maxRSS } = JSON.parse(
    readFileSync(usageFile, 'utf8'),
  ) as NodeJS.ResourceUsage;
  return { wallMs, cpuMs: (userCPUTime + systemCPUTime) / 1_000, peakBytes: maxRSS * 1024 };
}

/** Nothing of the machine's own settings reaches what is measured. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('NIGHTRENDER_') && name !== 'NODE_OPTIONS',
  );
  return Object.fromEntries(kept);
}

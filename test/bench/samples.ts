/** Samples of a running process: its memory and its open files, from Linux's /proc. */
import { readdirSync, readFileSync } from 'node:fs';

export interface Sample {
  /** Epoch ms. */
  at: number;
  residentBytes: number;
  openFiles: number;
}

/** Takes samples until the returned function is called, which returns them. */
export function takeSamples(pid: number, everyMs: number): () => Sample[] {
  const samples: Sample[] = [];
  const timer = setInterval(() => {
    const residentBytes = readMemory(pid, 'VmRSS');
    const openFiles = countOpenFiles(pid);
    if (residentBytes === undefined || openFiles === undefined) return;
    samples.push({ at: epochMs(), residentBytes, openFiles });
  }, everyMs);
  return () => {
    clearInterval(timer);
    return samples;
  };
}

/** Returns the highest memory use of a process so far. Undefined if the process has ended. */
export function peakSoFar(pid: number): number | undefined {
  return readMemory(pid, 'VmHWM');
}

/** Returns epoch ms from the monotonic clock. Processes of one machine agree on it closely enough. */
export function epochMs(): number {
  return performance.timeOrigin + performance.now();
}

function countOpenFiles(pid: number): number | undefined {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return undefined;
  }
}

function readMemory(pid: number, name: string): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    const [, kilobytes] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}

/** Takes secrets out of what other programs of the same user read of this process: `/proc/PID/environ`. */
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { markName } from './process-family.ts';
import { isOfHelpers } from './worker-environment.ts';

/**
 * As long as a process runs, Linux shows the environment that it was started with to all programs of its user, and so to
 * workloads. Overwrites there what a workload does not get anyway; `process.env` keeps its values, which are elsewhere from
 * then on. Does nothing on other systems, or if the kernel does not let a process write its memory by `/proc/self/mem`.
 */
export function hideEnvironment(): void {
  // A thread has a copy of its own.
  if (process.platform !== 'linux' || !isMainThread) return;
  try {
    const shown = readFileSync('/proc/self/environ');
    const memory = openSync('/proc/self/mem', 'r+');
    try {
      overwrite(memory, startOfEnvironment(), shown);
    } finally {
      closeSync(memory);
    }
  } catch {
    // The manual says that secrets are best kept in files.
  }
}

function overwrite(memory: number, start: number, shown: Buffer): void {
  const there = Buffer.alloc(shown.length);
  readSync(memory, there, 0, there.length, start);
  if (!there.equals(shown)) return;
  let at = 0;
  for (const entry of shown.toString('latin1').split('\0')) {
    const [name = ''] = Buffer.from(entry, 'latin1').toString().split('=', 1);
    if (!isOfHelpers(name) && name !== markName) {
      const value = process.env[name];
      writeSync(memory, Buffer.alloc(entry.length), 0, entry.length, start + at);
      // The system keeps what is set from now on in other memory.
      if (value !== undefined) process.env[name] = value;
    }
    at += entry.length + 1;
  }
}

/** Address, by field 50 of https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html; the name in field 2 may hold spaces. */
function startOfEnvironment(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  return Number(stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[50 - 3]);
}

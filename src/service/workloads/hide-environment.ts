/** Removes secrets from `/proc/PID/environ`, which other programs of the same user can read. */
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { markName } from './process-family.ts';
import { isOfHelpers } from './worker-environment.ts';

/**
 * Overwrites the initial environment of this process, except for variables that workloads get anyway. Linux shows it to
 * all programs of the same user, and so to workloads. `process.env` keeps its values, because they are stored in other
 * memory afterwards. Does nothing on other systems, or if the kernel forbids writing to `/proc/self/mem`.
 */
export function hideEnvironment(): void {
  // In a thread, `process.env` is a copy.
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
    // This protection is optional: the manual recommends to keep secrets in files.
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
      // Variables that are set now are stored in other memory.
      if (value !== undefined) process.env[name] = value;
    }
    at += entry.length + 1;
  }
}

/** Returns the address of the environment: field 50 of proc_pid_stat(5). The name in field 2 may contain spaces. */
function startOfEnvironment(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  return Number(stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[50 - 3]);
}

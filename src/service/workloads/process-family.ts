/** Kills a process and all its descendants: its group, and processes that left the group but carry a mark. */
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Pause between two checks for remaining processes. */
const everyMs = 20;

export const markName = 'NIGHTRENDER_WORKER';

/** Returns an environment variable that marks a process. Its child processes inherit the mark. */
export function makeMark(): { name: string; value: string } {
  return { name: markName, value: randomUUID() };
}

/** Kills the group, then marked processes until none is left or `withinMs` have passed. */
export async function killFamily(group: number, mark: string | undefined, withinMs: number): Promise<void> {
  signalTo(-group, 'SIGKILL');
  if (mark === undefined) return;
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const left = await markedProcesses(mark);
    for (const pid of left) signalTo(pid, 'SIGKILL');
    if (left.length === 0 || performance.now() > giveUpAt) return;
    await sleep(everyMs);
  }
}

/** Sends a signal. A negative number is a process group; on Windows, which has no groups, only its first process. */
export function signalTo(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === 'win32' ? Math.abs(target) : target, signal);
  } catch {
    // The process or group has ended already.
  }
}

/** Returns ids of running processes with the mark; none without /proc. Zombies have no environment, so never match. */
async function markedProcesses(mark: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => ((await isMarked(pid, mark)) ? [Number(pid)] : [])),
  );
  return found.flat();
}

/** True if a process has the mark. Processes of other users are unreadable, and were not started by this service. */
async function isMarked(pid: string, mark: string): Promise<boolean> {
  return readFile(`/proc/${pid}/environ`).then(
    (environment) => environment.includes(mark),
    () => false,
  );
}

/** A process and all it has started: those of its group, and those that left it, known by a mark in their environment. */
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

/** Between two checks for remaining processes. */
const everyMs = 20;

export const markName = 'NIGHTRENDER_WORKER';

/** A variable of the environment, `NAME=value`; what the marked process starts inherits it. */
export function makeMark(): { name: string; value: string } {
  return { name: markName, value: randomUUID() };
}

/** Kills the group, and those that are marked until there are none or `withinMs` have passed. */
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

/** A negative number is a group, or on Windows, which has none, the process that leads it. */
export function signalTo(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(process.platform === 'win32' ? Math.abs(target) : target, signal);
  } catch {
    // None of it runs any more.
  }
}

/** None where there is no /proc. Processes that have ended but were not waited for have no environment any more. */
async function markedProcesses(mark: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => ((await isMarked(pid, mark)) ? [Number(pid)] : [])),
  );
  return found.flat();
}

/** Those of other users cannot be read, and were not started by this service. */
async function isMarked(pid: string, mark: string): Promise<boolean> {
  return readFile(`/proc/${pid}/environ`).then(
    (environment) => environment.includes(mark),
    () => false,
  );
}

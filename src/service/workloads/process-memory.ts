/** How much memory a process and its children have, where /proc tells. */
import { readdirSync, readFileSync } from 'node:fs';

const everyMs = 500;

/** Tells once, of bytes, when they have more than `maxBytes`. The function that is returned ends the watch. */
export function watchMemory(pid: number, maxBytes: number, onExceeded: () => void): () => void {
  const timer = setInterval(() => {
    if (residentBytes(pid) <= maxBytes) return;
    clearInterval(timer);
    onExceeded();
  }, everyMs).unref();
  return () => clearInterval(timer);
}

/** Of the process and all below it; what they share counts for each. 0 where nothing is known. */
function residentBytes(pid: number): number {
  try {
    const kilobytes = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const children = childrenOf(pid).map(residentBytes);
    return children.reduce((sum, bytes) => sum + bytes, Number(kilobytes ?? 0) * 1024);
  } catch {
    // It has just ended.
    return 0;
  }
}

function childrenOf(pid: number): number[] {
  const texts = readdirSync(`/proc/${pid}/task`).map((thread) => readChildren(pid, thread));
  return texts.join(' ').split(' ').filter(Boolean).map(Number);
}

/** Some kernels do not tell. */
function readChildren(pid: number, thread: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8');
  } catch {
    return '';
  }
}

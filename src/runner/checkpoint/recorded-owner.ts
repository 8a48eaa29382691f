/** The process of a run as the checkpoint names it: it holds the batch, also where its lock file was deleted. */
import { existsSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { openForReading } from '../../lib/sqlite/database.ts';
import { checkpointSchema } from './schema.ts';

export interface RecordedOwner {
  pid: number;
  host: string;
  since: number;
}

/** What tells a process from a later one with the same pid; null where the system does not say (no `/proc`). */
export function processMark(): { boot: string | null; started: string | null } {
  return { boot: bootId() ?? null, started: startOf(process.pid) ?? null };
}

/**
 * A run on record in the batch's folder that has not ended and whose process lives, other than this one. Undefined also
 * where nobody can tell: it ran on another machine, or the checkpoint cannot be read, which others say.
 */
export function recordedOwner(dir: string): RecordedOwner | undefined {
  const path = join(dir, 'checkpoint.sqlite');
  const boot = bootId();
  // Who has it open has this file beside it; without it, looking would leave a trace.
  if (boot === undefined || !existsSync(`${path}-shm`)) return undefined;
  try {
    const db = openForReading(path, checkpointSchema);
    const runs = db?.prepare<[string, string], RecordedOwner & { started: string }>(
      `SELECT pid, host, started_at AS since, process_started AS started FROM runs
       WHERE ended_at IS NULL AND host = ? AND boot = ? ORDER BY run DESC`,
    );
    const found = runs
      ?.all(hostname(), boot)
      .find(({ pid, started }) => pid !== process.pid && startOf(pid) === started);
    db?.close();
    return found && { pid: found.pid, host: found.host, since: found.since };
  } catch {
    return undefined;
  }
}

function bootId(): string | undefined {
  return readProc('sys/kernel/random/boot_id')?.trim();
}

/** In clock ticks after boot; undefined for a process that is no more. */
function startOf(pid: number): string | undefined {
  // The name of the program stands in brackets and may hold anything; behind it come the state and, 19 on, the start.
  const fields = readProc(`${pid}/stat`)?.split(') ').at(-1)?.split(' ');
  const isDead = fields === undefined || fields[0] === 'Z' || fields[0] === 'X';
  return isDead ? undefined : fields[19];
}

function readProc(name: string): string | undefined {
  try {
    return readFileSync(join('/proc', name), 'utf8');
  } catch {
    return undefined;
  }
}

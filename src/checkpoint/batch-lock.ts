/** One run a batch: a lock that the kernel releases however its holder dies. */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive } from '../disk/is-alive.ts';
import { isLocked, lockExclusively, type ExclusiveLock } from '../sqlite/exclusive-lock.ts';

export interface LockHolder {
  pid: number;
  host: string;
  since: number;
}

/** Thrown where another run holds the batch. */
export class BatchHeld extends Error {
  readonly holder: LockHolder | undefined;

  constructor(holder: LockHolder | undefined) {
    super('another run holds this batch');
    this.holder = holder;
  }
}

/** Takes the lock of a batch folder or throws `BatchHeld` within about a second. */
export async function lockBatch(dir: string, now: number): Promise<ExclusiveLock> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const lock = lockExclusively(lockFile(dir));
  if (lock === undefined) throw new BatchHeld(await readHolder(dir));
  writeHolder(dir, { pid: process.pid, host: hostname(), since: now });
  return lock;
}

/** Whether a run was ever begun on the folder. */
export function isBatch(dir: string): boolean {
  return existsSync(lockFile(dir));
}

/** Whether a run holds the batch at this moment. */
export function isBatchHeld(dir: string): boolean {
  return isLocked(lockFile(dir));
}

const lockFile = (dir: string): string => join(dir, '.lock.sqlite');

const holderFile = (dir: string): string => join(dir, '.lock.json');

/** Renamed into place, so that it is never read half written. */
function writeHolder(dir: string, holder: LockHolder): void {
  const temporary = `${holderFile(dir)}.${holder.pid}.tmp`;
  writeFileSync(temporary, JSON.stringify(holder), { mode: 0o600 });
  renameSync(temporary, holderFile(dir));
}

/** The holder writes its name just after it has the lock: a name of a dead process is an older holder's. */
async function readHolder(dir: string): Promise<LockHolder | undefined> {
  for (let tries = 0; tries < 10; tries++) {
    const holder = parseHolder(dir);
    if (holder !== undefined && (holder.host !== hostname() || isAlive(holder.pid))) return holder;
    await delay(50);
  }
  return undefined;
}

function parseHolder(dir: string): LockHolder | undefined {
  try {
    return JSON.parse(readFileSync(holderFile(dir), 'utf8')) as LockHolder;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

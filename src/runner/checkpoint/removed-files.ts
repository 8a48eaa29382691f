/** What is lost where the checkpoint's files are removed during a run. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';

/** In words, with what to do; undefined where all are there. `countInFlight`: jobs that only this run knows of. */
export function describeRemoved(path: string, countInFlight: () => number): string | undefined {
  const wal = `${path}-wal`;
  const gone = [dirname(path), path, wal].find((file) => !existsSync(file));
  if (gone === undefined) return undefined;
  if (gone === wal)
    return `${gone} was removed during the run, and what was recorded last may be lost with it. Find out what removes it; the next run says what is lost`;
  const inFlight = countInFlight();
  const jobs =
    inFlight === 0
      ? ''
      : ` Jobs in flight (${inFlight}) may still be billed, and can no longer be collected.`;
  return `${gone} was removed during the run, and the record of this batch is lost with it.${jobs} Find out what removes it. Then put a copy back; or start the run again, with --adopt to take over the pictures that are left, or with --fresh to render everything again`;
}

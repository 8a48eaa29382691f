/** Texts about jobs and their times. */
import type { JobRow } from '../../protocol/console-data.ts';
import { durationWords, hourWords } from '../shared/number-words.ts';
import type { Tone } from '../shared/tone.ts';

const statuses: Record<string, { word: string; tone: Tone; isSettled: boolean }> = {
  IN_QUEUE: { word: 'In the queue', tone: 'wait', isSettled: false },
  IN_PROGRESS: { word: 'In progress', tone: 'calm', isSettled: false },
  COMPLETED: { word: 'Completed', tone: 'good', isSettled: true },
  FAILED: { word: 'Failed', tone: 'bad', isSettled: true },
  CANCELLED: { word: 'Cancelled', tone: 'wait', isSettled: true },
  TIMED_OUT: { word: 'Timed out', tone: 'bad', isSettled: true },
};

export const statusNames = Object.keys(statuses);

export function statusWords(status: string): { word: string; tone: Tone; isSettled: boolean } {
  return statuses[status] ?? { word: status, tone: 'wait', isSettled: false };
}

/** Time that a job waited for a worker, or has waited so far. `now`: the service's clock. */
export function delayWords({ delayTime, acceptedAt, startedAt, endedAt }: JobRow, now: number): string {
  const ms = delayTime ?? (startedAt ?? endedAt ?? now) - acceptedAt;
  return durationWords(Math.max(0, ms));
}

/** Text such as `took 3.4 s`, or for how long the job has been running. Null if it has not started. */
export function executionWords({ executionTime, startedAt, endedAt }: JobRow, now: number): string | null {
  if (executionTime !== null) return `took ${durationWords(executionTime)}`;
  if (startedAt === null) return null;
  const words = durationWords(Math.max(0, (endedAt ?? now) - startedAt));
  return endedAt === null ? `running for ${words}` : `took ${words}`;
}

/** When input and output are deleted; null until the job has ended. */
export function deletionWords({ endedAt }: JobRow, retentionMs: number, now: number): string | null {
  if (endedAt === null) return null;
  const at = endedAt + retentionMs;
  if (at <= now) return 'Input and output are past their retention.';
  return `Input and output are deleted at ${hourWords(at)}, in ${durationWords(at - now)}.`;
}

/** What dead runs left behind, before anything is sent. */
import type { Attempt } from '../core/attempt.ts';
import { quarantine } from '../core/quarantine.ts';
import type { Run } from './run.ts';
import { recordWithoutPicture } from './settle.ts';

/** Settles the submissions that dead runs had begun, each of which may have been sent; returns how many there were. */
export async function settleIntended(run: Run): Promise<number> {
  const intended = await run.ports.checkpoint.recover();
  await Promise.all(intended.map((attempt) => recordDeath(run, attempt)));
  return intended.length;
}

async function recordDeath(run: Run, attempt: Attempt): Promise<void> {
  const failure = quarantine(attempt.deaths) ?? { kind: 'unanswered' as const, text: diedWhileSending };
  await recordWithoutPicture(run, attempt, 'unanswered', failure);
}

const diedWhileSending =
  'the program ended between recording this submission and hearing of it: it may have been sent';

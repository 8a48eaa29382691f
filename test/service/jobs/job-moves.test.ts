/** The table of a job's states. */
import { expect, it } from 'vitest';
import { assertJobMove, jobMoves, type JobState } from '../../../src/service/jobs/job-moves.ts';

const states = Object.keys(jobMoves) as JobState[];
const allowed: ReadonlySet<string> = new Set([
  'IN_QUEUE IN_PROGRESS',
  'IN_QUEUE CANCELLED',
  'IN_QUEUE TIMED_OUT',
  'IN_PROGRESS CANCELLED',
  'IN_PROGRESS COMPLETED',
  'IN_PROGRESS FAILED',
  'IN_PROGRESS IN_QUEUE',
  'IN_PROGRESS TIMED_OUT',
  'FAILED IN_QUEUE',
  'TIMED_OUT IN_QUEUE',
]);

it.each(states.flatMap((from) => states.map((to) => [from, to] as const)))('from %s to %s', (from, to) => {
  const move = () => assertJobMove(from, to);
  if (allowed.has(`${from} ${to}`)) expect(move).not.toThrow();
  else expect(move).toThrow(`a job cannot move from ${from} to ${to}`);
});

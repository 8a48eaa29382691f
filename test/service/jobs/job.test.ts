/** The table of a job's states. */
import { expect, it } from 'vitest';
import { assertTransition, allowedTransitions, type JobState } from '../../../src/service/jobs/job.ts';

const states = Object.keys(allowedTransitions) as JobState[];
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
  const move = () => assertTransition(from, to);
  if (allowed.has(`${from} ${to}`)) expect(move).not.toThrow();
  else expect(move).toThrow(`a job cannot go from ${from} to ${to}`);
});

/** The id of a job, as an answer names it. */
import { jobIdPattern } from '../wire/paths.ts';

/** Undefined where it is none that a job can have. */
export function readJobId(id: unknown): string | undefined {
  const text = Number.isSafeInteger(id) ? String(id) : id;
  return typeof text === 'string' && jobIdPattern.test(text) ? text : undefined;
}

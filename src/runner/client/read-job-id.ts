/** The id of a job, as an answer names it. */

/** Anything that can be printed and sent, percent-encoded, as one part of a path; `.` and `..` lead elsewhere there. */
const usable = /^(?!\.{1,2}$)[\x21-\x7e]{1,128}$/;

/** Undefined where it is none that a job can be asked for by. */
export function readJobId(id: unknown): string | undefined {
  const text = Number.isSafeInteger(id) ? String(id) : id;
  return typeof text === 'string' && usable.test(text) ? text : undefined;
}

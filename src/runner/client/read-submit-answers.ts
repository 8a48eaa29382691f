/** Reads answers to submissions: accepted with a job id, refused, or unknown. */
import { oneLine } from '../../lib/text/format.ts';
import { bodyText } from '../../protocol/error-text.ts';
import { describeValue } from '../../protocol/json-value.ts';
import { firstValueAt } from '../../protocol/output-shapes.ts';
import type { Failure } from '../core/failure.ts';
import type { SubmitReply } from '../pipeline/ports.ts';
import { failure, type HttpResponse, readRefusal } from './exchange.ts';
import { parseObject } from './parse-body.ts';
import { readJobId, statusWord } from './status-reader.ts';

export interface AcceptedPlaces {
  jobId: string;
  status: string;
  /** Paths of values to keep with the job. `needed` are those without which it cannot be polled. */
  keep: readonly string[];
  needed: readonly string[];
}

/**
 * Reads the answer to a submission. `isProven`: an answer has had an id at `places.jobId`. If that path
 * is wrong, each submission would be paid for in vain.
 */
export function readSubmitAnswer(
  answer: HttpResponse,
  places: AcceptedPlaces,
  isProven: boolean,
): SubmitReply {
  const { status } = answer;
  if (status >= 200 && status <= 299) return readAccepted(answer, places, isProven);
  return { kind: 'failure', failure: readRejected(answer) };
}

/** Returns why an answer that is not 2xx accepts no job. */
export function readRejected(answer: HttpResponse): Failure {
  const { status, body } = answer;
  const refusal = readRefusal(answer);
  if (refusal !== undefined) return refusal;
  const said = bodyText(body) ?? 'no message';
  if (status >= 300 && status <= 399) {
    const target = oneLine(answer.headers.location ?? '') ?? 'nowhere';
    const text = `the service redirects (${status}) to ${target}; set endpoint.baseUrl to the final URL`;
    return { kind: 'endpoint-unknown', text };
  }
  if (status === 404 || status === 410) {
    const text = `the endpoint is not known to the service; see \`endpoint.baseUrl\` and \`endpoint.id\` (${status}: ${said})`;
    return { kind: 'endpoint-unknown', text };
  }
  if (status === 405)
    return { kind: 'endpoint-unknown', text: `the URL accepts no submissions (405: ${said})` };
  if (status >= 500 || status === 408)
    return { kind: 'unanswered', text: `the service answered ${status}: ${said}` };
  return { kind: 'input-refused', text: `the service refused the input (${status}): ${said}` };
}

/** Returns the job id of a cut answer, as the job is paid for; undefined if it is not at the beginning. */
export function jobIdAtBeginning(body: string, { jobId: place, needed }: AcceptedPlaces): string | undefined {
  const [, name, id] = /^\s*\{\s*"([^"\\]*)"\s*:\s*"([^"\\]*)"/.exec(body) ?? [];
  return name === place && needed.length === 0 ? readJobId(id) : undefined;
}

function readAccepted(answer: HttpResponse, places: AcceptedPlaces, isProven: boolean): SubmitReply {
  const { status, body } = answer;
  const reply = parseObject(body);
  const cutId = reply === undefined ? jobIdAtBeginning(body, places) : undefined;
  if (cutId !== undefined) return { kind: 'accepted', jobId: cutId, status: '' };
  const job = readAcceptedJob(reply, places);
  if (job !== undefined) return { kind: 'accepted', ...job };
  const id = firstValueAt(reply, places.jobId);
  // Some paths answer 200 and put the real status into the body.
  const inside = id === undefined ? firstValueAt(reply, places.status) : undefined;
  if (inside === 401 || inside === 402 || inside === 403)
    return { kind: 'failure', failure: readRejected({ ...answer, status: inside }) };
  if (id !== undefined) {
    const shown = oneLine(typeof id === 'string' ? JSON.stringify(id) : describeValue(id), 150) ?? '';
    const text =
      readJobId(id) === undefined
        ? `the service accepted the job with the unusable id ${shown} (1 to 128 printable ASCII characters without spaces)`
        : `the service accepted the job ${shown} without ${lackingIn(reply, places).join(', ')}, which its status request needs`;
    return { ...failure('unanswered', text), isEachLost: true };
  }
  const where = isProven ? '' : ` at ${places.jobId} (\`submit.job\`)`;
  const text = `the service answered ${status} without a job id${where}: ${bodyText(body) ?? 'an empty body'}`;
  return { ...failure('unanswered', text), ...(!isProven && { isEachLost: true }) };
}

/** Returns the accepted job. Undefined if its id is unusable or a needed value is missing. */
export function readAcceptedJob(
  reply: unknown,
  places: AcceptedPlaces,
): { jobId: string; status: string; kept?: Record<string, string> } | undefined {
  const jobId = readJobId(firstValueAt(reply, places.jobId));
  if (jobId === undefined || lackingIn(reply, places).length > 0) return undefined;
  const kept = places.keep.flatMap((name) => {
    const text = keptText(reply, name);
    return text === undefined ? [] : [[name, text]];
  });
  return {
    jobId,
    status: statusWord(firstValueAt(reply, places.status)),
    ...(kept.length > 0 && { kept: Object.fromEntries(kept) as Record<string, string> }),
  };
}

function lackingIn(reply: unknown, { needed }: AcceptedPlaces): string[] {
  return needed.filter((name) => keptText(reply, name) === undefined);
}

/** Returns a value as text; undefined above 4,000 characters (a signed URL has a few hundred). */
function keptText(reply: unknown, name: string): string | undefined {
  const value = firstValueAt(reply, name);
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && text.length <= 4_000 ? text : undefined;
}

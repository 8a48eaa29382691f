/** What the answers to submissions mean: accepted under an id, refused, or nobody knows. */
import { oneLine } from '../../lib/text/format.ts';
import { bodyText } from '../../protocol/error-text.ts';
import { describeValue } from '../../protocol/json-value.ts';
import { valuesAt } from '../../protocol/output-shapes.ts';
import type { FailureKind } from '../core/failure.ts';
import type { SubmitReply } from '../pipeline/ports.ts';
import type { HttpResponse } from './exchange.ts';
import { parseObject } from './parse-body.ts';
import { readEcho } from './read-idempotency.ts';
import { readJobId, statusWord } from './read-job-answers.ts';
import { readRefusal } from './read-refusal.ts';

/** Where an acceptance has what is to be known of a job. */
export interface AcceptedPlaces {
  /** Path of its id. */
  jobId: string;
  /** Path of its status. */
  status: string;
  /** Members of the answer that are kept, and those of them that have to be there. */
  keep: readonly string[];
  needed: readonly string[];
  /** True if no answer has had an id there yet: if the place is wrong, each submission would be paid for in vain. */
  isUnproven?: boolean;
}

const jobsPlaces: AcceptedPlaces = { jobId: 'id', status: 'status', keep: [], needed: [] };

/** `idempotencyKey`: the one that it was sent with. */
export function readSubmitAnswer(
  answer: HttpResponse,
  idempotencyKey?: string,
  places = jobsPlaces,
): SubmitReply {
  const { status, body } = answer;
  if (status >= 200 && status <= 299) return readAccepted(answer, idempotencyKey, places);
  const refusal = readRefusal(answer);
  if (refusal !== undefined) return { kind: 'failure', failure: refusal };
  const said = bodyText(body) ?? 'no message';
  if (status >= 300 && status <= 399) {
    const target = oneLine(answer.headers.location ?? '') ?? 'nowhere';
    const text = `the service redirects (${status}) to ${target}; set endpoint.baseUrl to the final URL`;
    return failureReply('endpoint-unknown', text);
  }
  if (status === 404 || status === 410) {
    const text = `the endpoint is not known to the service; see \`endpoint.baseUrl\` and \`endpoint.id\` (${status}: ${said})`;
    return failureReply('endpoint-unknown', text);
  }
  if (status === 405) {
    return failureReply('endpoint-unknown', `the URL accepts no submissions (405: ${said})`);
  }
  if (status >= 500 || status === 408)
    return failureReply('unanswered', `the service answered ${status}: ${said}`);
  return failureReply('input-refused', `the service refused the input (${status}): ${said}`);
}

/** The job id of an answer that was cut behind it: that much is certain, and the job is paid for. */
export function jobIdAtBeginning(body: string): string | undefined {
  const [, id] = /^\s*\{\s*"id"\s*:\s*"([^"\\]*)"/.exec(body) ?? [];
  return readJobId(id);
}

function readAccepted(
  answer: HttpResponse,
  idempotencyKey: string | undefined,
  places: AcceptedPlaces,
): SubmitReply {
  const { status, body } = answer;
  const reply = parseObject(body);
  const cutId = reply === undefined && places === jobsPlaces ? jobIdAtBeginning(body) : undefined;
  const cut = cutId === undefined ? undefined : { jobId: cutId, status: '' };
  const job = reply === undefined ? cut : readAcceptedJob(reply, places);
  if (job !== undefined) return { kind: 'accepted', ...job, ...readEcho(answer.headers, idempotencyKey) };
  const id = reply?.[places.jobId] === undefined ? valuesAt(reply, places.jobId)[0] : reply[places.jobId];
  // Some paths answer 200 and put the real status into the body.
  const inside = id === undefined ? reply?.['status'] : undefined;
  if (inside === 401 || inside === 402 || inside === 403)
    return readSubmitAnswer({ ...answer, status: inside });
  if (id !== undefined) {
    const shown = oneLine(typeof id === 'string' ? JSON.stringify(id) : describeValue(id), 150) ?? '';
    const text =
      readJobId(id) === undefined
        ? `the service accepted the job with the unusable id ${shown} (1 to 128 printable ASCII characters without spaces)`
        : `the service accepted the job ${shown} without ${lackingIn(reply, places).join(', ')}, by which it would be asked for`;
    return { kind: 'failure', failure: { kind: 'unanswered', text }, isEachLost: true };
  }
  const where = places.isUnproven === true ? ` at ${places.jobId} (\`submit.job\`)` : '';
  const text = `the service answered ${status} without a job id${where}: ${bodyText(body) ?? 'an empty body'}`;
  const unnamed = failureReply('unanswered', text);
  return places.isUnproven === true ? { ...unnamed, isEachLost: true } : unnamed;
}

/** Undefined where it cannot be asked for by what stands there. */
export function readAcceptedJob(
  reply: unknown,
  places: AcceptedPlaces,
): { jobId: string; status: string; kept?: Record<string, string> } | undefined {
  const jobId = readJobId(valuesAt(reply, places.jobId)[0]);
  if (jobId === undefined || lackingIn(reply, places).length > 0) return undefined;
  const kept = places.keep.flatMap((name) => {
    const text = keptText(reply, name);
    return text === undefined ? [] : [[name, text]];
  });
  return {
    jobId,
    status: statusWord(valuesAt(reply, places.status)[0]),
    ...(kept.length > 0 && { kept: Object.fromEntries(kept) as Record<string, string> }),
  };
}

function lackingIn(reply: unknown, { needed }: AcceptedPlaces): string[] {
  return needed.filter((name) => keptText(reply, name) === undefined);
}

/** An address with a signature has a few hundred characters. */
function keptText(reply: unknown, name: string): string | undefined {
  const [value] = valuesAt(reply, name);
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && text.length <= 4_000 ? text : undefined;
}

function failureReply(kind: FailureKind, text: string): SubmitReply & { kind: 'failure' } {
  return { kind: 'failure', failure: { kind, text } };
}

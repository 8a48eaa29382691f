/** What the answer to a submission means. */
import type { FailureKind } from '../core/failure.ts';
import type { SubmitReply } from '../pipeline/ports.ts';
import { describeValue } from '../../protocol/describe-value.ts';
import { bodyText, oneLine } from '../../protocol/error-text.ts';
import type { HttpResponse } from './exchange.ts';
import { parseObject } from './parse-body.ts';
import { readJobId } from './read-job-id.ts';
import { readRefusal } from './read-refusal.ts';
import { statusWord } from './status-word.ts';

export function readSubmitAnswer(answer: HttpResponse): SubmitReply {
  const { status, body } = answer;
  if (status >= 200 && status <= 299) return readAccepted(answer);
  const refusal = readRefusal(answer);
  if (refusal !== undefined) return { kind: 'failure', failure: refusal };
  const said = bodyText(body) ?? 'without a word';
  if (status >= 300 && status <= 399) {
    const target = oneLine(answer.headers.location ?? '') ?? 'nowhere';
    const text = `the service redirects (${status}) to ${target}; set endpoint.baseUrl to where it really is`;
    return failure('endpoint-unknown', text);
  }
  if (status === 404 || status === 410) {
    const text = `the endpoint is not known to the service; see \`endpoint.baseUrl\` and \`endpoint.id\` (${status}: ${said})`;
    return failure('endpoint-unknown', text);
  }
  if (status === 405) {
    return failure('endpoint-unknown', `the address takes no submissions (405: ${said})`);
  }
  if (status >= 500 || status === 408)
    return failure('unanswered', `the service answered ${status}: ${said}`);
  return failure('input-refused', `the service refused the input (${status}): ${said}`);
}

/** The job id of an answer that was cut behind it: that much is certain, and the job is paid for. */
export function jobIdAtBeginning(body: string): string | undefined {
  const [, id] = /^\s*\{\s*"id"\s*:\s*"([^"\\]*)"/.exec(body) ?? [];
  return readJobId(id);
}

function readAccepted(answer: HttpResponse): SubmitReply {
  const { status, body } = answer;
  const reply = parseObject(body);
  const jobId = reply === undefined ? jobIdAtBeginning(body) : readJobId(reply['id']);
  if (jobId !== undefined) return { kind: 'accepted', jobId, status: statusWord(reply?.['status']) };
  // Some paths answer 200 and put the real status into the body.
  const inside = reply?.['id'] === undefined ? reply?.['status'] : undefined;
  if (inside === 401 || inside === 402 || inside === 403)
    return readSubmitAnswer({ ...answer, status: inside });
  const id = reply?.['id'];
  if (id !== undefined) {
    const shown = oneLine(typeof id === 'string' ? JSON.stringify(id) : describeValue(id), 150) ?? '';
    const text = `the service took the job and named it ${shown}, which cannot be used as a job id (1 to 128 printable ASCII characters without spaces)`;
    return { kind: 'failure', failure: { kind: 'unanswered', text }, isEachLost: true };
  }
  return failure(
    'unanswered',
    `the service answered ${status} without a job id: ${bodyText(body) ?? 'an empty body'}`,
  );
}

function failure(kind: FailureKind, text: string): SubmitReply {
  return { kind: 'failure', failure: { kind, text } };
}

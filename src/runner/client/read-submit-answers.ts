/** Reads answers to submissions (accepted with a job id, refused, or unknown), and finds the job of a submission whose answer was lost. */
import { oneLine } from '../../lib/text/format.ts';
import { bodyText, isPage, isSuccess } from '../../protocol/error-text.ts';
import { describeValue, isNothing } from '../../protocol/json-value.ts';
import { firstValueAt, valuesAt } from '../../protocol/output-shapes.ts';
import type { Failure } from '../core/failure.ts';
import type { SubmitReply, LostSubmission } from '../pipeline/ports.ts';
import { failure, type HttpResponse, readRefusal, readRetryAfter, unreadable } from './exchange.ts';
import { parseObject } from './parse-body.ts';
import { readJobId, statusWord } from './status-reader.ts';
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { TextOutcome } from './http-requests.ts';

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
  if (isSuccess(status)) return readAccepted(answer, places, isProven);
  return { kind: 'failure', failure: readRejected(answer) };
}

/** Returns why an answer that is not 2xx accepts no job. */
export function readRejected(answer: HttpResponse): Failure {
  const { status, headers, body } = answer;
  const refusal = readRefusal(answer);
  if (refusal !== undefined) return refusal;
  const said = bodyText(body) ?? 'no message';
  // Caches add 0, or 5 to a page of their own (Varnish), if the service has not answered a request that they passed on.
  const retryAfterMs = status === 503 && !isPage(body) ? (readRetryAfter(headers) ?? 0) : 0;
  if (retryAfterMs > 0)
    return { kind: 'overloaded', text: `the service asks to wait (503: ${said})`, retryAfterMs };
  if (status >= 300 && status <= 399) {
    const target = oneLine(headers.location ?? '') ?? 'nowhere';
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

/** Submissions of this run to a service whose list is searched for lost submissions. */
export class RecentSubmissions {
  /** Number of submissions under way for each input, by `inputKey`. */
  readonly #underWay = new Map<string, number>();
  /** Ids of accepted jobs. The checkpoint may not have recorded them yet. */
  readonly #accepted = new Set<string>();

  async during(input: JsonObject, submit: () => Promise<SubmitReply>): Promise<SubmitReply> {
    const key = inputKey(input);
    this.#underWay.set(key, (this.#underWay.get(key) ?? 0) + 1);
    try {
      const reply = await submit();
      if (reply.kind === 'accepted') this.#accepted.add(reply.jobId);
      return reply;
    } finally {
      const left = (this.#underWay.get(key) ?? 1) - 1;
      if (left > 0) this.#underWay.set(key, left);
      else this.#underWay.delete(key);
    }
  }

  isAlone(input: JsonObject): boolean {
    return this.#underWay.get(inputKey(input)) === 1;
  }

  hasAccepted(jobId: string): boolean {
    return this.#accepted.has(jobId);
  }
}

interface ListPlaces {
  items: string;
  next?: string | undefined;
  input: string;
  createdAt: string;
  onlyEnded: boolean;
  accepted: AcceptedPlaces;
  /** True if the list is at another host than submissions, of which its refusals say nothing. */
  isElsewhere: boolean;
}

interface Wanted {
  input: JsonObject;
  lost: LostSubmission;
  submissions: RecentSubmissions;
}

/** Jobs are listed from this long before the submission, as clocks differ. `slackMs`: once `Date` is known. */
const clockSlackMs = 15 * 60_000;
const slackMs = 60_000;

/** Time after sending within which a list of all jobs may not have the job yet. */
const lagMs = 30_000;

/** Most services list 100 jobs a page. */
const maxPages = 50;

/**
 * Returns the job if exactly one has this input and belongs to no other attempt. It is never accepted only if
 * the list was read to its end and has to contain it. `ask` requests a page by URL or cursor.
 */
export async function findSubmission(
  wanted: Wanted,
  places: ListPlaces,
  ask: (since: string, next?: string) => Promise<TextOutcome>,
): Promise<SubmitReply> {
  const { input, lost, submissions } = wanted;
  const { sentAt, sentBy } = lost;
  const key = inputKey(input);
  const found = new Map<string, SubmitReply & { kind: 'accepted' }>();
  let page: string | undefined;
  for (let pages = 0; pages < maxPages; pages++) {
    const outcome = await ask(new Date(sentAt - clockSlackMs).toISOString(), page);
    if (outcome.kind !== 'answered')
      return notListed(outcome.kind === 'broken' ? outcome.why : 'the list of jobs is too large');
    const { answer } = outcome;
    const refusal = readRefusal(answer);
    if (refusal !== undefined && refusal.kind !== 'overloaded' && !places.isElsewhere)
      return { kind: 'failure', failure: refusal };
    const body = isSuccess(answer.status) ? parseObject(answer.body) : undefined;
    const items = itemsIn(body, places.items);
    if (items === undefined) {
      const { text, retryAfterMs } = refusal ?? unreadable(answer, 'the list of jobs');
      return notListed(`the list of jobs cannot be read: ${text}`, retryAfterMs);
    }
    const skewMs = skewOf(answer);
    const young = items.filter((item) => createdAt(item, places) + skewMs >= sentAt - slackMs);
    for (const item of young) {
      const job = readAcceptedJob(item, places.accepted);
      const [sent] = valuesAt(item, places.input);
      if (job === undefined || !isJsonObject(sent) || inputKey(sent) !== key) continue;
      if (createdAt(item, places, -Infinity) + skewMs > sentBy + slackMs) continue;
      if (!submissions.hasAccepted(job.jobId) && !(await lost.isTaken(job.jobId)))
        found.set(job.jobId, { kind: 'accepted', ...job });
    }
    const [next] = places.next === undefined ? [] : valuesAt(body, places.next);
    const isLast = isNothing(next) || next === false || (young.length < items.length && !places.onlyEnded);
    if (isLast) return verdict(wanted, places, [...found.values()]);
    if (typeof next !== 'string' && typeof next !== 'number')
      return notListed('the list of jobs names no next page that can be read');
    page = String(next);
  }
  return notListed('the list of jobs of the service is too long to search');
}

function verdict(
  { input, lost, submissions }: Wanted,
  { onlyEnded }: ListPlaces,
  listed: (SubmitReply & { kind: 'accepted' })[],
): SubmitReply {
  // Another submission of the same input may have been accepted since its job was read.
  const [first, ...others] = listed.filter(({ jobId }) => !submissions.hasAccepted(jobId));
  const windowMs = onlyEnded ? lost.overWithinMs : lagMs;
  const isEarly = Date.now() - lost.sentBy < windowMs;
  const text =
    first === undefined
      ? 'the list of jobs of the service does not contain this input'
      : 'several submissions at the service have the same input, so they cannot be told apart';
  if (first === undefined) return isEarly ? notListed(text) : { kind: 'not-found', text };
  if (!submissions.isAlone(input)) return notListed(text);
  return others.length === 0 ? first : { kind: 'not-found', text };
}

function notListed(text: string, retryAfterMs?: number): SubmitReply {
  return { kind: 'not-listed', text, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Returns the items of a page. Undefined if there is no list, not even an empty one. */
function itemsIn(body: Record<string, unknown> | undefined, path: string): unknown[] | undefined {
  const items = valuesAt(body, path).flat();
  const [, owner = '', keys = ''] = /^(?:([^[]*)\.)?([^.[]+)/.exec(path) ?? [];
  const at = owner === '' ? body : firstValueAt(body, owner);
  const isEmpty = isJsonObject(at) && keys.split('|').some((key) => Array.isArray(at[key]));
  return items.length > 0 || isEmpty ? items : undefined;
}

/** Returns a text that is the same for equal inputs. Long integers are compared as text. */
function inputKey(input: JsonObject): string {
  return canonicalJson((parseObject(JSON.stringify(input)) ?? {}) as JsonValue);
}

/** Returns `otherwise` for a job without a time, which its age does not rule out. */
function createdAt(item: unknown, { createdAt: path }: ListPlaces, otherwise = Infinity): number {
  const [text] = valuesAt(item, path);
  return typeof text === 'string' && !Number.isNaN(Date.parse(text)) ? Date.parse(text) : otherwise;
}

/** Returns the milliseconds to add to the service's time to get local time. 0 if it sends no `Date`. */
function skewOf({ headers }: HttpResponse): number {
  const at = Date.parse(headers.date ?? '');
  return Number.isNaN(at) ? 0 : Date.now() - at;
}

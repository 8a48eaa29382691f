/** Finds the job of a submission whose answer was lost, by input and time, in the service's list of jobs. */
import { canonicalJson, isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { isNothing } from '../../protocol/json-value.ts';
import { firstValueAt, valuesAt } from '../../protocol/output-shapes.ts';
import type { LostSubmission, SubmitReply } from '../pipeline/ports.ts';
import { type HttpResponse, readRefusal, unreadable } from './exchange.ts';
import type { TextOutcome } from './http-requests.ts';
import { parseObject } from './parse-body.ts';
import { readAcceptedJob, type AcceptedPlaces } from './read-submit-answers.ts';

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
    const body = answer.status >= 200 && answer.status <= 299 ? parseObject(answer.body) : undefined;
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

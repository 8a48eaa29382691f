/** The dialect of a service whose interface is described as data: sends its requests and reads its answers. */
import type { IncomingHttpHeaders } from 'node:http';
import type { JobAtService, JobTimes } from '../core/attempt.ts';
import type { Failure } from '../core/failure.ts';
import { detailsOf, type FoundPicture } from '../core/picture.ts';
import {
  jobStates,
  placeholdersIn,
  type ServiceDescription,
  type ServiceHealth,
  workerStates,
} from '../core/service-description.ts';
import { isJsonObject } from '../../lib/text/json.ts';
import { bodyText, isSuccess } from '../../protocol/error-text.ts';
import { defaultRetentionMs, idempotencyRetentionHeader } from '../../protocol/message-schemas.ts';
import { firstValueAt } from '../../protocol/output-shapes.ts';
import type {
  CancelReply,
  HealthReply,
  LostSubmission,
  ShownIdempotency,
  StatusReply,
  SubmitReply,
} from '../pipeline/ports.ts';
import { DescribedRequests } from './described-requests.ts';
import {
  type Failed,
  failure,
  type HttpResponse,
  noKeySent,
  type Outcome,
  readRefusal,
  unreadable,
} from './exchange.ts';
import type { Dialect, Line, PictureRequest, Submission, ToldStatus } from './http-service.ts';
import { isSameOrigin, type Request, type TextOutcome } from './http-requests.ts';
import { parseObject, readLifted } from './parse-body.ts';
import { StatusReader, type StatusPlaces } from './status-reader.ts';
import {
  jobIdAtBeginning,
  readSubmitAnswer,
  type AcceptedPlaces,
  findSubmission,
  RecentSubmissions,
} from './read-submit-answers.ts';

export class DescribedDialect implements Dialect {
  readonly #description: ServiceDescription;
  readonly #requests: DescribedRequests;
  readonly #reader: StatusReader;
  readonly #accepted: AcceptedPlaces;
  readonly #submissions = new RecentSubmissions();
  /** True if the description is proven, or an answer to a submission had a job id at the described path. */
  #hasNamedJob: boolean;

  constructor(description: ServiceDescription, places: StatusPlaces) {
    this.#description = description;
    this.#requests = new DescribedRequests(description);
    this.#reader = new StatusReader(description, places);
    this.#accepted = acceptedPlaces(description);
    this.#hasNamedJob = description.isOfJobs;
  }

  submit(line: Line, submission: Submission): Promise<SubmitReply> {
    const { find, submit } = this.#description;
    const { input, lost } = submission;
    if (find !== undefined)
      return this.#submissions.during(input, () =>
        lost === undefined ? this.#send(line, submission) : this.#find(line, submission, lost, find),
      );
    if (lost === undefined || submit.remembers !== undefined) return this.#send(line, submission);
    return Promise.resolve({ kind: 'not-found', text: 'the service has no list of jobs to search' });
  }

  async status(line: Line, job: JobAtService): Promise<ToldStatus> {
    const request = this.#requests.ofJob(line, job, this.#description.status);
    const outcome = await line.fetch(request);
    const reply = this.#read(line, request, outcome, (answer) => {
      return this.#refusedElsewhere(line, request, answer) ?? this.#reader.status(answer, job.jobId);
    });
    if (reply.kind !== 'done') return this.#withOwn(line, await this.#orArchived(line, job, reply));
    const { status, times } = reply;
    const answered = await this.#result(line, job, (answer) =>
      this.#reader.result(answer, job.jobId, reply.failure),
    );
    const result = await this.#orArchived(line, job, answered);
    if (result.kind === 'completed' || result.kind === 'ended')
      return this.#withOwn(line, { ...result, status, ...withCostOf(times, result) });
    if (result.kind === 'missing') return { ...result, ...(times.cost && { cost: times.cost }) };
    return result.kind === 'failure' ? { ...result, done: { status, ...times } } : result;
  }

  readKept(line: Line, job: JobAtService, outcome: Outcome): ToldStatus {
    const { request } = this.#description.result;
    const asked = this.resultRequest(line, job);
    const reply = this.#read(line, asked, outcome, (answer) =>
      request === undefined
        ? this.#reader.status(answer, job.jobId)
        : this.#reader.result(answer, job.jobId, undefined),
    );
    // `done` means that the result takes a request of its own, so this answer has none.
    if (reply.kind === 'done') return failure('poll-failed', 'the kept answer has no result');
    return this.#withOwn(line, reply);
  }

  resultRequest(line: Line, job: JobAtService): Request {
    const { result, status } = this.#description;
    return this.#requests.ofJob(line, job, result.request ?? status);
  }

  async cancel(line: Line, job: JobAtService): Promise<CancelReply> {
    const { cancel, name } = this.#description;
    if (cancel === undefined)
      return { kind: 'unsupported', text: `the description of ${name} does not say how a job is cancelled` };
    const request = this.#requests.ofJob(line, job, cancel);
    const outcome = await line.ask(request);
    if (outcome.kind === 'too-large') return { kind: 'cancelled' };
    if (outcome.kind === 'broken') return failure('poll-failed', whyNot(outcome, line, request));
    return this.#refusedElsewhere(line, request, outcome.answer) ?? readCancelAnswer(outcome.answer);
  }

  async health(line: Line): Promise<HealthReply> {
    const { check, health, name } = this.#description;
    const described = health ?? check;
    const unasked = (text: string): HealthReply => ({ kind: 'unknown', text, isUnasked: true });
    if (described === undefined) return unasked(`the description of ${name} does not say how it is checked`);
    const request = this.#requests.of(line, described);
    if (!this.#requests.isOwn(line.at, request.url))
      return unasked(`${name} cannot be checked at this \`endpoint.baseUrl\``);
    const outcome = await line.ask(request);
    if (outcome.kind === 'too-large' && health !== undefined) {
      const text = `the response is too large for the health of an endpoint (${addressOf(request)})`;
      return { kind: 'unknown', text };
    }
    if (outcome.kind !== 'answered') return failure('poll-failed', whyNot(outcome, line, request));
    const { answer } = outcome;
    const reply =
      health === undefined
        ? readCheckAnswer(answer, this.#reader, `${name} does not know ${line.endpoint.id}`)
        : readHealthAnswer(answer, health);
    return reply.kind === 'answers' ? { ...reply, ...this.#knownFor, ...this.#shownIn(answer) } : reply;
  }

  isKnownStatus(word: string): boolean {
    return this.#reader.meaningOf(word) !== undefined;
  }

  async #send(line: Line, { input, idempotencyKey }: Submission): Promise<SubmitReply> {
    const request = this.#requests.submission(line, input, idempotencyKey);
    const outcome = await line.ask(request);
    if (outcome.kind === 'too-large') return failure('unanswered', whyNot(outcome, line, request));
    if (outcome.kind === 'broken') {
      const jobId = jobIdAtBeginning(outcome.beginning, this.#accepted);
      if (jobId !== undefined) {
        this.#hasNamedJob = true;
        return { kind: 'accepted', jobId, status: '', ...this.#knownFor };
      }
      return failure(outcome.wasSent ? 'unanswered' : 'not-reached', whyNot(outcome, line, request));
    }
    const { answer } = outcome;
    const reply = readSubmitAnswer(answer, this.#accepted, this.#hasNamedJob);
    if (reply.kind === 'accepted') {
      this.#hasNamedJob = true;
      return { ...reply, ...this.#knownFor, ...this.#echoIn(answer, request, idempotencyKey) };
    }
    const elsewhere = this.#refusedElsewhere(line, request, answer);
    if (elsewhere !== undefined) return failure('key-refused', elsewhere.failure.text);
    const kind = answer.status >= 400 ? this.#reader.kindByText(answer.body) : undefined;
    if (reply.kind !== 'failure' || kind === undefined || kind === reply.failure.kind) return reply;
    return failure(kind, `the service answered ${answer.status}: ${bodyText(answer.body) ?? 'no message'}`);
  }

  async #find(
    line: Line,
    { input }: Submission,
    lost: LostSubmission,
    find: NonNullable<ServiceDescription['find']>,
  ): Promise<SubmitReply> {
    const { url } = this.#requests.of(line, find, { since: '' });
    if (!this.#requests.isOwn(line.at, url))
      return { kind: 'not-found', text: 'the list of jobs is at another host than this `endpoint.baseUrl`' };
    const ask = (since: string, next?: string): Promise<TextOutcome> => {
      const first = this.#requests.of(line, find, { since });
      return line.ask(next === undefined ? first : this.#nextPage(line, first, next));
    };
    const { keep, needed, jobId } = this.#accepted;
    const isInItem = (name: string): boolean => find.keep[name] === undefined;
    const accepted = {
      ...this.#accepted,
      jobId: find.job ?? jobId,
      keep: keep.filter(isInItem),
      needed: needed.filter(isInItem),
    };
    const reply = await findSubmission(
      { input, lost, submissions: this.#submissions },
      { ...find, accepted, isElsewhere: !isSameOrigin(url, line.at.url) },
      ask,
    );
    if (reply.kind !== 'accepted') return reply;
    const kept = { ...reply.kept, ...this.#requests.keptOf(line, reply.jobId) };
    return { ...reply, ...(Object.keys(kept).length > 0 && { kept }), ...this.#knownFor };
  }

  /** Returns what the archive has of a job that is no longer found, with the key of the service. */
  async #orArchived<Reply extends { kind: string }>(
    line: Line,
    job: JobAtService,
    reply: Reply | StatusReply,
  ): Promise<Reply | StatusReply> {
    const { archive } = this.#description;
    const request = archive && this.#requests.ofJob(line, job, archive);
    if (!isJobMissing(reply) || request === undefined || !this.#requests.isOwn(line.at, request.url))
      return reply;
    const outcome = await line.fetch(request);
    return this.#read(line, request, outcome, (answer) => this.#reader.archived(answer, job.jobId, reply));
  }

  /** Returns the request for the next page (`next`: its cursor or URL), at the service's own host even if a proxy names another. */
  #nextPage({ at }: Line, { method, url: first }: Request, next: string): Request {
    const { cursor } = this.#description.find ?? {};
    if (cursor !== undefined) {
      const page = new URL(first);
      page.searchParams.set(cursor, next);
      return this.#requests.to(at, method, page.href);
    }
    const { pathname, search, href } = URL.canParse(next, first) ? new URL(next, first) : new URL(first);
    const own = this.#requests.isOwn(at, href) ? href : new URL(first).origin + pathname + search;
    return this.#requests.to(at, method, own);
  }

  async #result(
    line: Line,
    job: JobAtService,
    read: (answer: HttpResponse) => StatusReply,
  ): Promise<StatusReply> {
    const request = this.resultRequest(line, job);
    const outcome = await line.fetch(request);
    return this.#read(line, request, outcome, (answer) => {
      // A known text in the body says more than the status code.
      const isKnown = answer.status >= 400 && this.#reader.kindByText(answer.body) !== undefined;
      return (isKnown ? undefined : this.#refusedElsewhere(line, request, answer)) ?? read(answer);
    });
  }

  /** Turns pictures at the service itself into requests with its key. Other pictures stay URLs. */
  #withOwn(line: Line, reply: StatusReply): ToldStatus {
    if (reply.kind !== 'completed' || !this.#description.result.withKey) return reply;
    const pictures = reply.pictures.map((picture): FoundPicture | PictureRequest => {
      if (!('url' in picture) || !this.#requests.isOwn(line.at, picture.url)) return picture;
      const request = this.#requests.to(line.at, 'GET', picture.url);
      return { request, name: `the picture at ${picture.url}`, told: detailsOf(picture) };
    });
    return { ...reply, pictures };
  }

  /** Reads an answer that may contain pictures. Those of a large answer are decoded without a copy as text. */
  #read<Reply extends { kind: string }>(
    line: Line,
    request: Request,
    outcome: Outcome,
    read: (answer: HttpResponse) => Reply | StatusReply,
  ): Reply | StatusReply {
    switch (outcome.kind) {
      case 'answered':
        return readLifted(outcome.answer, read);
      case 'too-large': {
        const text = `the result is larger than ${line.limit} (\`limits.body\`)`;
        return { ...failure('result-too-large', text), kind: 'ended', status: this.#reader.doneWord };
      }
      case 'broken':
        return failure('poll-failed', whyNot(outcome, line, request));
    }
  }

  /** Returns the failure if another host refuses. No key is sent there, so the key may be right. */
  #refusedElsewhere({ at }: Line, { url }: Request, answer: HttpResponse): Failed | undefined {
    const refusal = readRefusal(answer);
    if (refusal === undefined || refusal.kind === 'overloaded' || this.#requests.isOwn(at, url))
      return undefined;
    return failure('poll-failed', `${new URL(url).host} answers ${answer.status}: ${noKeySent}`);
  }

  get #knownFor(): { idempotencyMs?: number } {
    const { find, keepsMs, submit } = this.#description;
    const idempotencyMs = find === undefined ? submit.remembers : keepsMs;
    return typeof idempotencyMs === 'number' ? { idempotencyMs } : {};
  }

  #shownIn({ headers }: HttpResponse): { idempotencyMs?: number } {
    return this.#description.submit.remembers === 'echoed' ? readRetention(headers) : {};
  }

  #echoIn({ headers }: HttpResponse, sent: Request, key: string | undefined): { idempotencyMs?: number } {
    const name = this.#requests.keyHeader;
    const value = name === undefined || key === undefined ? undefined : sent.headers?.[name];
    if (this.#description.submit.remembers !== 'echoed' || name === undefined || value === undefined)
      return {};
    return readEcho(headers, name, value);
  }
}

/** Adds the price that the result states if the status, which was asked for first, states none. */
function withCostOf(times: JobTimes, { cost }: JobTimes): JobTimes {
  return cost?.amount === undefined ? times : { ...times, cost };
}

function isJobMissing(reply: { kind: string }): reply is StatusReply & { kind: 'missing' } {
  return reply.kind === 'missing';
}

function acceptedPlaces({ submit, status, result: { request } }: ServiceDescription): AcceptedPlaces {
  const used = placeholdersIn([status.url, request?.url].join(' '));
  const needed = submit.keep.filter((name) => used.includes(`job.${name}`));
  return { jobId: submit.job, status: status.at, keep: submit.keep, needed };
}

function whyNot(
  outcome: Exclude<TextOutcome, { kind: 'answered' }>,
  { limit }: Line,
  request: Request,
): string {
  const why = outcome.kind === 'broken' ? outcome.why : `the answer is larger than ${limit}`;
  return `${why} (${addressOf(request)})`;
}

/** Returns the URL without its query, which may contain a signature. */
function addressOf({ url }: Request): string {
  return url.replace(/\?.*/s, '');
}

/** Status codes that mean that the job has already ended, or that the service cannot cancel jobs. */
const uncancelled = new Set([400, 404, 405, 409, 410, 422, 501]);

function readCancelAnswer(answer: HttpResponse): CancelReply {
  const { status, body } = answer;
  if (uncancelled.has(status))
    return { kind: 'unsupported', text: `the service does not cancel the job (${inWords(answer)})` };
  const refused = refusalOf(answer, isSuccess(status) ? parseObject(body) : undefined);
  if (refused !== undefined) return { kind: 'failure', failure: refused };
  if (isSuccess(status)) return { kind: 'cancelled' };
  return { kind: 'failure', failure: unreadable(answer, 'the cancellation of a job') };
}

const noHealth = new Set([404, 405, 410, 501]);

function readHealthAnswer(
  answer: HttpResponse,
  places: NonNullable<ServiceDescription['health']>,
): HealthReply {
  const { status } = answer;
  if (noHealth.has(status)) {
    const text = `the service does not report the endpoint's health (${inWords(answer)})`;
    return { kind: 'unknown', text };
  }
  const body = isSuccess(status) ? parseObject(answer.body) : undefined;
  const refused = refusalOf(answer, body);
  if (refused !== undefined) return { kind: 'failure', failure: refused };
  if (body !== undefined) return { kind: 'answers', ...readHealth(body, places) };
  if (isSuccess(status))
    return { kind: 'unknown', text: `the endpoint's health is not a JSON object (${inWords(answer)})` };
  return { kind: 'failure', failure: unreadable(answer, 'the health request') };
}

/** Reads the answer to a check. `unknown`: message if the id is not known. */
function readCheckAnswer(answer: HttpResponse, reader: StatusReader, unknown: string): HealthReply {
  const { status } = answer;
  const body = isSuccess(status) ? parseObject(answer.body) : undefined;
  const refused = refusalOf(answer, body);
  if (refused !== undefined) return { kind: 'failure', failure: refused };
  if (isSuccess(status) && reader.isKnown(body)) return { kind: 'answers', ...reader.unitPrice(body) };
  if (isSuccess(status) || status === 404 || status === 410)
    return { kind: 'unknown', text: `${unknown} (${inWords(answer)})` };
  return { kind: 'failure', failure: unreadable(answer, 'the check') };
}

/** Returns how long a key is recognised, if the service repeats its header. Results are kept as long. */
function readEcho(headers: IncomingHttpHeaders, name: string, sent: string): ShownIdempotency {
  if (headers[name.toLowerCase()] !== sent) return {};
  const { idempotencyMs = defaultRetentionMs } = readRetention(headers);
  return { idempotencyMs };
}

/** Reads the retention time of the header, in seconds. Empty if missing or malformed. */
function readRetention(headers: IncomingHttpHeaders): ShownIdempotency {
  const text = headers[idempotencyRetentionHeader.toLowerCase()];
  return typeof text === 'string' && /^\d{1,9}$/.test(text) ? { idempotencyMs: Number(text) * 1_000 } : {};
}

/** Returns the counts of workers and jobs. Empty if there are none. */
function readHealth(
  body: Record<string, unknown>,
  places: NonNullable<ServiceDescription['health']>,
): { health?: ServiceHealth } {
  const at = (place: string | undefined): unknown =>
    place === undefined ? undefined : firstValueAt(body, place);
  const workers = countsIn(at(places.workers), workerStates);
  const jobs = countsIn(at(places.jobs), jobStates);
  const isTold = Object.keys(workers).length + Object.keys(jobs).length > 0;
  return isTold ? { health: { workers, jobs } } : {};
}

function countsIn<Key extends string>(value: unknown, keys: readonly Key[]): Partial<Record<Key, number>> {
  if (!isJsonObject(value)) return {};
  const counts: Partial<Record<Key, number>> = {};
  for (const key of keys) {
    const count = value[key];
    if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) counts[key] = count;
  }
  return counts;
}

/** Returns the failure if the answer is a refusal, also by a status in the body of a 200. */
function refusalOf(answer: HttpResponse, body: Record<string, unknown> | undefined): Failure | undefined {
  const inside = body?.['status'];
  return readRefusal(typeof inside === 'number' ? { ...answer, status: inside } : answer);
}

function inWords({ status, body }: HttpResponse): string {
  return `${status}: ${bodyText(body) ?? 'no message'}`;
}

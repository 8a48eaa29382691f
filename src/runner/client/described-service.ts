/** A service whose interface is described as data: implements the road's `RenderService` port by what the description says. */
import type { Endpoint, JobAtService } from '../core/attempt.ts';
import type { Failure, FailureKind } from '../core/failure.ts';
import { placeholdersIn, type ServiceDescription } from '../core/service-description.ts';
import type { JsonObject } from '../../lib/text/json.ts';
import { bodyText } from '../../protocol/error-text.ts';
import { valuesAt } from '../../protocol/output-shapes.ts';
import type {
  CancelReply,
  HealthReply,
  Hold,
  KeptAnswer,
  LostSubmission,
  RenderService,
  StatusReply,
  SubmitReply,
  WriteChunk,
} from '../pipeline/ports.ts';
import {
  kindByText,
  readDescribedStatus,
  readOutputIn,
  readRefusedResult,
  type Done,
} from './described-answers.ts';
import { DescribedRequests, fetchOwnPictures } from './described-requests.ts';
import { inText, keptOutcome, type HttpResponse, type Outcome } from './exchange.ts';
import { findSubmission, RecentSubmissions } from './find-submission.ts';
import type { HttpOptions } from './http-render-service.ts';
import { HttpRequests, type Request, type TextOutcome } from './http-requests.ts';
import { parseJson, parseObject } from './parse-body.ts';
import { readSubmitAnswer, type AcceptedPlaces } from './read-submit-answers.ts';
import { ofAnother, readJobId } from './read-job-answers.ts';
import { noKeySent, readRefusal, unreadable } from './read-refusal.ts';
import { readCancelAnswer } from './read-side-answers.ts';
import { chunksWithoutKey, repeatsKey, textWithoutKey, withoutKey } from './without-key.ts';

export interface DescribedOptions extends HttpOptions {
  description: ServiceDescription;
  /** Told once of each status that the description does not know. */
  onUnknownStatus?: (status: string) => void;
}

const maxUnknownStatuses = 10;

export class DescribedService implements RenderService {
  readonly #options: DescribedOptions;
  readonly #description: ServiceDescription;
  readonly #http: HttpRequests;
  readonly #requests: DescribedRequests;
  /** True if an answer to a submission had an id at the described place. */
  #hasNamedJob = false;
  /** True if a status names its job at the described place. */
  #isJobNamed: boolean;
  readonly #unknownStatuses = new Set<string>();
  readonly #submissions = new RecentSubmissions();

  constructor(options: DescribedOptions) {
    this.#options = options;
    this.#description = options.description;
    this.#isJobNamed = options.description.status.isJobNamed;
    this.#http = new HttpRequests(options);
    this.#requests = new DescribedRequests(options.description, options.connectionOf);
  }

  async submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
    lost?: LostSubmission,
  ): Promise<SubmitReply> {
    const send = (): Promise<SubmitReply> => this.#submit(endpoint, input, signal, idempotencyKey, lost);
    return this.#description.find === undefined ? send() : this.#submissions.during(input, send);
  }

  async #submit(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
    lost?: LostSubmission,
  ): Promise<SubmitReply> {
    const { find, submit } = this.#description;
    const isSentAgain = find === undefined && submit.remembers !== undefined;
    const reply = await (lost === undefined || isSentAgain
      ? this.#send(endpoint, input, signal, idempotencyKey)
      : this.#find(endpoint, input, lost, signal));
    const { apiKey } = this.#options.connectionOf(endpoint);
    const named = reply.kind === 'accepted' ? [reply.jobId, ...Object.values(reply.kept ?? {})] : [];
    if (named.some((text) => repeatsKey(text, apiKey))) {
      const text = 'the service put the key into what names the job, which must not be recorded';
      return { ...failure('unanswered', text), isEachLost: true };
    }
    return withoutKey(reply, apiKey);
  }

  async status(
    job: JobAtService,
    signal: AbortSignal,
    onHeldUp?: () => void,
    kept?: KeptAnswer,
  ): Promise<StatusReply> {
    const hold = this.#http.reserve(onHeldUp);
    const reply = await (kept === undefined
      ? this.#status(job, signal, hold)
      : this.#readKept(job, kept, signal, hold));
    if (reply.kind !== 'completed') hold.release();
    return withoutKey(reply, this.#options.connectionOf(job.endpoint).apiKey);
  }

  copyResult(job: JobAtService, write: WriteChunk, signal: AbortSignal): Promise<boolean> {
    const { result, status } = this.#description;
    const { apiKey } = this.#options.connectionOf(job.endpoint);
    const request = this.#requests.ofJob(job, result.request ?? status);
    return this.#http.copy(request, chunksWithoutKey(write, apiKey), signal);
  }

  async cancel(job: JobAtService, signal: AbortSignal): Promise<CancelReply> {
    const { cancel, name } = this.#description;
    if (cancel === undefined)
      return { kind: 'unsupported', text: `the description of ${name} does not say how a job is cancelled` };
    const request = this.#requests.ofJob(job, cancel);
    const outcome = await this.#http.exchangeText(request, signal);
    const refusal =
      outcome.kind === 'answered' ? this.#refusalElsewhere(job, request, outcome.answer) : undefined;
    const reply = refusal ?? readCancelled(outcome, request);
    return withoutKey(reply, this.#options.connectionOf(job.endpoint).apiKey);
  }

  async health(endpoint: Endpoint, signal: AbortSignal): Promise<HealthReply> {
    const { check, name } = this.#description;
    if (check === undefined)
      return {
        kind: 'unknown',
        text: `the description of ${name} does not say how it is checked`,
        isUnasked: true,
      };
    const request = this.#requests.of(endpoint, check);
    if (!this.#requests.isOwn(endpoint, request.url))
      return {
        kind: 'unknown',
        text: `${name} is checked elsewhere than at \`endpoint.baseUrl\``,
        isUnasked: true,
      };
    const reply = this.#readCheck(endpoint, await this.#http.exchangeText(request, signal), request);
    return withoutKey(reply, this.#options.connectionOf(endpoint).apiKey);
  }

  /** Requests in progress are cut. */
  close(): Promise<void> {
    return this.#http.close();
  }

  async #send(
    endpoint: Endpoint,
    input: JsonObject,
    signal: AbortSignal,
    idempotencyKey?: string,
  ): Promise<SubmitReply> {
    const request = this.#requests.submission(endpoint, input, idempotencyKey);
    const outcome = await this.#http.exchangeText(request, signal);
    if (outcome.kind !== 'answered') {
      const isSent = outcome.kind === 'too-large' || outcome.wasSent;
      return failure(isSent ? 'unanswered' : 'not-reached', whyNot(outcome, request));
    }
    const reply = readSubmitAnswer(outcome.answer, undefined, {
      ...this.#accepted,
      isUnproven: !this.#hasNamedJob,
    });
    this.#hasNamedJob ||= reply.kind === 'accepted';
    if (reply.kind === 'accepted') return { ...reply, ...this.#knownFor };
    const elsewhere = this.#refusalElsewhere({ endpoint }, request, outcome.answer);
    if (elsewhere !== undefined) return failure('key-refused', elsewhere.failure.text);
    const kind =
      outcome.answer.status >= 400 ? kindByText(outcome.answer.body, this.#description) : undefined;
    if (reply.kind !== 'failure' || kind === undefined || kind === reply.failure.kind) return reply;
    const { status, body } = outcome.answer;
    return failure(kind, `the service answered ${status}: ${bodyText(body) ?? 'no message'}`);
  }

  async #find(
    endpoint: Endpoint,
    input: JsonObject,
    lost: LostSubmission,
    signal: AbortSignal,
  ): Promise<SubmitReply> {
    const { find } = this.#description;
    if (find === undefined)
      return { kind: 'not-found', text: 'the service has no list to look for its job in' };
    const isAlone = this.#submissions.isAlone(input);
    const isTaken = async (jobId: string): Promise<boolean> =>
      this.#submissions.hasAccepted(jobId) || lost.isTaken(jobId);
    const ask = (since: string, url?: string): Promise<TextOutcome> => {
      const first = this.#requests.of(endpoint, find, { since });
      return this.#http.exchangeText(
        url === undefined ? first : this.#nextPage(endpoint, first, url),
        signal,
      );
    };
    const reply = await findSubmission(
      { input, lost: { ...lost, isTaken }, isAlone },
      { ...find, accepted: { ...this.#accepted, jobId: find.job ?? this.#accepted.jobId } },
      ask,
    );
    return reply.kind === 'accepted' ? { ...reply, ...this.#knownFor } : reply;
  }

  /** At the service itself, whatever host a proxy before it has it name. */
  #nextPage(endpoint: Endpoint, { method, url: first }: Request, url: string): Request {
    const { pathname, search, href } = URL.canParse(url, first) ? new URL(url, first) : new URL(first);
    const own = this.#requests.isOwn(endpoint, href) ? href : new URL(first).origin + pathname + search;
    return this.#requests.to(endpoint, method, own);
  }

  async #status(job: JobAtService, signal: AbortSignal, hold: Hold): Promise<StatusReply> {
    const request = this.#requests.ofJob(job, this.#description.status);
    const answer = await this.#ask(request, signal, hold);
    if ('kind' in answer) return answer;
    const refusal = this.#refusalOf(job, request, answer);
    if (refusal !== undefined) return refusal;
    const reply = readDescribedStatus(answer, this.#description, (named) => {
      this.#isJobNamed ||= readJobId(named) === job.jobId;
      return this.#isJobNamed ? ofAnother(named, job.jobId) : undefined;
    });
    if (reply.kind === 'running')
      this.#sayUnknown(textWithoutKey(reply.status, this.#options.connectionOf(job.endpoint).apiKey));
    if (reply.kind !== 'done') return reply;
    const { status, times, words } = reply;
    const result = await this.#result(job, reply, signal, hold);
    if (result.kind === 'completed' || result.kind === 'ended') return { ...result, status, ...times };
    // If it has failed, there need not be a result that says so.
    if (result.kind === 'missing' && words !== undefined) {
      const kind = kindByText(answer.body, this.#description) ?? 'failed-inside';
      return { kind: 'ended', status, failure: { kind, text: `${status}: ${words}` }, ...times };
    }
    return result.kind === 'failure' ? { ...result, done: { status, ...times } } : result;
  }

  #sayUnknown(status: string): void {
    const known = this.#unknownStatuses;
    if (Object.hasOwn(this.#description.status.map, status) || known.has(status)) return;
    // Some put how far it is into it.
    if (known.size >= maxUnknownStatuses) return;
    known.add(status);
    this.#options.onUnknownStatus?.(status);
  }

  /** Of a job that is done. */
  async #result(
    job: JobAtService,
    { body, words }: Done,
    signal: AbortSignal,
    hold: Hold,
  ): Promise<StatusReply> {
    const { request: described, job: place } = this.#description.result;
    const request = described && this.#requests.ofJob(job, described);
    const answer = request && (await this.#ask(request, signal, hold));
    if (answer !== undefined && 'kind' in answer) return answer;
    // A text that the description knows says more than the code.
    const isKnown =
      answer !== undefined && answer.status >= 400 && kindByText(answer.body, this.#description);
    const refused =
      answer &&
      ((isKnown ? undefined : this.#refusalOf(job, request, answer)) ??
        readRefusedResult(answer, this.#description, words !== undefined));
    if (refused !== undefined) return refused;
    const result = answer === undefined ? body : parseJson(answer.body);
    const other =
      place === undefined ? undefined : ofAnother(valuesAt(result, place)[0], job.jobId, 'result');
    if (other !== undefined) return other;
    return this.#collect(job, result, signal, hold);
  }

  async #readKept(
    job: JobAtService,
    kept: KeptAnswer,
    signal: AbortSignal,
    hold: Hold,
  ): Promise<StatusReply> {
    const outcome = await keptOutcome(kept, hold, signal);
    if (outcome.kind !== 'answered') return this.#tooLarge();
    if (this.#description.result.request === undefined) {
      // It is the status that was kept, and its word may be the one that was not known.
      const reply = readDescribedStatus(inText(outcome.answer), this.#description, () => undefined);
      if (reply.kind !== 'done') return reply;
    }
    return this.#collect(job, parseJson(inText(outcome.answer).body), signal, hold);
  }

  #tooLarge(): StatusReply {
    const text = `the result is larger than ${this.#http.limit} (\`limits.body\`)`;
    return { kind: 'ended', status: '', failure: { kind: 'result-too-large', text } };
  }

  async #collect(job: JobAtService, result: unknown, signal: AbortSignal, hold: Hold): Promise<StatusReply> {
    const found = readOutputIn(result, this.#description, this.#options);
    if (!('pictures' in found)) return { kind: 'ended', status: '', failure: found };
    const isOwn = (url: string): boolean => this.#requests.isOwn(job.endpoint, url);
    const fetch = (url: string, bodies: number): Promise<Outcome> =>
      this.#http.exchange(this.#requests.to(job.endpoint, 'GET', url), signal, hold, bodies);
    return fetchOwnPictures(found.pictures, hold, isOwn, fetch);
  }

  /** An answer that says something of the job, whatever its status; else what to make of it. */
  async #ask(request: Request, signal: AbortSignal, hold: Hold): Promise<HttpResponse | StatusReply> {
    const outcome = await this.#http.exchange(request, signal, hold);
    if (outcome.kind === 'too-large') return this.#tooLarge();
    if (outcome.kind === 'broken') return failure('poll-failed', whyNot(outcome, request));
    const answer = inText(outcome.answer);
    if (answer.status === 404 || answer.status === 410) {
      const text = `the service does not know the job (${answer.status}: ${bodyText(answer.body) ?? 'no message'})`;
      return { kind: 'missing', text };
    }
    return answer;
  }

  #refusalOf(job: JobAtService, request: Request, answer: HttpResponse): StatusReply | undefined {
    const refusal = readRefusal(answer);
    if (refusal === undefined) return undefined;
    return this.#refusalElsewhere(job, request, answer) ?? { kind: 'failure', failure: refusal };
  }

  /** An address at another host is asked without the key: that this is refused says nothing of the key. */
  #refusalElsewhere(
    { endpoint }: Pick<JobAtService, 'endpoint'>,
    { url }: Request,
    answer: HttpResponse,
  ): { kind: 'failure'; failure: Failure } | undefined {
    const refusal = readRefusal(answer);
    if (refusal === undefined || refusal.kind === 'overloaded' || this.#requests.isOwn(endpoint, url))
      return undefined;
    return failure('poll-failed', `${new URL(url).host} answers ${answer.status}: ${noKeySent}`);
  }

  #readCheck({ id }: Endpoint, outcome: TextOutcome, request: Request): HealthReply {
    if (outcome.kind !== 'answered') return failure('poll-failed', whyNot(outcome, request));
    const { status, body } = outcome.answer;
    const refusal = readRefusal(outcome.answer);
    if (refusal !== undefined) return { kind: 'failure', failure: refusal };
    const { check, name } = this.#description;
    const isSuccess = status >= 200 && status <= 299;
    if (isSuccess && (check?.has === undefined || valuesAt(parseObject(body), check.has).length > 0))
      return { kind: 'answers', ...this.#knownFor };
    if (isSuccess || status === 404 || status === 410)
      return {
        kind: 'unknown',
        text: `${name} does not know ${id} (${status}: ${bodyText(body) ?? 'no message'})`,
      };
    return { kind: 'failure', failure: unreadable(outcome.answer, 'the check') };
  }

  get #accepted(): AcceptedPlaces {
    const { submit, status } = this.#description;
    const { request } = this.#description.result;
    const used = placeholdersIn([status.url, request?.url].join(' '));
    const needed = submit.keep.filter((name) => used.includes(`job.${name}`));
    return { jobId: submit.job, status: status.at, keep: submit.keep, needed };
  }

  get #knownFor(): { idempotencyMs?: number } {
    const { find, keepsMs, submit } = this.#description;
    const idempotencyMs = find === undefined ? submit.remembers : keepsMs;
    return idempotencyMs === undefined ? {} : { idempotencyMs };
  }
}

function readCancelled(outcome: TextOutcome, request: Request): CancelReply {
  if (outcome.kind === 'too-large') return { kind: 'cancelled' };
  if (outcome.kind === 'broken') return failure('poll-failed', whyNot(outcome, request));
  const { status, body } = outcome.answer;
  if (![400, 409, 422].includes(status)) return readCancelAnswer(outcome.answer);
  // It has ended meanwhile, as the next poll shows.
  return {
    kind: 'unsupported',
    text: `the service does not cancel the job (${status}: ${bodyText(body) ?? 'no message'})`,
  };
}

function whyNot(outcome: Exclude<TextOutcome, { kind: 'answered' }>, { url }: Request): string {
  // A query may be a signature.
  return `${outcome.kind === 'broken' ? outcome.why : 'the answer is too large'} (${url.replace(/\?.*/s, '')})`;
}

function failure(kind: FailureKind, text: string): { kind: 'failure'; failure: Failure } {
  return { kind: 'failure', failure: { kind, text } };
}

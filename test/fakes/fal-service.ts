/** A stand-in for fal: its queue over HTTP, as its documentation and its official client describe it. */
import { STATUS_CODES } from 'node:http';
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { Fields } from '../faults/answers.ts';
import { listenOnLoopback } from '../e2e/listen-on-loopback.ts';
import { JobServer, type JobServerOptions, type Meet, type Received, type Understood } from './job-server.ts';
import type { Course, Job, JobsOptions } from './service-jobs.ts';

export interface FalPlan extends Course {
  /** URLs or data URIs. */
  pictures: string[];
  /** Answer instead of the result. */
  failure?: { status: number; fields: Fields };
  /** Word that replaces the job's status. */
  word?: string;
}

export interface FalOptions extends Partial<JobsOptions> {
  plan?: (input: JsonObject) => Partial<FalPlan>;
  meet?: Meet<FalPlan>;
  /** The only accepted key. */
  key?: string;
  /** The only model that exists. Default: any model exists. */
  model?: string;
  /** Path of requests. Lets a test move them to a path that the client cannot derive from the model. */
  requestsAt?: string;
  /** Number of requests on a page of the list, unless the query states less. */
  pageSize?: number;
  /** True if the list also has requests that wait or run, with neither an end nor a status code. */
  listsAll?: boolean;
}

type Reply = ReturnType<Understood<FalPlan>['take']>;

export const falKey = 'canary-id:canary-secret-1';

/** Starts a stand-in whose jobs complete at once with a picture of one pixel. It stops when the test ends. */
export async function startFal({ plan, ...options }: FalOptions = {}): Promise<FalService> {
  const fal = new FalService({
    idOf: (number) => `764cabcf-b745-4b3e-ae38-${String(number).padStart(12, '0')}`,
    ...options,
    plan: (input) => ({ queueMs: 0, executionMs: 0, pictures: [onePixel], ...plan?.(input) }),
  });
  fal.url = await listenOnLoopback(fal.server);
  return fal;
}

export const onePixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export class FalService extends JobServer<FalPlan> {
  key: string;
  readonly #model: string | undefined;
  readonly #requestsAt: string | undefined;
  readonly #pageSize: number;
  readonly #listsAll: boolean;

  constructor({
    key = falKey,
    model,
    requestsAt,
    pageSize = 50,
    listsAll = false,
    ...options
  }: JobServerOptions<FalPlan> & FalOptions) {
    super(options);
    this.key = key;
    this.#pageSize = pageSize;
    this.#listsAll = listsAll;
    this.#model = model;
    this.#requestsAt = requestsAt;
  }

  protected understand({ method, path, headers, body }: Received): Understood<FalPlan> {
    const { pathname, searchParams } = new URL(path, this.url);
    const { at = '', jobId = '', what = '' } = requestPath.exec(pathname)?.groups ?? {};
    const operation = operationOf(`${method} ${jobId === '' ? pathname : what}`);
    const input = operation === 'run' ? (JSON.parse(body) as JsonObject) : {};
    const take = (): Reply => {
      if (headers.authorization !== `Key ${this.key}`)
        return refusal(401, { detail: 'No user found for Key ID and Secret' });
      if (operation === 'run') return this.#submit(pathname.slice(1), input);
      if (operation === 'health') return this.#price(searchParams.get('endpoint_id') ?? '');
      if (operation === 'list') return this.#list(searchParams);
      const job = operation === 'status' ? this.jobs.polled(jobId) : this.jobs.find(jobId);
      if (operation === undefined || job === undefined || this.#pathOf(job) !== at)
        return { status: 404, fields: { status: 'NOT_FOUND' } };
      if (operation === 'status') return this.#status(job);
      return operation === 'cancel' ? this.#cancel(job) : this.#result(job);
    };
    return { operation, jobId, input, take };
  }

  #submit(id: string, input: JsonObject): Reply {
    if (this.#model !== undefined && id !== this.#model)
      return refusal(404, { error: 'Error', message: `Path /${id} not found` });
    const job = this.jobs.accept({ baseUrl: this.url, id, version: 'fal' }, input, this.plan(input));
    return { status: 200, fields: { ...this.#named(job, 'IN_QUEUE'), queue_position: 0 }, job };
  }

  #status(job: Job<FalPlan>): Reply {
    const state = this.jobs.stateOf(job);
    const { word, failure } = job.plan;
    if (word !== undefined) return { status: 202, fields: this.#named(job, word), job };
    if (state === 'IN_QUEUE')
      return { status: 202, fields: { ...this.#named(job, state), queue_position: 2 } };
    if (state === 'IN_PROGRESS')
      return { status: 202, fields: { ...this.#named(job, state), logs: [] }, job };
    const metrics = { inference_time: (job.completesAt - job.startsAt) / 1000 };
    const fields = { ...this.#named(job, 'COMPLETED'), logs: [], metrics };
    const { error_type: kind, detail } = (state === 'CANCELLED' ? clientCancelled : failure)?.fields ?? {};
    return {
      status: 200,
      fields: kind === undefined ? fields : { ...fields, error: detail, error_type: kind },
    };
  }

  #result(job: Job<FalPlan>): Reply {
    const state = this.jobs.stateOf(job);
    if (state === 'CANCELLED') return { ...clientCancelled, job };
    if (state !== 'ended') return refusal(400, { detail: 'Request is still in progress' });
    const { failure, pictures } = job.plan;
    if (failure !== undefined) return { ...failure, job };
    const images = pictures.map((url) => ({ url, width: 1, height: 1, content_type: 'image/png' }));
    const { seed = 6252023, prompt = '' } = job.input;
    return { status: 200, fields: { images, seed, prompt, has_nsfw_concepts: images.map(() => false) }, job };
  }

  #cancel(job: Job<FalPlan>): Reply {
    if (this.jobs.stateOf(job) === 'ended')
      return { status: 400, fields: { status: 'ALREADY_COMPLETED' }, job };
    this.jobs.cancel(job);
    return { status: 202, fields: { status: 'CANCELLATION_REQUESTED' }, job };
  }

  #price(id: string): Reply {
    if (this.#model !== undefined && id !== this.#model)
      return refusal(404, { error: { type: 'not_found', message: `Endpoint ${id} not found` } });
    const prices = [{ endpoint_id: id, unit_price: 0.025, unit: 'megapixels', currency: 'USD' }];
    return { status: 200, fields: { prices, next_cursor: null, has_more: false } };
  }

  /** Lists requests by their end, newest first. Includes payloads only if the query asks for them. */
  #list(query: URLSearchParams): Reply {
    const id = query.get('request_id');
    const since = Date.parse(query.get('start') ?? '') || Date.now() - (id === null ? 1 : 90) * 86_400_000;
    const found = this.jobs.all
      .filter((job) => job.endpoint.id === query.get('endpoint_id') && (id === null || job.id === id))
      .filter((job) => job.submittedAt >= since && (this.#listsAll || this.#hasEnded(job)))
      .toSorted((a, b) => b.completesAt - a.completesAt);
    const from = Number(query.get('cursor') ?? 0);
    const to = from + Math.min(this.#pageSize, Number(query.get('limit') ?? 50));
    const hasMore = to < found.length;
    const items = found.slice(from, to).map((job) => this.#listed(job, query.get('expand') === 'payloads'));
    return { status: 200, fields: { items, has_more: hasMore, next_cursor: hasMore ? String(to) : null } };
  }

  #hasEnded(job: Job<FalPlan>): boolean {
    return ['ended', 'CANCELLED'].includes(this.jobs.stateOf(job));
  }

  #listed(job: Job<FalPlan>, hasPayloads: boolean): Fields {
    const { status, fields } = this.#result(job);
    const timeOf = (ms: number): string | null => (this.#hasEnded(job) ? new Date(ms).toISOString() : null);
    return {
      request_id: job.id,
      endpoint_id: job.endpoint.id,
      sent_at: new Date(job.submittedAt).toISOString(),
      started_at: timeOf(job.startsAt),
      ended_at: timeOf(job.completesAt),
      status_code: this.#hasEnded(job) ? status : null,
      duration: this.#hasEnded(job) ? (job.completesAt - job.startsAt) / 1000 : null,
      ...(hasPayloads && { json_input: job.input, json_output: this.#hasEnded(job) ? fields : null }),
    };
  }

  /** Returns the fields that all answers about a job have. */
  #named(job: Job<FalPlan>, status: string): Fields {
    const at = `${this.url}${this.#pathOf(job)}/requests/${job.id}`;
    const urls = { response_url: at, status_url: `${at}/status`, cancel_url: `${at}/cancel` };
    return { status, request_id: job.id, ...urls };
  }

  /** Returns the path of a job's requests: only the first two parts of the model's name. */
  #pathOf({ endpoint }: Job<FalPlan>): string {
    return this.#requestsAt ?? `/${endpoint.id.split('/').slice(0, 2).join('/')}`;
  }
}

const requestPath = /^(?<at>\/(?!v1\/).+)\/requests\/(?<jobId>[\w-]+)(?<what>\/status|\/cancel|)$/;

const clientCancelled = {
  status: 499,
  fields: { detail: 'The request was cancelled by the client', error_type: 'client_cancelled' },
};

function operationOf(asked: string): Understood['operation'] {
  switch (asked) {
    case 'GET /status':
      return 'status';
    case 'GET ':
      return 'result';
    case 'PUT /cancel':
      return 'cancel';
    case 'GET /v1/models/pricing':
      return 'health';
    case 'GET /v1/models/requests/by-endpoint':
      return 'list';
    default:
      return asked.startsWith('POST /') ? 'run' : undefined;
  }
}

function refusal(status: number, fields: Fields): Reply {
  return { status, fields: { detail: STATUS_CODES[status], ...fields } };
}

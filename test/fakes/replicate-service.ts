/** A stand-in for Replicate over HTTP, as its documentation and its official client describe it. */
import type { JsonObject } from '../../src/lib/text/json.ts';
import type { Fields } from '../faults/answers.ts';
import { listenOnLoopback } from '../e2e/listen-on-loopback.ts';
import { onePixel } from './fal-service.ts';
import { JobServer, type JobServerOptions, type Meet, type Received, type Understood } from './job-server.ts';
import type { Course, Job, JobsOptions } from './service-jobs.ts';

export interface ReplicatePlan extends Course {
  /** URLs or data URIs. Some models answer a list, others a single text. */
  output: string | string[];
  /** Error of a failed job. */
  error?: string;
  /** Word that replaces the job's status. */
  word?: string;
}

export interface ReplicateOptions extends Partial<JobsOptions> {
  plan?: (input: JsonObject) => Partial<ReplicatePlan>;
  meet?: Meet<ReplicatePlan>;
  /** The only accepted key. */
  key?: string;
  /** The only model that exists. Default: any model exists. */
  model?: string;
  /** Number of predictions on a page of the list. */
  pageSize?: number;
}

type Reply = ReturnType<Understood<ReplicatePlan>['take']>;

export const replicateKey = 'r8_canary-secret-2';

/** Starts a stand-in whose jobs complete at once with a picture of one pixel. It stops when the test ends. */
export async function startReplicate({ plan, ...options }: ReplicateOptions = {}): Promise<ReplicateService> {
  const replicate = new ReplicateService({
    idOf: (number) => `gm3qorzdhgbfurvjtv${String(number).padStart(8, '0')}`,
    ...options,
    plan: (input) => ({ queueMs: 0, executionMs: 0, output: [onePixel], ...plan?.(input) }),
  });
  replicate.url = await listenOnLoopback(replicate.server);
  return replicate;
}

export class ReplicateService extends JobServer<ReplicatePlan> {
  key: string;
  readonly #model: string | undefined;
  readonly #pageSize: number;

  constructor({
    key = replicateKey,
    model,
    pageSize = 100,
    ...options
  }: JobServerOptions<ReplicatePlan> & ReplicateOptions) {
    super(options);
    this.key = key;
    this.#model = model;
    this.#pageSize = pageSize;
  }

  protected understand({ method, path, headers, body }: Received): Understood<ReplicatePlan> {
    const { pathname, searchParams } = new URL(path, this.url);
    const { jobId = '', what = '', model = '' } = addresses.exec(pathname)?.groups ?? {};
    const operation = operationOf(method, jobId, what, pathname);
    const sent =
      operation === 'run' ? (JSON.parse(body) as { version?: string; input: JsonObject }) : undefined;
    const input = sent?.input ?? {};
    const take = (): Reply => {
      if (headers.authorization !== `Bearer ${this.key}`)
        return problem(401, 'Unauthenticated', 'You did not pass a valid authentication token');
      if (operation === 'run')
        return this.#create(sent?.version ?? model, input, headers['prefer']?.toString());
      if (operation === 'list') return this.#list(searchParams);
      if (operation === 'health') return this.#describe(model);
      const job = this.jobs.all.find(({ id }) => id === jobId);
      if (operation === undefined || job === undefined)
        return problem(404, 'Not found', 'The requested resource could not be found');
      if (operation === 'status') job.polls += 1;
      else this.jobs.cancel(job);
      return { status: 200, fields: this.#prediction(job), job };
    };
    return { operation, jobId, input, take };
  }

  #create(version: string, input: JsonObject, prefer = ''): Reply {
    if (this.#model !== undefined && version.split(':')[0] !== this.#model) {
      const text = "The specified version does not exist (or perhaps you don't have permission to use it?)";
      return problem(422, 'Invalid version or not permitted', text);
    }
    const job = this.jobs.accept(
      { baseUrl: this.url, id: version, version: 'replicate' },
      input,
      this.plan(input),
    );
    if (prefer.startsWith('wait')) {
      const isDone = this.jobs.stateOf(job) === 'ended';
      return { status: isDone ? 201 : 202, fields: this.#prediction(job), job };
    }
    const begun = { status: 'starting', output: null, metrics: {}, error: null };
    return { status: 201, fields: { ...this.#prediction(job), ...begun }, job };
  }

  /** Lists predictions, newest first. */
  #list(query: URLSearchParams): Reply {
    const after = Date.parse(query.get('created_after') ?? '1970-01-01T00:00:00Z');
    const before = Date.parse(query.get('created_before') ?? '9999-01-01T00:00:00Z');
    const found = this.jobs.all.filter(({ submittedAt }) => submittedAt >= after && submittedAt < before);
    const from = Number(query.get('cursor') ?? 0);
    const page = found.toReversed().slice(from, from + this.#pageSize);
    const pageAt = (cursor: number): string | null => {
      if (cursor < 0 || cursor >= found.length) return null;
      const next = new URLSearchParams(query);
      next.set('cursor', String(cursor));
      return `${this.url}/v1/predictions?${next.toString()}`;
    };
    const results = page.map((job) => this.#prediction(job));
    const pages = { next: pageAt(from + this.#pageSize), previous: pageAt(from - this.#pageSize) };
    return { status: 200, fields: { ...pages, results } };
  }

  /** Describes the account, or one of its models. */
  #describe(model: string): Reply {
    if (model === '') return { status: 200, fields: { type: 'user', username: 'alice', name: 'Alice' } };
    if (this.#model !== undefined && model !== this.#model)
      return problem(404, 'Not found', 'The requested resource could not be found');
    const [owner, name] = model.split('/');
    const version = { id: '5c7d5dc6dd8bf75c1acaa8565735e7986bc5b66206b55cca93cb72c9bf15ccaa' };
    return { status: 200, fields: { owner, name, visibility: 'public', latest_version: version } };
  }

  #prediction(job: Job<ReplicatePlan>): Fields {
    const { id, endpoint, input, plan, submittedAt, startsAt, completesAt } = job;
    const state = this.jobs.stateOf(job);
    const isRemoved = this.jobs.find(id) === undefined;
    const hasBegun = state !== 'IN_QUEUE' && startsAt <= completesAt;
    const hasEnded = state === 'ended' || state === 'CANCELLED';
    const hasOutput = state === 'ended' && plan.error === undefined && !isRemoved;
    const at = `${this.url}/v1/predictions/${id}`;
    const [model = '', version = 'hidden'] = endpoint.id.split(':');
    const predictTime = hasBegun ? (completesAt - startsAt) / 1000 : 0;
    return {
      id,
      model,
      version,
      input: isRemoved ? {} : input,
      logs: '',
      output: hasOutput ? plan.output : null,
      data_removed: isRemoved,
      error: state === 'ended' ? (plan.error ?? null) : null,
      source: 'api',
      status: plan.word ?? wordOf(state, plan),
      created_at: timeOf(submittedAt),
      ...(hasBegun && { started_at: timeOf(startsAt) }),
      ...(hasEnded && { completed_at: timeOf(completesAt), metrics: { predict_time: predictTime } }),
      urls: { get: at, cancel: `${at}/cancel`, web: `https://replicate.com/p/${id}` },
    };
  }
}

const addresses =
  /^\/v1\/(?:models\/(?<model>[\w-]+\/[\w.-]+)(?:\/predictions)?|predictions(?:\/(?<jobId>\w+)(?<what>\/cancel|)?)?|account)$/;

function operationOf(method: string, jobId: string, what: string, path: string): Understood['operation'] {
  if (!addresses.test(path)) return undefined;
  if (jobId !== '') return method === 'POST' ? (what === '' ? undefined : 'cancel') : 'status';
  if (path.endsWith('/predictions')) return method === 'POST' ? 'run' : 'list';
  return 'health';
}

function wordOf(state: string, { error }: ReplicatePlan): string {
  switch (state) {
    case 'IN_QUEUE':
      return 'starting';
    case 'IN_PROGRESS':
      return 'processing';
    case 'CANCELLED':
      return 'canceled';
    default:
      return error === undefined ? 'succeeded' : 'failed';
  }
}

function timeOf(ms: number): string {
  // Replicate writes microseconds.
  return new Date(ms).toISOString().replace('Z', '421Z');
}

function problem(status: number, title: string, detail: string): Reply {
  return { status, fields: { title, detail, status } };
}

/** Requests of the console about jobs, and about webhooks that failed. */
import type { BulkCount, FailedWebhooks, JobAction } from '../../protocol/console-data.ts';
import { type HttpResponse, emptyResponse, jsonResponse, refusal } from '../../lib/http/http-response.ts';
import type { ConsoleRequest, ConsoleService } from './console-request.ts';
import { type JobQuery, JobViews } from './job-views.ts';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { prepareWebhookStatements } from '../jobs/job-statements.ts';

/** Number of jobs that are changed in one commit. */
const changesAtOnce = 100;

export class JobRequests {
  readonly #service: ConsoleService;
  readonly #views: JobViews;

  constructor(service: ConsoleService) {
    this.#service = service;
    this.#views = new JobViews(service.store);
  }

  async list({ query }: ConsoleRequest): Promise<HttpResponse> {
    return jsonResponse(await this.#views.list(queryOf(query), this.#keyNames()));
  }

  async show({ id }: ConsoleRequest): Promise<HttpResponse> {
    const { endpoints } = this.#service;
    const job = await this.#views.find(
      id,
      this.#keyNames(),
      (row) => endpoints.find(row.endpointId)?.logOf(row.id) ?? [],
    );
    return job === undefined ? refusal(404, 'job not found') : jsonResponse(job);
  }

  /** Returns a thumbnail. Browsers cache it until the output is deleted, and a missing one for a minute. */
  async thumbnail({ id }: ConsoleRequest): Promise<HttpResponse> {
    const { thumbnailOf, about, now } = this.#service;
    const found = await this.#views.ofPicture(id, thumbnailOf);
    if (found === undefined) return { ...emptyResponse, headers: { 'Cache-Control': 'private, max-age=60' } };
    const seconds = Math.max(0, Math.floor((found.endedAt + about.retentionMs - now()) / 1_000));
    const headers = { 'Content-Type': 'image/jpeg', 'Cache-Control': `private, max-age=${seconds}` };
    return { status: 200, body: found.made, headers };
  }

  async act(what: JobAction, { id }: ConsoleRequest): Promise<HttpResponse> {
    const endpointId = this.#views.endpointOf(id);
    if (endpointId === undefined) return refusal(404, 'job not found');
    if (!this.#isThere(endpointId)) return refusal(409, `the endpoint ${endpointId} of this job was removed`);
    return await this.#service.jobs[what](endpointId, id);
  }

  /** Counts the jobs that `actOnAll` would change. `id`: `cancel` or `retry`. */
  async countReachable({ id, query }: ConsoleRequest): Promise<HttpResponse> {
    const { jobs, isMore } = await this.#reachable(id, query);
    return jsonResponse({ jobs: jobs.length, isMore } satisfies BulkCount);
  }

  /** Cancels or retries all matching jobs. Stops at the first error of the service, such as a full disk. */
  async actOnAll({ id, query }: ConsoleRequest): Promise<HttpResponse> {
    const { jobs, isMore } = await this.#reachable(id, query);
    let done = 0;
    for (let at = 0; at < jobs.length; at += changesAtOnce) {
      const some = jobs.slice(at, at + changesAtOnce);
      const answers = await Promise.all(
        some.map((job) => this.#service.jobs[id === 'cancel' ? 'cancel' : 'retry'](job.endpointId, job.id)),
      );
      const refused = answers.find(({ status }) => status >= 500);
      if (refused !== undefined) return refused;
      done += answers.filter(({ status }) => status === 200).length;
    }
    return jsonResponse({ jobs: done, isMore } satisfies BulkCount);
  }

  history({ query }: ConsoleRequest): HttpResponse {
    const range = query.get('range') === 'day' ? 'day' : 'hour';
    return jsonResponse(this.#service.store.history.view(query.get('endpoint') || null, range));
  }

  #reachable(what: string, query: URLSearchParams) {
    const asked = { ...queryOf(query), before: null };
    return this.#views.reachable(what === 'cancel' ? 'cancel' : 'retry', asked, (id) => this.#isThere(id));
  }

  #isThere(endpointId: string): boolean {
    return this.#service.endpoints.find(endpointId) !== undefined;
  }

  #keyNames(): (keyId: string) => string | null {
    const names = new Map(this.#service.keys.list().map(({ id, name }) => [id, name]));
    return (keyId) => names.get(keyId) ?? (keyId === 'none' ? null : keyId);
  }
}

function queryOf(query: URLSearchParams): JobQuery {
  return {
    endpoint: query.get('endpoint') || null,
    status: query.get('status') || null,
    text: query.get('text')?.trim() ?? '',
    before: query.get('before') || null,
  };
}

const maxShownWebhooks = 50;

/** Number of webhooks that are changed in one commit. */
const webhooksAtOnce = 500;

export class WebhookRequests {
  readonly #service: ConsoleService;
  readonly #sql: ReturnType<typeof prepareWebhookStatements>;

  constructor(service: ConsoleService) {
    this.#service = service;
    this.#sql = prepareWebhookStatements(service.store.file.db);
  }

  /** Lists failed webhooks. Shows only the host of an address, because its rest may be a secret of the receiver. */
  list(): HttpResponse {
    const { failed = 0, waiting = 0 } = this.#sql.countFailed.get() ?? {};
    const webhooks = this.#sql.allFailed.all(maxShownWebhooks).map(({ id, url, ...webhook }) => {
      return { ...webhook, job: id, host: new URL(url).host };
    });
    return jsonResponse({ givenUp: failed - waiting, waiting, webhooks } satisfies FailedWebhooks);
  }

  async sendAgain({ id }: ConsoleRequest): Promise<HttpResponse> {
    const due = { now: this.#now(), id };
    const { changes } = await this.#service.store.file.commit.write(() => this.#sql.sendAgain.run(due));
    return changes === 0 ? refusal(404, 'no webhook of this job has failed') : emptyResponse;
  }

  /** Sends all webhooks again that were given up. */
  async sendAllAgain(): Promise<HttpResponse> {
    let jobs = 0;
    for (let after = 0; ; await nextTurn()) {
      const some = { now: this.#now(), after, max: webhooksAtOnce };
      const sent = await this.#service.store.file.commit.write(() => this.#sql.sendSomeAgain.all(some));
      jobs += sent.length;
      if (sent.length < webhooksAtOnce) return jsonResponse({ jobs, isMore: false } satisfies BulkCount);
      after = Math.max(...sent.map(({ job }) => job));
    }
  }

  #now(): number {
    return Math.floor(this.#service.now());
  }
}

/** The stand-in of the service over HTTP: it speaks the interface, and lets a test meet any request in a way of its own. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Endpoint } from '../../src/runner/core/attempt.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { idempotencyKeyHeader, idempotencyRetentionHeader } from '../../src/protocol/messages.ts';
import { sendJson, type Fields } from '../faults/answers.ts';
import { Jobs, type Course, type Job, type JobsOptions } from './service-jobs.ts';

export interface HttpPlan extends Course {
  /** What a status answer says once the job has ended. */
  end: () => Fields;
}

export interface Asked<Plan extends HttpPlan = HttpPlan> {
  /** None for any other address. */
  operation: 'run' | 'status' | 'cancel' | 'health' | undefined;
  jobId: string;
  /** Of a submission. */
  input: JsonObject;
  /** As it came, `Bearer` and all. */
  key: string;
  response: ServerResponse;
  /** Does what is asked for, and gives the honest answer. */
  take: () => Reply<Plan>;
}

interface Reply<Plan extends HttpPlan> {
  status: number;
  fields: Fields;
  /** That it is about. */
  job?: Job<Plan> | undefined;
}

export type Meet<Plan extends HttpPlan = HttpPlan> = (asked: Asked<Plan>) => void | Promise<void>;

interface HttpServiceOptions<Plan extends HttpPlan> extends Partial<JobsOptions> {
  /** How a job goes that is submitted now. */
  plan: (input: JsonObject) => Plan;
  /** Who answers; the stand-in itself, where it is not given. */
  meet?: Meet<Plan>;
}

export class HttpService<Plan extends HttpPlan = HttpPlan> {
  /** Set by whoever has it listen. */
  url = '';
  meet: Meet<Plan>;
  readonly jobs: Jobs<Plan>;
  readonly requests: { method: string; path: string; key: string }[] = [];
  readonly server: Server;
  readonly #plan: (input: JsonObject) => Plan;

  constructor({ plan, meet = answerHonestly, ...options }: HttpServiceOptions<Plan>) {
    this.#plan = plan;
    this.meet = meet;
    this.jobs = new Jobs({ now: Date.now, ...options });
    this.server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        // Whoever is killed breaks off in the midst of a request; all else is a fault of the test.
        const isBroken = !request.complete || response.destroyed || response.socket?.destroyed !== false;
        response.destroy();
        if (!isBroken) throw error;
      });
    });
  }

  /** Of all submissions that were taken. */
  get inputs(): JsonObject[] {
    return this.jobs.all.map(({ input }) => input);
  }

  /** How often each scene was submitted. */
  submissions(): Map<string, number> {
    const counted = new Map<string, number>();
    for (const { scene } of this.jobs.all) counted.set(scene, (counted.get(scene) ?? 0) + 1);
    return counted;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const key = headers.authorization ?? '';
    this.requests.push({ method, path, key });
    const body = await text(request);
    const { version, id = '', operation, jobId = '' } = addresses.exec(path)?.groups ?? {};
    const asked = { operation: operation as Asked['operation'], jobId, key, response };
    const input = operation === 'run' ? (JSON.parse(body) as { input: JsonObject }).input : {};
    const endpoint: Endpoint = { baseUrl: this.url, id, version: version === 'v1' ? 'v1' : 'v2' };
    const name = headers[idempotencyKeyHeader.toLowerCase()];
    await this.meet({
      ...asked,
      input,
      take: () => {
        if (operation === 'run') return this.#submit(endpoint, input, name?.toString(), response);
        if (operation === 'health') return this.#health(response);
        const job = operation === 'status' ? this.jobs.polled(jobId) : this.jobs.find(jobId);
        if (job === undefined) return { status: 404, fields: { error: 'job not found' } };
        if (operation === 'status') return { status: 200, fields: this.#fieldsOf(job), job };
        this.jobs.cancel(job);
        return { status: 200, fields: { id: jobId, status: 'CANCELLED' }, job };
      },
    });
  }

  #submit(
    endpoint: Endpoint,
    input: JsonObject,
    name: string | undefined,
    response: ServerResponse,
  ): Reply<Plan> {
    if (name !== undefined && this.jobs.knowsKeysMs !== undefined)
      this.#showKeys(response).setHeader(idempotencyKeyHeader, name);
    const job = this.jobs.known(name) ?? this.jobs.accept(endpoint, input, this.#plan(input), name);
    return { status: 200, fields: { id: job.id, status: 'IN_QUEUE' }, job };
  }

  #health(response: ServerResponse): Reply<Plan> {
    const count = (...states: string[]): number =>
      this.jobs.all.filter((job) => states.includes(this.jobs.stateOf(job))).length;
    const jobs = { completed: count('ended'), failed: count('CANCELLED'), retried: 0 };
    const open = { inProgress: count('IN_PROGRESS'), inQueue: count('IN_QUEUE') };
    this.#showKeys(response);
    return { status: 200, fields: { jobs: { ...jobs, ...open }, workers: { ready: 1 } } };
  }

  #showKeys(response: ServerResponse): ServerResponse {
    const { knowsKeysMs } = this.jobs;
    if (knowsKeysMs !== undefined) response.setHeader(idempotencyRetentionHeader, knowsKeysMs / 1_000);
    return response;
  }

  #fieldsOf(job: Job<Plan>): Fields {
    const { id, input, submittedAt, startsAt, completesAt, plan } = job;
    const delayTime = startsAt - submittedAt;
    const status = this.jobs.stateOf(job);
    switch (status) {
      case 'IN_QUEUE':
      case 'CANCELLED':
        return { id, status };
      case 'IN_PROGRESS':
        return { delayTime, id, input, status };
      case 'ended':
        return { delayTime, executionTime: completesAt - startsAt, id, ...plan.end() };
    }
  }
}

const addresses =
  /^\/(?<version>v[12])\/(?<id>[\w-]+)\/(?<operation>run|status|cancel|health)(?:\/(?<jobId>[\w-]+))?$/;

/** As a service does that nothing is wrong with. */
export function answerHonestly({ operation, response, take }: Asked): void {
  if (operation === undefined) return sendJson(response, { error: 'no such operation' }, 404);
  const { status, fields } = take();
  sendJson(response, fields, status);
}

/** A stand-in for the service over HTTP. */
import type { ServerResponse } from 'node:http';
import type { Endpoint } from '../../src/runner/core/attempt.ts';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { idempotencyKeyHeader, idempotencyRetentionHeader } from '../../src/protocol/message-schemas.ts';
import type { Fields } from '../faults/answers.ts';
import { JobServer, type Received, type Understood } from './job-server.ts';
import type { Course, Job } from './service-jobs.ts';

export interface HttpPlan extends Course {
  /** Returns the fields of a status answer after the job has ended. */
  end: () => Fields;
}

type Reply<Plan extends HttpPlan> = ReturnType<Understood<Plan>['take']>;

export class HttpService<Plan extends HttpPlan = HttpPlan> extends JobServer<Plan> {
  /** Returns the number of submissions by scene. */
  submissions(): Map<string, number> {
    const counted = new Map<string, number>();
    for (const { scene } of this.jobs.all) counted.set(scene, (counted.get(scene) ?? 0) + 1);
    return counted;
  }

  protected understand({ path, headers, body }: Received, response: ServerResponse): Understood<Plan> {
    const { version, id = '', operation, jobId = '' } = addresses.exec(path)?.groups ?? {};
    const input = operation === 'run' ? (JSON.parse(body) as { input: JsonObject }).input : {};
    const endpoint: Endpoint = { baseUrl: this.url, id, version: version === 'v1' ? 'v1' : 'v2' };
    const name = headers[idempotencyKeyHeader.toLowerCase()];
    return {
      operation: operation as Understood['operation'],
      jobId,
      input,
      take: () => {
        if (operation === undefined) return { status: 404, fields: { error: 'no such operation' } };
        if (operation === 'run') return this.#submit(endpoint, input, name?.toString(), response);
        if (operation === 'health') return this.#health(response);
        const job = operation === 'status' ? this.jobs.polled(jobId) : this.jobs.find(jobId);
        if (job === undefined) return { status: 404, fields: { error: 'job not found' } };
        if (operation === 'status') return { status: 200, fields: this.#fieldsOf(job), job };
        this.jobs.cancel(job);
        return { status: 200, fields: { id: jobId, status: 'CANCELLED' }, job };
      },
    };
  }

  #submit(
    endpoint: Endpoint,
    input: JsonObject,
    name: string | undefined,
    response: ServerResponse,
  ): Reply<Plan> {
    if (name !== undefined && this.jobs.knowsKeysMs !== undefined)
      this.#showKeys(response).setHeader(idempotencyKeyHeader, name);
    const job = this.jobs.known(input, name) ?? this.jobs.accept(endpoint, input, this.plan(input), name);
    if (job === 'another body')
      return { status: 422, fields: { error: 'the key was used for another body' } };
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

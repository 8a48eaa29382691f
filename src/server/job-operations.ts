/** The operations of the job interface: submission, status, cancellation, health. */
import type { IncomingMessage } from 'node:http';
import { acceptedAnswer, type Answer, cancelAnswer, healthAnswer, refusal, statusAnswer } from './answer.ts';
import type { ApiKeys } from './api-keys.ts';
import type { JobBook } from './job-book.ts';
import { readBody } from './read-body.ts';
import { findRoute, type Route, routeMethods } from './routes.ts';
import { readRunRequest } from './run-request.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface JobOperationsParts {
  keys: ApiKeys;
  book: JobBook;
  /** The workers of each endpoint, by the endpoint's id. */
  pools: ReadonlyMap<string, WorkerPool>;
  maxRequestBytes: number;
}

/** Answers requests; undefined where the client has gone and nobody listens. Throws where the book cannot be used. */
export class JobOperations {
  readonly #parts: JobOperationsParts;

  constructor(parts: JobOperationsParts) {
    this.#parts = parts;
  }

  /** `askForBody` is called before a body is read: a client may wait for that before it sends one. */
  async answer(request: IncomingMessage, askForBody: () => void): Promise<Answer | undefined> {
    if (!this.#parts.keys.accepts(request.headers.authorization))
      return refusal(401, 'the API key is missing or not known here', { 'WWW-Authenticate': 'Bearer' });
    const route = findRoute(request.url ?? '');
    if (route === undefined) return refusal(404, 'not found');
    const method = routeMethods[route.operation];
    if (request.method !== method)
      return refusal(405, `${route.operation} is asked for by ${method}`, { Allow: method });
    const pool = this.#parts.pools.get(route.endpointId);
    if (pool === undefined) return refusal(404, 'endpoint not found');
    switch (route.operation) {
      case 'run':
        return await this.#run(route, request, pool, askForBody);
      case 'status':
        return this.#status(route);
      case 'cancel':
        return await this.#cancel(route, pool);
      case 'health':
        return healthAnswer(this.#parts.book.tally(route.endpointId), pool);
    }
  }

  async #run(
    { endpointId }: Route,
    request: IncomingMessage,
    pool: WorkerPool,
    askForBody: () => void,
  ): Promise<Answer | undefined> {
    const body = await readBody(request, this.#parts.maxRequestBytes, askForBody);
    if (body.kind === 'gone') return undefined;
    if (body.kind === 'too-large') return { ...refusal(400, 'exceeded max body size'), isBodyUnread: true };
    const submission = readRunRequest(body.bytes);
    if (submission.kind === 'refused') return refusal(400, submission.why);
    const id = await this.#parts.book.accept(endpointId, submission.input);
    pool.wake();
    return acceptedAnswer(id);
  }

  #status({ endpointId, jobId }: Route & { jobId: string }): Answer {
    const job = this.#parts.book.find(endpointId, jobId);
    return job === undefined ? jobNotFound() : statusAnswer(job);
  }

  async #cancel({ endpointId, jobId }: Route & { jobId: string }, pool: WorkerPool): Promise<Answer> {
    const state = await this.#parts.book.cancel(endpointId, jobId);
    if (state === undefined) return jobNotFound();
    if (state === 'CANCELLED') pool.abandon(jobId);
    return cancelAnswer(jobId, state);
  }
}

function jobNotFound(): Answer {
  return refusal(404, 'job not found');
}

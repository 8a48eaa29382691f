/** Jobs for the page, and what it has done to one. */
import type { Endpoints } from '../endpoints.ts';
import { type Answer, jsonAnswer, refusal } from '../http/answer.ts';
import type { JobOperations } from '../job-operations.ts';
import type { JobBook } from '../jobs/job-book.ts';
import type { KeyBook } from '../keys/key-book.ts';
import type { ConsoleRequest } from './console-request.ts';
import { JobViews } from './job-views.ts';

export interface JobRequestsParts {
  keys: KeyBook;
  book: JobBook;
  endpoints: Endpoints;
  jobs: JobOperations;
}

export class JobRequests {
  readonly #parts: JobRequestsParts;
  readonly #views: JobViews;

  constructor(parts: JobRequestsParts) {
    this.#parts = parts;
    this.#views = new JobViews(parts.book);
  }

  list({ query }: ConsoleRequest): Answer {
    const asked = {
      endpoint: query.get('endpoint') || null,
      status: query.get('status') || null,
      before: query.get('before') || null,
    };
    return jsonAnswer(this.#views.list(asked, this.#keyNames()));
  }

  async show({ id }: ConsoleRequest): Promise<Answer> {
    const { endpoints } = this.#parts;
    const job = await this.#views.find(
      id,
      this.#keyNames(),
      (row) => endpoints.find(row.endpointId)?.logOf(row.id) ?? [],
    );
    return job === undefined ? refusal(404, 'job not found') : jsonAnswer(job);
  }

  async act(what: 'cancel' | 'retry', { id }: ConsoleRequest): Promise<Answer> {
    const endpointId = this.#views.endpointOf(id);
    if (endpointId === undefined) return refusal(404, 'job not found');
    if (this.#parts.endpoints.find(endpointId) === undefined)
      return refusal(409, `the endpoint ${endpointId} of this job is no more`);
    return await this.#parts.jobs[what](endpointId, id);
  }

  #keyNames(): (keyId: string) => string | null {
    const names = new Map(this.#parts.keys.list().map(({ id, name }) => [id, name]));
    return (keyId) => names.get(keyId) ?? (keyId === 'none' ? null : keyId);
  }
}

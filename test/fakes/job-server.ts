/**
 * Common base of the stand-ins for services: jobs, an HTTP server, and a function with which a test answers requests
 * itself.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { text } from 'node:stream/consumers';
import type { JsonObject } from '../../src/lib/text/json.ts';
import { sendJson, type Fields } from '../faults/answers.ts';
import { Jobs, type Course, type Job, type JobsOptions } from './service-jobs.ts';

export interface Received {
  method: string;
  /** Path with the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A request, in terms that are the same for all services. */
export interface Understood<Plan extends Course = Course> {
  /** Undefined for any other URL. `health` is a request that shows that the service answers without creating a job. */
  operation: 'run' | 'status' | 'result' | 'cancel' | 'list' | 'health' | undefined;
  jobId: string;
  /** Input of a submission. */
  input: JsonObject;
  /** Carries out the request and returns the regular answer. */
  take: () => Reply<Plan>;
}

interface Reply<Plan extends Course> {
  status: number;
  fields: Fields;
  /** Job that the reply is about. */
  job?: Job<Plan> | undefined;
}

export interface Asked<Plan extends Course = Course> extends Understood<Plan> {
  path: string;
  /** Authorization header, unchanged. */
  key: string;
  response: ServerResponse;
}

export type Meet<Plan extends Course = Course> = (asked: Asked<Plan>) => void | Promise<void>;

export interface JobServerOptions<Plan extends Course> extends Partial<JobsOptions> {
  /** Decides how a newly submitted job goes. */
  plan: (input: JsonObject) => Plan;
  /** Answers requests. Default: the stand-in answers. */
  meet?: Meet<Plan>;
}

export abstract class JobServer<Plan extends Course = Course> {
  /** Set by the code that makes the server listen. */
  url = '';
  meet: Meet<Plan>;
  readonly jobs: Jobs<Plan>;
  readonly requests: { method: string; path: string; key: string }[] = [];
  readonly server: Server;
  protected readonly plan: (input: JsonObject) => Plan;

  constructor({ plan, meet = answerHonestly, ...options }: JobServerOptions<Plan>) {
    this.plan = plan;
    this.meet = meet;
    this.jobs = new Jobs({ now: Date.now, ...options });
    this.server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        // A killed client breaks off in the middle of a request. Any other error is a bug of the test.
        const isBroken = !request.complete || response.destroyed || response.socket?.destroyed !== false;
        response.destroy();
        if (!isBroken) throw error;
      });
    });
  }

  protected abstract understand(request: Received, response: ServerResponse): Understood<Plan>;

  /** Inputs of all accepted submissions. */
  get inputs(): JsonObject[] {
    return this.jobs.all.map(({ input }) => input);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '', headers } = request;
    const key = headers.authorization ?? '';
    this.requests.push({ method, path, key });
    const body = await text(request);
    const understood = this.understand({ method, path, headers, body }, response);
    await this.meet({ ...understood, path, key, response });
  }
}

/** Sends the regular answer. */
export function answerHonestly({ response, take }: Asked): void {
  const { status, fields } = take();
  sendJson(response, fields, status);
}

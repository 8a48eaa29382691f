/** What the stand-ins of services have in common: the jobs, a server, and that a test meets any request in a way of its own. */
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
  /** With the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** What a request asks for, in the words of its service. */
export interface Understood<Plan extends Course = Course> {
  /** None for any other address; `health`: what tells that the service is there, without a job. */
  operation: 'run' | 'status' | 'result' | 'cancel' | 'list' | 'health' | undefined;
  jobId: string;
  /** Of a submission. */
  input: JsonObject;
  /** Does what is asked for, and gives the honest answer. */
  take: () => Reply<Plan>;
}

interface Reply<Plan extends Course> {
  status: number;
  fields: Fields;
  /** That it is about. */
  job?: Job<Plan> | undefined;
}

export interface Asked<Plan extends Course = Course> extends Understood<Plan> {
  path: string;
  /** As it came, `Bearer` and all. */
  key: string;
  response: ServerResponse;
}

export type Meet<Plan extends Course = Course> = (asked: Asked<Plan>) => void | Promise<void>;

export interface JobServerOptions<Plan extends Course> extends Partial<JobsOptions> {
  /** How a job goes that is submitted now. */
  plan: (input: JsonObject) => Plan;
  /** Who answers; the stand-in itself, where it is not given. */
  meet?: Meet<Plan>;
}

export abstract class JobServer<Plan extends Course = Course> {
  /** Set by whoever has it listen. */
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
        // Whoever is killed breaks off in the midst of a request; all else is a fault of the test.
        const isBroken = !request.complete || response.destroyed || response.socket?.destroyed !== false;
        response.destroy();
        if (!isBroken) throw error;
      });
    });
  }

  protected abstract understand(request: Received, response: ServerResponse): Understood<Plan>;

  /** Of all submissions that were taken. */
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

/** As a service does that nothing is wrong with. */
export function answerHonestly({ response, take }: Asked): void {
  const { status, fields } = take();
  sendJson(response, fields, status);
}

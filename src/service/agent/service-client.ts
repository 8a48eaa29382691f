/** The service as a worker on another machine asks it: jobs, results, parts, pings and reports. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { memberText } from '../../protocol/member-text.ts';
import type { WorkerReport } from '../pool/worker-report.ts';
import type { WorkloadJob } from '../workloads/workload.ts';

export interface ServiceAddress {
  /** Without a slash at the end. */
  url: string;
  endpointId: string;
  workerId: string;
  workerKey: string;
}

/** The service will have nothing of this worker: its key, its endpoint or its id is not good there. */
export class RefusedForGood extends Error {}

interface Answer {
  status: number;
  text: string;
}

/** The service holds a request open for 60 s. */
const answerTimeoutMs = 90_000;
const maxPauseMs = 30_000;

export class ServiceClient {
  readonly #address: ServiceAddress;
  readonly #onProblem: (text: string) => void;
  readonly #connections = new Agent({
    connect: { timeout: 10_000 },
    headersTimeout: answerTimeoutMs,
    bodyTimeout: answerTimeoutMs,
  });
  #isAway = false;

  /** `onProblem` is told once when the service does not answer, and once when it does again. */
  constructor(address: ServiceAddress, onProblem: (text: string) => void) {
    this.#address = address;
    this.#onProblem = onProblem;
  }

  /** Waits for a job, for a minute at most. Rejects when `signal` aborts. */
  async take(signal: AbortSignal): Promise<WorkloadJob | undefined> {
    const { status, text } = await this.#askUntilAnswered('GET', 'job-take', '', undefined, signal);
    if (status !== 200 || text === '') return undefined;
    const { id, input } = JSON.parse(text) as { id: string; input: Record<string, unknown> };
    const s3Config = memberText(text, 's3Config') ?? null;
    return { id, input, inputText: memberText(text, 'input') ?? '{}', s3Config };
  }

  /** Delivers what came of a job, however long the service is away; `body` is JSON. False where nobody wants it any more. */
  async finish(jobId: string, body: string, signal: AbortSignal): Promise<boolean> {
    const { status, text } = await this.#askUntilAnswered('POST', 'job-done', `/${jobId}`, body, signal);
    return status === 200 && (JSON.parse(text) as { accepted?: boolean }).accepted === true;
  }

  /** A message of progress, or a part of a stream; one that does not arrive is not repeated. */
  async send(operation: 'job-done' | 'job-stream', jobId: string, body: string): Promise<void> {
    await this.#ask('POST', operation, `/${jobId}`, body).catch(() => undefined);
  }

  async ping(jobId: string): Promise<void> {
    await this.#ask('GET', 'ping', `?job_id=${jobId}`).catch(() => undefined);
  }

  /** Whether it is to end, what the service has it at, and what the endpoint runs, as `--allow` has it; null for what is not said. */
  async report(
    report: Partial<WorkerReport>,
    signal: AbortSignal,
  ): Promise<{ drain: boolean; jobs: string[]; runs: string | null }> {
    const body = JSON.stringify(report);
    const { status, text } = await this.#askUntilAnswered('POST', 'report', '', body, signal);
    if (status !== 200) throw new Error(`the service refused a report (${status}): ${text.slice(0, 200)}`);
    return { runs: null, ...(JSON.parse(text) as { drain: boolean; jobs: string[] }) };
  }

  /** Waits until a job is not wanted any more, for a minute at most; their ids. */
  async toStop(signal: AbortSignal): Promise<string[]> {
    const { status, text } = await this.#askUntilAnswered('GET', 'job-stop', '', undefined, signal);
    return status === 200 && text !== '' ? (JSON.parse(text) as { jobsToStop: string[] }).jobsToStop : [];
  }

  async close(): Promise<void> {
    await this.#connections.destroy();
  }

  /** Goes on while the service is down, starts anew or has too much to do. Throws `RefusedForGood`. */
  async #askUntilAnswered(
    method: 'GET' | 'POST',
    operation: string,
    rest: string,
    body: string | undefined,
    signal: AbortSignal,
  ): Promise<Answer> {
    for (let pauseMs = 250; ; pauseMs = Math.min(maxPauseMs, pauseMs * 2)) {
      const answer = await this.#ask(method, operation, rest, body, signal).catch((error: unknown) => {
        signal.throwIfAborted();
        return { status: 0, text: error instanceof Error ? error.message : String(error) };
      });
      const { status, text } = answer;
      if (status === 401 || status === 403 || (status === 404 && text.includes('endpoint not found')))
        throw new RefusedForGood(refusalIn(answer));
      if (status !== 0 && status < 500 && status !== 409 && status !== 429) {
        this.#noteAnswered();
        return answer;
      }
      this.#noteAway(answer);
      // Many workers come back at once when a service does.
      await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal });
    }
  }

  async #ask(
    method: 'GET' | 'POST',
    operation: string,
    rest: string,
    body?: string,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const { url, endpointId, workerId, workerKey } = this.#address;
    const path = `/v2/${encodeURIComponent(endpointId)}/${operation}/${encodeURIComponent(workerId)}${rest}`;
    const answer = await request(url + path, {
      method,
      dispatcher: this.#connections,
      headers: { Authorization: `Bearer ${workerKey}`, ...(body !== undefined && jsonType) },
      ...(body !== undefined && { body }),
      ...(signal !== undefined && { signal }),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  #noteAway(answer: Answer): void {
    if (!this.#isAway) this.#onProblem(`the service does not answer (${refusalIn(answer)}); trying again`);
    this.#isAway = true;
  }

  #noteAnswered(): void {
    if (this.#isAway) this.#onProblem('the service answers again');
    this.#isAway = false;
  }
}

const jsonType = { 'Content-Type': 'application/json' };

/** In the service's words, where it has some. */
function refusalIn({ status, text }: Answer): string {
  if (status === 0) return text;
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === 'string') return `${status}: ${error}`;
  } catch {
    // A proxy's page, for instance.
  }
  return `status ${status}`;
}

/** Operations of workers that pull jobs: taking jobs, returning results and parts, reports and pings. */
import { isUtf8 } from 'node:buffer';
import { objectIn } from '../../lib/text/json.ts';
import { maxJsonDepth, scanJson, type ScannedJson, valueOrBeginning } from '../../lib/text/scan-json.ts';
import { type BodyRoom, type ClientTurns, RateLimit } from './quotas.ts';
import type { OperationOf } from '../../protocol/operations.ts';
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import { workloadOf } from '../workloads/workload-of.ts';
import { jobIdPattern } from '../../protocol/paths.ts';
import {
  type AnswerOperation,
  type OperationHandlers,
  type RequestContext,
  bodyOf,
} from './request-context.ts';
import type { Text } from '../../lib/files/filed-text.ts';
import { type HttpResponse, emptyResponse, jsonResponse, refusal } from '../../lib/http/http-response.ts';
import type { JobStore } from '../jobs/job-store.ts';
import type { JobResults, WorkerError } from '../jobs/job-work.ts';
import { waitUntilFound } from '../jobs/job-signals.ts';
import type { TakenJob } from '../jobs/job-statements.ts';
import { pullingWorker } from '../model/job.ts';
import { readWorkerReport } from '../workers/remote-worker.ts';
import { joinTexts } from '../jobs/job-reads.ts';

/** Time for which a request for jobs is held open. Workers give up after 90 s. */
const heldOpenMs = 60_000;

const largestBatch = 1_000;

/** Enough for a thousand log lines of average length. */
const maxReportBytes = 1024 * 1024;

/** Maximum size of all inputs in a batch after the first one, because a response must fit into memory. */
const maxBatchBytes = 16 * 1024 * 1024;

/** Rate limit of messages about refused results, for each key. */
const refusedLines = { requests: 5, withinMs: 60_000 };

export class WorkerOperations {
  readonly #parts;

  readonly handlers: OperationHandlers<OperationOf<'worker'>> = {
    'job-take': this.#noted((context) =>
      this.#whileHeld(context, true, async () => {
        const [job] = await this.#take(context, 1);
        return job === undefined ? emptyResponse : { status: 200, body: joinTexts(takenParts(job)) };
      }),
    ),
    'job-take-batch': this.#noted((context) =>
      this.#whileHeld(context, true, async () => {
        const jobs = await this.#take(context, batchSize(context.route.query.get('batch_size')));
        return jobs.length === 0
          ? emptyResponse
          : { status: 200, body: joinTexts(['[', ...jobs.flatMap(listedParts), ']']) };
      }),
    ),
    'job-done': this.#noted(async (context) =>
      this.#told(context, await this.#whileArriving(context, () => this.#done(context))),
    ),
    'job-stream': this.#noted((context) => this.#whileArriving(context, () => this.#addPart(context))),
    'job-stop': this.#noted((context) => this.#whileHeld(context, false, () => this.#stop(context))),
    report: this.#noted((context) =>
      this.#parts.bodies.use(context, maxReportBytes, () => this.#report(context)),
    ),
    ping: this.#noted(async (context) => {
      const { endpoint, route } = context;
      endpoint.remote.keepAlive(workerIn(context), idsIn(route.query.get('job_id')));
      return jsonResponse({});
    }),
  };

  readonly #lines = new RateLimit(refusedLines);
  /** Number of refused results since the latest message about one, by key. */
  readonly #untold = new Map<string, number>();
  readonly #tooManyValues: HttpResponse;

  constructor(parts: {
    store: JobStore;
    results: JobResults;
    maxResultBytes: number;
    maxValues: number;
    bodies: BodyRoom;
    turns: ClientTurns;
    onProblem: (text: string) => void;
  }) {
    this.#parts = parts;
    const why = `the body has more than ${parts.maxValues} values, or ${maxJsonDepth} levels`;
    this.#tooManyValues = { ...refusal(400, why), isTooLarge: true };
  }

  /** Wraps an operation: records contact with the worker, or refuses it if there are too many workers. */
  #noted(work: AnswerOperation): AnswerOperation {
    return async (context) => {
      const { endpoint, route } = context;
      const { operation } = route;
      if (operation.startsWith('job-')) this.#parts.turns.noteWorker();
      if (route.workerId === '') return refusal(404, 'no worker has this id');
      if (!endpoint.remote.noteContact(workerIn(context), route.query.get('gpu'), operation !== 'ping'))
        return refusal(429, 'this endpoint has too many workers, or this key has', { 'Retry-After': '60' });
      return await work(context);
    };
  }

  async #whileArriving(
    context: RequestContext,
    work: () => Promise<HttpResponse | undefined>,
  ): Promise<HttpResponse | undefined> {
    const { endpoint, route } = context;
    const { bodies, maxResultBytes } = this.#parts;
    return await endpoint.remote.whileArriving(workerIn(context), route.jobId, () =>
      bodies.use(context, maxResultBytes, work),
    );
  }

  /** Marks the worker as waiting during `work`. Refuses a second one with this id: each would get the other's jobs. */
  async #whileHeld(
    context: RequestContext,
    isTaking: boolean,
    work: () => Promise<HttpResponse>,
  ): Promise<HttpResponse> {
    const { endpoint, route, gone } = context;
    const release = endpoint.remote.hold(workerIn(context), isTaking);
    if (release === undefined)
      return refusal(
        409,
        `another worker with the id ${route.workerId} waits for jobs here; give each worker an id of its own`,
      );
    try {
      return await work();
    } finally {
      release(gone.aborted);
    }
  }

  async #take(context: RequestContext, max: number): Promise<TakenJob[]> {
    const { endpoint, gone } = context;
    const workerId = workerIn(context);
    const { store } = this.#parts;
    const { remote } = endpoint;
    const takers = Array.from({ length: max }, () => ({ workerId, isPulled: true }));
    const waiting = { waitMs: heldOpenMs, signal: gone };
    // A worker that asks after the stop is held until its connection ends, so that it does not poll.
    const wasStopped = remote.isStopped;
    const jobs = await waitUntilFound(store.signals, [`queued ${endpoint.id}`], waiting, async () => {
      if (remote.isStopped) return wasStopped ? undefined : [];
      if (!context.isKeyGood()) return [];
      if (remote.isDraining(workerId)) return undefined;
      const taken = await store.work.take(endpoint.id, takers, maxBatchBytes);
      return taken.length === 0 ? undefined : taken;
    });
    if (jobs === undefined) return [];
    if (!gone.aborted && !remote.isStopped) {
      endpoint.assign(
        workerId,
        jobs.map(({ id }) => id),
      );
      return jobs;
    }
    for (const job of jobs)
      await store.work.requeue(job, 'its worker disconnected before it got the job', { isCounted: false });
    return [];
  }

  async #done(context: RequestContext): Promise<HttpResponse | undefined> {
    const { endpoint, route } = context;
    const { jobId } = route;
    const workerId = workerIn(context);
    if (!this.#parts.store.reads.has(endpoint.id, jobId)) return jobNotFound;
    const body = await this.#objectOf(context, ['output', 'error', 'status', 'stopPod']);
    if (body === undefined || 'status' in body) {
      if (body?.isTooLarge) await this.#failTooLarge(context, body);
      return body;
    }
    const { members } = body;
    if (!members.has('output') && !members.has('error') && !saysNothing(body))
      return refusal(400, 'the body has neither "output" nor "error"');
    const job = { id: jobId, workerId };
    const output = members.get('output') ?? 'null';
    // Workers report progress through the same operation as results.
    if (valueOf(members.get('status')) === 'IN_PROGRESS') {
      endpoint.remote.noteSign(workerId, jobId);
      return jsonResponse({ accepted: await this.#parts.store.work.setProgress(job, output) });
    }
    const log = endpoint.logOf(jobId).join('\n') || undefined;
    const error = workerError(members.get('error'));
    const { results } = this.#parts;
    const isAccepted =
      error === undefined
        ? await results.complete(job, output, log)
        : await results.fail(job, { ...error, output }, log);
    endpoint.release(workerId, jobId);
    if (valueOf(members.get('stopPod')) === true) endpoint.restart(workerId);
    return jsonResponse({ accepted: isAccepted });
  }

  /** Reports a result that is still wanted but was refused or did not arrive completely. Returns `answer`. */
  #told(context: RequestContext, answer: HttpResponse | undefined): HttpResponse | undefined {
    const { endpoint, route, keyId } = context;
    const { store, onProblem } = this.#parts;
    const refused = answer ?? refusedWith(context.gone);
    if (refused !== undefined && refused.status < 400) return answer;
    if (!store.reads.isInProgress({ id: route.jobId, workerId: workerIn(context) })) return answer;
    const untold = this.#untold.get(keyId) ?? 0;
    if (this.#lines.take(keyId, performance.now()) > 0) {
      this.#untold.set(keyId, untold + 1);
      return answer;
    }
    this.#untold.delete(keyId);
    const more = untold === 0 ? '' : `; ${untold} more were refused since the last line about this key`;
    const why =
      refused === undefined ? 'the connection ended before the whole answer had arrived' : whyIn(refused);
    onProblem(
      `the result of worker ${route.workerId} for job ${route.jobId} at ${endpoint.id} was not accepted: ${why}${more}`,
    );
    return answer;
  }

  /** Fails the job of a result that is too large, because the worker drops a refused result. */
  async #failTooLarge(context: RequestContext, refused: HttpResponse): Promise<void> {
    const { endpoint, route } = context;
    const { jobId } = route;
    const workerId = workerIn(context);
    const { results, maxValues } = this.#parts;
    const job = { id: jobId, workerId };
    await (refused === this.#tooManyValues
      ? results.fail(job, {
          text: `the worker's output has more than ${maxValues} values, or ${maxJsonDepth} levels`,
        })
      : results.failTooLarge(job));
    endpoint.release(workerId, jobId);
  }

  async #addPart(context: RequestContext): Promise<HttpResponse | undefined> {
    const { endpoint, route } = context;
    const { jobId } = route;
    const workerId = workerIn(context);
    if (!this.#parts.store.reads.has(endpoint.id, jobId)) return jobNotFound;
    const body = await this.#objectOf(context, ['output']);
    if (body === undefined || 'status' in body) return body;
    const output = body.members.get('output');
    if (output === undefined) return refusal(400, 'the body is not a JSON object with "output"');
    endpoint.remote.noteSign(workerId, jobId);
    return jsonResponse({ accepted: await this.#parts.store.streams.add({ id: jobId, workerId }, output) });
  }

  async #report(context: RequestContext): Promise<HttpResponse | undefined> {
    const { endpoint } = context;
    const body = await bodyOf(context, maxReportBytes);
    if (!Buffer.isBuffer(body)) return body;
    if (!isUtf8(body)) return notUtf8;
    const report = readWorkerReport(objectIn(body.toString()));
    if ('problem' in report) return refusal(400, report.problem);
    const workerId = workerIn(context);
    const jobs = await endpoint.remote.report(workerId, report);
    const drain = endpoint.remote.isDraining(workerId);
    if (report.state === 'leaving') await endpoint.leave(workerId);
    return jsonResponse({ drain, jobs, runs: nameElsewhere(endpoint.settings) });
  }

  async #stop(context: RequestContext): Promise<HttpResponse> {
    const { endpoint, gone } = context;
    const workerId = workerIn(context);
    const { signals } = this.#parts.store;
    const { remote } = endpoint;
    const waiting = { waitMs: heldOpenMs, signal: gone };
    const wasStopped = remote.isStopped;
    const ids = await waitUntilFound(signals, [`stopping ${workerId}`], waiting, () =>
      (remote.isStopped && !wasStopped) || !context.isKeyGood() ? [] : remote.takeUnwanted(workerId),
    );
    return ids === undefined || ids.length === 0 ? emptyResponse : jsonResponse({ jobsToStop: ids });
  }

  /** Returns the named members of the body as text. Ignores the content type, because workers send that of a form. */
  async #objectOf(
    context: RequestContext,
    names: readonly string[],
  ): Promise<ScannedObject | HttpResponse | undefined> {
    const { maxResultBytes, maxValues } = this.#parts;
    const body = await bodyOf(context, maxResultBytes);
    if (!Buffer.isBuffer(body)) return body;
    const scanned = await scanJson(body, names, { maxDepth: maxJsonDepth, maxValues });
    if (scanned.kind === 'object') return scanned;
    if (scanned.kind === 'not UTF-8') return notUtf8;
    if (scanned.kind === 'many' || scanned.kind === 'deep') return this.#tooManyValues;
    return refusal(400, 'the body is not a JSON object');
  }
}

/** Returns the `--allow` value for workers elsewhere; null if the endpoint's workload runs only on this machine. */
function nameElsewhere(settings: EndpointSettings): string | null {
  return workloadOf(settings).nameElsewhere?.(settings) ?? null;
}

function workerIn({ route, keyId }: RequestContext): string {
  return pullingWorker(route.workerId, keyId);
}

/** Answer for unknown jobs. Their results are not read, because they may be long. */
const jobNotFound = refusal(404, 'job not found');

/** Returns the refusal that was sent while a result arrived; undefined if the worker disconnected by itself. */
function refusedWith({ reason }: AbortSignal): HttpResponse | undefined {
  const given: unknown = reason;
  return typeof given === 'object' && given !== null && 'status' in given
    ? (given as HttpResponse)
    : undefined;
}

function whyIn({ status, body }: HttpResponse): string {
  const { error } = JSON.parse(typeof body === 'string' ? body : '{}') as { error?: string };
  return `${error ?? 'refused'} (${status})`;
}

function listedParts(job: TakenJob, index: number): Text[] {
  return index === 0 ? takenParts(job) : [',', ...takenParts(job)];
}

function takenParts({ id, input, webhook, s3Config }: TakenJob): Text[] {
  const told = webhook === null ? '' : `,"webhook":${JSON.stringify(webhook)}`;
  const bucket = s3Config === null ? '' : `,"s3Config":${s3Config}`;
  return [`{"id":"${id}","input":`, input, `${told}${bucket}}`];
}

type ScannedObject = Extract<ScannedJson, { kind: 'object' }>;

const notUtf8 = refusal(400, 'the body is not UTF-8');

/** True for an empty result, possibly with `stopPod`. SDKs send it if a handler returns an empty object. */
function saysNothing({ members, hasOthers }: ScannedObject): boolean {
  return !hasOthers && [...members.keys()].every((name) => name === 'stopPod');
}

function valueOf(json: Buffer | undefined): unknown {
  return json && valueOrBeginning(json);
}

/** Returns the error of a result; undefined if it is missing, null or empty. */
function workerError(json: Buffer | undefined): WorkerError | undefined {
  const value = valueOf(json);
  if (json === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return { text: value };
  const text = json.toString();
  return { text, value: text };
}

function batchSize(text: string | null): number {
  const size = Number(text ?? 1);
  return Number.isSafeInteger(size) && size >= 1 ? Math.min(size, largestBatch) : 1;
}

function idsIn(text: string | null): string[] {
  return (text ?? '').split(',').filter((id) => jobIdPattern.test(id));
}

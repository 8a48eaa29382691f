/**
 * Starts a service for a test, with a temporary folder, a client, and a workload whose runs end when the test
 * says.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { JobStore, type JobStoreOptions } from '../../src/service/jobs/job-store.ts';
import type { JobTerms } from '../../src/service/model/job.ts';
import { type Service, type ServiceOptions, startService } from '../../src/service/instance/start-service.ts';
import type { Workload } from '../../src/service/workloads/workload-definition.ts';
import { inProcessWorkload, type ReadJob } from './in-process-workload.ts';
import type { AnswerOf } from '../../src/protocol/operations.ts';
import { runPath, statusPath, type Version } from '../../src/protocol/paths.ts';

export const key = 'key-of-the-tests';
export const endpointId = 'scene-renderer';

/** A run of the held workload. */
interface HeldRun {
  job: ReadJob;
  signal: AbortSignal;
  complete(output: unknown): void;
  fail(reason: unknown): void;
}

/** A workload whose runs end only when the test says so. `next` returns the next run to start. */
class HeldWorkload {
  readonly runs: HeldRun[] = [];
  #handedOut = 0;
  #onRun: (() => void) | undefined;

  readonly workload = inProcessWorkload('held', (job, { signal }) => this.#run(job, signal));

  #run(job: ReadJob, signal: AbortSignal): Promise<unknown> {
    return new Promise((complete, fail) => {
      this.runs.push({ job, signal, complete, fail });
      this.#onRun?.();
    });
  }

  async next(): Promise<HeldRun> {
    const index = this.#handedOut++;
    for (;;) {
      const run = this.runs[index];
      if (run !== undefined) return run;
      await new Promise<void>((resolve) => {
        this.#onRun = resolve;
      });
    }
  }
}

/** Creates a workload whose jobs end at once with `outputOf(job)`. */
export function instantWorkload(outputOf: (job: ReadJob) => unknown): Workload {
  return inProcessWorkload('instant', (job) => new Promise((resolve) => resolve(outputOf(job))));
}

export interface Reply {
  status: number;
  headers: Headers;
  text: string;
  json: unknown;
}

export interface TestService {
  url: string;
  dataDir: string;
  held: HeldWorkload;
  troubles: string[];
  close: () => Promise<void>;
}

export type TestServiceOptions = Partial<ServiceOptions> & { workers?: number; workload?: Workload };

/** Starts a service, which is closed at the end of the test. */
export async function openService(options: TestServiceOptions = {}): Promise<TestService> {
  const dataDir = options.dataDir ?? (await makeDataDir());
  const held = new HeldWorkload();
  const troubles: string[] = [];
  const { workers = 1, workload = held.workload, ...rest } = options;
  const service: Service = await startService({
    keys: [key],
    endpoints: [endpointSettings({ id: endpointId, workers, quickStart: true })],
    workloadOf: () => workload,
    onProblem: (text) => troubles.push(text),
    ...rest,
    dataDir,
  });
  onTestFinished(() => service.close());
  return { url: service.url, dataDir, held, troubles, close: () => service.close() };
}

/** Creates a folder, which is removed at the end of the test, after its services were closed. */
export async function makeDataDir(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'nightrender-service-'));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  return dataDir;
}

export async function ask(url: string, path: string, init: RequestInit = {}): Promise<Reply> {
  const headers = { Authorization: `Bearer ${key}`, ...(init.headers as Record<string, string> | undefined) };
  const response = await fetch(url + path, { ...init, headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) as unknown };
}

export function post(
  url: string,
  body: RequestInit['body'],
  path = runPath('v2', endpointId),
): Promise<Reply> {
  return ask(url, path, {
    method: 'POST',
    body: body ?? null,
    headers: { 'Content-Type': 'application/json' },
  });
}

/** Submits a job and returns its id. */
export async function submit(
  url: string,
  input: Record<string, unknown>,
  version: Version = 'v2',
  endpoint = endpointId,
): Promise<string> {
  const reply = await post(url, JSON.stringify({ input }), runPath(version, endpoint));
  if (reply.status !== 200) throw new Error(`submission was answered ${reply.status} ${reply.text}`);
  return (reply.json as AnswerOf<'run'>).id;
}

export function askStatus(url: string, id: string, version: Version = 'v2'): Promise<Reply> {
  return ask(url, statusPath(version, endpointId, id));
}

/** Opens a job store without a service. It is closed at the end of the test. */
export async function openStore(options: Partial<JobStoreOptions> = {}, dir?: string): Promise<JobStore> {
  const path = join(dir ?? (await makeDataDir()), 'service.sqlite');
  const store = new JobStore(path, { retentionMs: 1e6, now: () => Date.now(), ...options });
  onTestFinished(() => {
    if (store.file.db.open) store.close();
  });
  return store;
}

/** Adds a job to the store and returns its id. */
export async function accepted(
  store: JobStore,
  ...[endpoint, input, terms]: [endpoint: string, input: string, terms?: Partial<JobTerms>]
): Promise<string> {
  const job = await store.accept(endpoint, input, terms);
  if (typeof job !== 'object') throw new Error('a queue without a bound is full');
  return job.id;
}

/** Polls until the job has this status. */
export async function statusOnce(url: string, id: string, status: string): Promise<AnswerOf<'status'>> {
  for (;;) {
    const reply = await askStatus(url, id);
    const job = reply.json as AnswerOf<'status'>;
    if (job.status === status) return job;
    if (reply.status !== 200) throw new Error(`status was answered ${reply.status} ${reply.text}`);
  }
}

/** Returns the bytes of all files of a folder, concatenated. No service may have the files open. */
export async function bytesIn(dataDir: string): Promise<Buffer> {
  return Buffer.concat(await Promise.all((await filesIn(dataDir)).map((path) => readFile(path))));
}

/**
 * Like `bytesIn`, but for files that a service has open. Another process reads them, because this one would
 * lose its file locks by reading them.
 */
export async function bytesInUse(dataDir: string): Promise<string> {
  const paths = await filesIn(dataDir);
  const options = { encoding: 'latin1', maxBuffer: 2 ** 30 } as const;
  // A file may have been deleted since it was listed.
  const whatIsThere = ['-c', 'cat "$@" 2>/dev/null || true', 'sh', ...paths];
  return (await promisify(execFile)('sh', whatIsThere, options)).stdout;
}

async function filesIn(dataDir: string): Promise<string[]> {
  const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/**
 * Workers that pull jobs, with requests as public workers send them: the key without `Bearer`, and results as
 * form content.
 */
import { join } from 'node:path';
import { KeyStore } from '../../src/service/keys/key-store.ts';
import { endpointId } from './service-harness.ts';

/** Adds a key in the data folder of a service, as `nightrender keys` does. */
export function addKey(dataDir: string, kind: string, endpoints: string[] | null = null): string {
  return inKeys(
    dataDir,
    (store) => store.add({ name: `${kind}-${store.list().length}`, kind, endpoints }).key,
  );
}

/** Revokes a key in the same way. */
export function revokeKey(dataDir: string, name: string): void {
  inKeys(dataDir, (store) => store.revoke(name));
}

function inKeys<T>(dataDir: string, work: (store: KeyStore) => T): T {
  const store = new KeyStore(join(dataDir, 'keys.sqlite'), { now: Date.now });
  try {
    return work(store);
  } finally {
    store.close();
  }
}

export interface PullReply {
  status: number;
  type: string | null;
  text: string;
}

export class PullingWorker {
  readonly #base: string;
  readonly #key: string;
  readonly id: string;

  constructor(url: string, key: string, id: string, endpoint = endpointId) {
    this.#base = `${url}/v2/${endpoint}`;
    this.#key = key;
    this.id = id;
  }

  async ask(path: string, init: RequestInit = {}): Promise<PullReply> {
    const headers = { Authorization: this.#key, ...(init.headers as Record<string, string> | undefined) };
    const reply = await fetch(this.#base + path, { ...init, headers });
    return { status: reply.status, type: reply.headers.get('content-type'), text: await reply.text() };
  }

  take(signal: AbortSignal | null = null): Promise<PullReply> {
    return this.ask(`/job-take/${this.id}?gpu=TEST&job_in_progress=0`, { signal });
  }

  /** Requests a job. Returns its id, or the answer if there is none. */
  async taken(): Promise<string> {
    const { status, text } = await this.take();
    return status === 200 ? (JSON.parse(text) as { id: string }).id : `${status} ${text}`;
  }

  takeBatch(size: number): Promise<PullReply> {
    return this.ask(`/job-take-batch/${this.id}?gpu=TEST&job_in_progress=0&batch_size=${size}`);
  }

  /** Sends a result. `body` is JSON text. */
  done(jobId: string, body: string): Promise<PullReply> {
    return this.#post(`/job-done/${this.id}/${jobId}?gpu=TEST&isStream=false`, jobId, body);
  }

  part(jobId: string, body: string): Promise<PullReply> {
    return this.#post(`/job-stream/${this.id}/${jobId}?gpu=TEST&isStream=true`, jobId, body);
  }

  ping(...jobIds: string[]): Promise<PullReply> {
    const at = jobIds.length === 0 ? '' : `job_id=${jobIds.join('%2C')}&`;
    return this.ask(`/ping/${this.id}?${at}runpod_version=1`);
  }

  /** Sends a report, and returns the answer, which says whether to drain. */
  async report(report: object): Promise<unknown> {
    const body = JSON.stringify({ state: 'working', ...report });
    const { text } = await this.ask(`/report/${this.id}`, { method: 'POST', body });
    return JSON.parse(text);
  }

  toStop(signal: AbortSignal | null = null): Promise<PullReply> {
    return this.ask(`/job-stop/${this.id}?gpu=TEST&job_in_progress=1`, { signal });
  }

  #post(path: string, jobId: string, body: string): Promise<PullReply> {
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      charset: 'utf-8',
      'X-Request-ID': jobId,
    };
    return this.ask(path, { method: 'POST', body, headers });
  }
}

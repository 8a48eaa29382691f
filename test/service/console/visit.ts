/** Signs in to the console of a service for a test, and sends its requests. */
import sharp from 'sharp';
import { expect } from 'vitest';
import { triedThumbnail } from '../../../src/runner/images/other-formats.ts';
import { checkEndpoint, endpointFields, endpointTexts } from '../../../src/service/config/check-endpoint.ts';
import { writtenEndpoint } from '../../../src/service/config/endpoint-schema.ts';
import type { EndpointView, JobView, KeyView, Overview } from '../../../src/protocol/console-data.ts';
import { KeyStore } from '../../../src/service/keys/key-store.ts';
import type { ConsoleOptions } from '../../../src/service/instance/service-options.ts';
import { endpointForm as form } from '../../web/console-things.ts';
import { key, openService, type TestService, type TestServiceOptions } from '../service-harness.ts';

const consoleOptions: ConsoleOptions = {
  page: { html: '<p>the page</p>', headers: { 'Content-Security-Policy': "default-src 'none'" } },
  manual: (topic) => (topic === 'service' ? '# The job service' : undefined),
  program: 'nightrender 1.2.3',
  file: 'service.yaml',
  gpus: () => ['Snow 2000 (8 GB)'],
  catalogue: [],
  containerLack: () => null,
  thumbnailOf: (picture) => triedThumbnail(() => sharp(picture)),
  forms: {
    check: (given, others, before) =>
      checkEndpoint(given, {
        others,
        before,
        hasPrograms: true,
        env: process.env,
        folder: process.cwd(),
        maxQueued: 10_000,
        publicUrlExpected: undefined,
      }),
    show: writtenEndpoint,
    texts: endpointTexts,
    fields: () => endpointFields(10_000),
  },
};

export function openWithConsole(options: TestServiceOptions = {}): Promise<TestService> {
  return openService({ console: consoleOptions, ...options });
}

export interface ConsoleReply {
  status: number;
  headers: Headers;
  /** Parsed JSON, or text if it is not JSON. */
  body: unknown;
}

/** Headers that the page sends to sign in. */
export const ownPage = { 'X-Nightrender-Console': '1', 'Sec-Fetch-Site': 'same-origin' };

export async function send(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = ownPage,
): Promise<ConsoleReply> {
  const response = await fetch(`${url}/console/api/${path}`, {
    method,
    headers: { ...(body !== undefined && { 'Content-Type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: bodyIn(await response.text()) };
}

function bodyIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export class Visit {
  readonly #url: string;
  readonly cookie: string;
  readonly token: string;
  /** Headers that the page sends with each request after signing in. */
  readonly headers: Record<string, string>;

  constructor(url: string, cookie: string, token: string) {
    this.#url = url;
    this.cookie = cookie;
    this.token = token;
    this.headers = { ...ownPage, 'X-Nightrender-Console': token, Cookie: cookie };
  }

  ask(method: string, path: string, body?: unknown): Promise<ConsoleReply> {
    return send(this.#url, method, path, body, this.headers);
  }

  /** Sends a GET request that must succeed. */
  async get<T>(path: string): Promise<T> {
    const { status, body } = await this.ask('GET', path);
    expect([status, body]).toEqual([200, body]);
    return body as T;
  }

  overview(): Promise<Overview> {
    return this.get('overview');
  }

  async endpoint(id: string): Promise<EndpointView | undefined> {
    return (await this.overview()).endpoints.find(({ settings }) => settings.id === id);
  }

  async make(change: Record<string, unknown>): Promise<EndpointView> {
    const { status, body } = await this.ask('POST', 'endpoints', form(change));
    expect([status, body]).toEqual([201, body]);
    return body as EndpointView;
  }

  /** Submits a job and returns its id. */
  async submit(endpointId: string, input: Record<string, unknown>): Promise<string> {
    const { status, body } = await this.ask('POST', `endpoints/${endpointId}/jobs`, { input });
    expect([status, body]).toEqual([201, body]);
    return (body as { id: string }).id;
  }

  job(id: string): Promise<JobView> {
    return this.get(`jobs/${id}`);
  }

  /** Polls the job until the condition holds. */
  async jobOnce(id: string, isSo: (job: JobView) => boolean): Promise<JobView> {
    for (;;) {
      const job = await this.job(id);
      if (isSo(job)) return job;
    }
  }

  /** Returns the keys that were created in the console. */
  async keys(): Promise<KeyView[]> {
    return (await this.get<KeyView[]>('keys')).filter(({ origin }) => origin === 'book');
  }
}

/** Signs in. */
export async function enter(url: string, withKey = key): Promise<Visit> {
  const { status, headers, body } = await send(url, 'POST', 'session', { key: withKey });
  expect(status).toBe(200);
  const { token } = body as { token: string };
  return new Visit(url, headers.get('set-cookie')?.split(';')[0] ?? '', token);
}

/** Changes the keys of a service as another program does. */
export function withKeys<T>(dataDir: string, work: (keys: KeyStore) => T): T {
  const keys = new KeyStore(`${dataDir}/keys.sqlite`, { now: Date.now });
  try {
    return work(keys);
  } finally {
    keys.close();
  }
}

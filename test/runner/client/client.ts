/** The client as the tests of this folder use it; no reply of it may hold the key, whatever came. */
import { setMaxListeners } from 'node:events';
import { expect, onTestFinished } from 'vitest';
import { DescribedDialect } from '../../../src/runner/client/described-dialect.ts';
import { HttpService, type HttpOptions } from '../../../src/runner/client/http-service.ts';
import type { StatusPlaces } from '../../../src/runner/client/status-reader.ts';
import { jobsDescription } from '../../../src/runner/config/read-description.ts';
import { ByteSemaphore } from '../../../src/lib/limits.ts';
import type { Endpoint } from '../../../src/runner/core/attempt.ts';
import type {
  CancelReply,
  HealthReply,
  Hold,
  StatusReply,
  SubmitReply,
} from '../../../src/runner/pipeline/ports.ts';
import { scriptedServer, type Script } from '../../fakes/scripted-server.ts';

/** Holds characters that URLs escape. */
export const canary = 'sk-CANARY/4f8a+97d1==';
export const jobId = 'e1b2c3d4-5f60-4c77-9d3b-0a1b2c3d4e5f-u1';

export interface TestClient {
  service: HttpService;
  submit(signal?: AbortSignal): Promise<SubmitReply>;
  status(signal?: AbortSignal, id?: string): Promise<StatusReply>;
  cancel(signal?: AbortSignal): Promise<CancelReply>;
  health(signal?: AbortSignal): Promise<HealthReply>;
}

/** Of the client and of what it reads. */
export type ClientOptions = Partial<Omit<HttpOptions, 'dialect'> & StatusPlaces>;

type Held = StatusReply & { hold?: Hold };

/** Ends with the test. */
export function clientOf(url: string, options: ClientOptions & { apiKey?: string } = {}): TestClient {
  const { apiKey = canary, ...rest } = options;
  const service = new HttpService({
    dialect: new DescribedDialect(jobsDescription('v2'), { image: undefined, statuses: {}, ...rest }),
    connectionOf: ({ baseUrl }) => ({ url: baseUrl, apiKey }),
    requestTimeoutMs: 30_000,
    maxBodyBytes: 64_000_000,
    memory: new ByteSemaphore(128_000_000),
    ...rest,
  });
  onTestFinished(() => service.close());
  const endpoint: Endpoint = { baseUrl: url, id: 'scene-renderer', version: 'v2' };
  const never = new AbortController().signal;
  setMaxListeners(0, never);
  return {
    service,
    submit: async (signal = never) => keepsKey(await service.submit(endpoint, { scene: 'a hill' }, signal)),
    status: async (signal = never, id = jobId) =>
      keepsKey(withoutHold(await service.status({ endpoint, jobId: id }, signal))),
    cancel: async (signal = never) => keepsKey(await service.cancel({ endpoint, jobId }, signal)),
    health: async (signal = never) => keepsKey(await service.health(endpoint, signal)),
  };
}

/** What the client makes of one answer to a submission. */
export async function submitTo(script: Script, options?: ClientOptions): Promise<SubmitReply> {
  return clientOf((await scriptedServer(script)).url, options).submit();
}

/** What the client makes of one answer to a status request. */
export async function statusFrom(script: Script, options?: ClientOptions): Promise<StatusReply> {
  return clientOf((await scriptedServer(script)).url, options).status();
}

/** What the client makes of one answer to a cancellation. */
export async function cancelAnswered(script: Script, options?: ClientOptions): Promise<CancelReply> {
  return clientOf((await scriptedServer(script)).url, options).cancel();
}

/** What the client makes of one answer to the question for the endpoint's health. */
export async function healthAnswered(script: Script, options?: ClientOptions): Promise<HealthReply> {
  return clientOf((await scriptedServer(script)).url, options).health();
}

export function failure(kind: string, text: RegExp | string = /./): object {
  const words: unknown =
    typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text);
  return { kind: 'failure', failure: expect.objectContaining({ kind, text: words }) as unknown };
}

export function ended(kind: string, text: RegExp | string = /./): object {
  return { ...failure(kind, text), kind: 'ended' };
}

/** The job is done, and what it has brought is not given out. */
export function withheld(kind: string, text: RegExp | string = /./): object {
  return { ...failure(kind, text), done: expect.anything() as unknown };
}

/** With what it takes given back. */
export function withoutHold(told: StatusReply): StatusReply {
  const { hold, ...reply } = told as Held;
  if (hold === undefined || reply.kind !== 'completed') return reply;
  // What is released is used for others.
  const pictures = reply.pictures.map((picture) =>
    'bytes' in picture ? { ...picture, bytes: Buffer.from(picture.bytes) } : picture,
  );
  hold.release();
  return { ...reply, pictures };
}

export function keepsKey<Reply>(reply: Reply, key = canary): Reply {
  const told = JSON.stringify(reply);
  expect(told).not.toContain(key);
  expect(told).not.toContain(encodeURIComponent(key));
  return reply;
}

/** Creates the client for tests of this folder, and checks that no reply contains the key. */
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
  MemoryShare,
  StatusReply,
  SubmitReply,
} from '../../../src/runner/pipeline/ports.ts';
import { scriptedServer, type Script } from '../../fakes/scripted-server.ts';

/** An API key with characters that URLs escape. */
export const canary = 'sk-CANARY/4f8a+97d1==';
export const jobId = 'e1b2c3d4-5f60-4c77-9d3b-0a1b2c3d4e5f-u1';

export interface TestClient {
  service: HttpService;
  submit(signal?: AbortSignal): Promise<SubmitReply>;
  status(signal?: AbortSignal, id?: string): Promise<StatusReply>;
  cancel(signal?: AbortSignal): Promise<CancelReply>;
  health(signal?: AbortSignal): Promise<HealthReply>;
}

/** Options of the client and of its status reader. */
export type ClientOptions = Partial<Omit<HttpOptions, 'dialect'> & StatusPlaces>;

type WithShare = StatusReply & { share?: MemoryShare };

/** Creates a client, which is closed at the end of the test. */
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

/** Submits a job to a server that answers with this script. */
export async function submitTo(script: Script, options?: ClientOptions): Promise<SubmitReply> {
  return clientOf((await scriptedServer(script)).url, options).submit();
}

/** Requests a status from a server that answers with this script. */
export async function statusFrom(script: Script, options?: ClientOptions): Promise<StatusReply> {
  return clientOf((await scriptedServer(script)).url, options).status();
}

/** Requests a cancellation from a server that answers with this script. */
export async function cancelAnswered(script: Script, options?: ClientOptions): Promise<CancelReply> {
  return clientOf((await scriptedServer(script)).url, options).cancel();
}

/** Requests the health from a server that answers with this script. */
export async function healthAnswered(script: Script, options?: ClientOptions): Promise<HealthReply> {
  return clientOf((await scriptedServer(script)).url, options).health();
}

export function failure(kind: string, text: RegExp | string = /./, more: object = {}): object {
  const words: unknown =
    typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text);
  return { kind: 'failure', failure: expect.objectContaining({ kind, text: words, ...more }) as unknown };
}

export function ended(kind: string, text: RegExp | string = /./): object {
  return { ...failure(kind, text), kind: 'ended' };
}

/** Expected reply if the job is done but its result is refused. */
export function withheld(kind: string, text: RegExp | string = /./, isGone = false): object {
  return { ...failure(kind, text, isGone ? { isGone } : {}), done: expect.anything() as unknown };
}

/** Releases the memory that the reply holds, and returns the reply without the reservation. */
export function withoutHold(told: StatusReply): StatusReply {
  const { share, ...reply } = told as WithShare;
  if (share === undefined || reply.kind !== 'completed') return reply;
  // Released buffers are reused, so the pictures are copied.
  const pictures = reply.pictures.map((picture) =>
    'bytes' in picture ? { ...picture, bytes: Buffer.from(picture.bytes) } : picture,
  );
  share.release();
  return { ...reply, pictures };
}

export function keepsKey<Reply>(reply: Reply, key = canary): Reply {
  const told = JSON.stringify(reply);
  expect(told).not.toContain(key);
  expect(told).not.toContain(encodeURIComponent(key));
  return reply;
}

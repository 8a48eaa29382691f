/** Creates clients of services that are described as data, and checks that no reply contains the key. */
import { expect, onTestFinished } from 'vitest';
import { ByteSemaphore } from '../../../src/lib/limits.ts';
import type { JsonObject } from '../../../src/lib/text/json.ts';
import { DescribedDialect } from '../../../src/runner/client/described-dialect.ts';
import { HttpService } from '../../../src/runner/client/http-service.ts';
import { readDescription } from '../../../src/runner/config/read-description.ts';
import type { Endpoint, JobAtService } from '../../../src/runner/core/attempt.ts';
import type { ServiceDescription } from '../../../src/runner/core/service-description.ts';
import type {
  CancelReply,
  HealthReply,
  LostSubmission,
  StatusReply,
  SubmitReply,
} from '../../../src/runner/pipeline/ports.ts';
import { falKey } from '../../fakes/fal-service.ts';
import { replicateKey } from '../../fakes/replicate-service.ts';
import { keepsKey, withoutHold, type ClientOptions } from './client.ts';

const signal = new AbortController().signal;
export const input = { prompt: 'a hill', seed: 5 };
export const model = 'fal-ai/flux/dev';
export const replicateModel = 'black-forest-labs/flux-schnell';

export interface DescribedClient {
  service: HttpService;
  submit(input?: JsonObject, lost?: LostSubmission): Promise<SubmitReply>;
  /** Submits a job that must be accepted, and returns it for later polls. */
  job(input?: JsonObject): Promise<JobAtService>;
  status(job: JobAtService): Promise<StatusReply>;
  cancel(job: JobAtService): Promise<CancelReply>;
  health(): Promise<HealthReply>;
}

export function describedClient(
  url: string,
  description: ServiceDescription,
  id: string,
  apiKey: string,
  more: ClientOptions = {},
): DescribedClient {
  const service = new HttpService({
    dialect: new DescribedDialect(description, { image: undefined, ...more }),
    connectionOf: ({ baseUrl }) => ({ url: baseUrl, apiKey }),
    requestTimeoutMs: 30_000,
    maxBodyBytes: 64_000_000,
    memory: new ByteSemaphore(128_000_000),
    ...more,
  });
  onTestFinished(() => service.close());
  const endpoint: Endpoint = { baseUrl: url, id, version: description.name };
  const submit = async (sent: JsonObject = input, lost?: LostSubmission): Promise<SubmitReply> =>
    keepsKey(await service.submit(endpoint, sent, signal, undefined, lost), apiKey);
  return {
    service,
    submit,
    job: async (sent) => {
      const reply = await submit(sent);
      if (reply.kind !== 'accepted') return expect.fail(JSON.stringify(reply));
      return { endpoint, jobId: reply.jobId, ...(reply.kept !== undefined && { kept: reply.kept }) };
    },
    status: async (job) => keepsKey(withoutHold(await service.status(job, signal)), apiKey),
    cancel: async (job) => keepsKey(await service.cancel(job, signal), apiKey),
    health: async () => keepsKey(await service.health(endpoint, signal), apiKey),
  };
}

/**
 * Creates a client of fal. Its check, list and archive are at the stand-in too, at another origin than its
 * queue.
 */
export function falClient(url: string): DescribedClient {
  const { check, find, archive, ...description } = readDescription('fal', '', {});
  const at = <Asked extends { url: string }>(asked: Asked | undefined): Asked | undefined =>
    asked && {
      ...asked,
      url: asked.url.replace('https://api.fal.ai', url.replace('127.0.0.1', 'localhost')),
    };
  const here = { ...description, baseUrl: url, check: at(check), find: at(find), archive: at(archive) };
  return describedClient(url, here, model, falKey);
}

export function replicateClient(url: string): DescribedClient {
  return describedClient(url, readDescription('replicate', '', {}), replicateModel, replicateKey);
}

/** Describes a lost submission that was sent between these times. No attempt owns any job yet. */
export function lostAt(sentAt: number, sentBy = sentAt): LostSubmission {
  return { sentAt, sentBy, overWithinMs: 3_600_000, isTaken: () => Promise.resolve(false) };
}

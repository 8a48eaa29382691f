/** The client of a pipeline's service, by the interface that this has; jobs of the local service are asked for in its own. */
import type { ByteSemaphore } from '../lib/limits/byte-semaphore.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import { runPath } from '../protocol/paths.ts';
import { ComfyuiService } from '../runner/client/comfyui-service.ts';
import { DescribedRequests } from '../runner/client/described-requests.ts';
import { DescribedService } from '../runner/client/described-service.ts';
import {
  HttpRenderService,
  type Connection,
  type HttpOptions,
} from '../runner/client/http-render-service.ts';
import type { Config } from '../runner/config/config.ts';
import { versionOfJobs, type Endpoint } from '../runner/core/attempt.ts';
import type { ServiceDescription } from '../runner/core/service-description.ts';
import type { RenderService } from '../runner/pipeline/ports.ts';

export type ServiceClient = RenderService & { close(): Promise<void> };

export function openService(
  config: Config,
  connectionOf: (endpoint: Endpoint) => Connection,
  memory: ByteSemaphore,
  warn: (text: string) => void = () => undefined,
): ServiceClient {
  const once = warnOnce(warn);
  const { image, files, values } = config.output;
  const options = {
    memory,
    connectionOf,
    requestTimeoutMs: config.timeouts.request,
    maxBodyBytes: config.limits.body,
    image,
    files,
    values,
    onFoundAt: (path: string) =>
      once(
        `the picture is taken from ${path} of the output, since it is the only one there; \`output.image: ${path}\` takes it from nowhere else`,
      ),
  };
  const jobs = new HttpRenderService({
    ...options,
    statuses: config.statuses,
    onUnknownStatus: (status) =>
      once(
        `the service says "${status}" of a job, a word that is not known; without an output the job counts as waiting, until \`timeouts.queue\` is over; \`endpoint.statuses\` says what the word means`,
      ),
  });
  const { service } = config;
  if (service.kind === 'jobs') return jobs;
  const other =
    service.kind === 'described'
      ? openDescribed(options, service.description, warn)
      : openComfyui(config, service, connectionOf, memory);
  const of = (endpoint: Endpoint): RenderService => (versionOfJobs(endpoint) === undefined ? other : jobs);
  return {
    submit: (endpoint, ...rest) => of(endpoint).submit(endpoint, ...rest),
    status: (job, ...rest) => of(job.endpoint).status(job, ...rest),
    copyResult: (job, ...rest) => of(job.endpoint).copyResult(job, ...rest),
    cancel: (job, ...rest) => of(job.endpoint).cancel(job, ...rest),
    health: (endpoint, ...rest) => of(endpoint).health(endpoint, ...rest),
    close: async () => {
      await Promise.all([jobs.close(), other.close()]);
    },
  };
}

const maxWarnings = 20;

/** Each text once; some services put how far a job is into its status. */
function warnOnce(warn: (text: string) => void): (text: string) => void {
  const said = new Set<string>();
  return (text) => {
    if (said.has(text) || said.size >= maxWarnings) return;
    said.add(text);
    warn(text);
  };
}

function openDescribed(
  options: HttpOptions,
  description: ServiceDescription,
  warn: (text: string) => void,
): DescribedService {
  const { name } = description;
  const onUnknownStatus = (status: string): void =>
    warn(
      `${name} says "${status}" of a job, which its description does not know: the job counts as waiting, until \`timeouts.queue\` is over`,
    );
  return new DescribedService({ ...options, description, onUnknownStatus });
}

export function openComfyui(
  { timeouts, limits, output }: Config,
  { workflow, sha256 }: Config['service'] & { kind: 'comfyui' },
  connectionOf: (endpoint: Endpoint) => Connection,
  memory: ByteSemaphore,
): ComfyuiService {
  return new ComfyuiService({
    memory,
    connectionOf,
    requestTimeoutMs: timeouts.request,
    maxBodyBytes: limits.body,
    workflow,
    workflowSha256: sha256,
    node: output.image,
  });
}

/** The request that submits an input, without the key; of a workflow its file and what is set in it. */
export function submissionOf(
  { service }: Config,
  endpoint: Endpoint,
  input: JsonObject,
): { method: string; url: string; body: JsonValue } {
  const { baseUrl } = endpoint;
  switch (service.kind) {
    case 'jobs':
      return {
        method: 'POST',
        url: baseUrl + runPath(versionOfJobs(endpoint) ?? 'v2', endpoint.id),
        body: { input },
      };
    case 'described': {
      const requests = new DescribedRequests(service.description, () => ({ url: baseUrl, apiKey: '' }));
      const { method, url, body = 'null' } = requests.submission(endpoint, input);
      return { method, url, body: JSON.parse(body) as JsonValue };
    }
    case 'comfyui': {
      const { set = {} } = input;
      return { method: 'POST', url: `${baseUrl}/prompt`, body: { workflow: shownFile(service.file), set } };
    }
  }
}

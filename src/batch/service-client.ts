/** Client of a pipeline's service, chosen by its interface. Jobs of the local service use its own interface. */
import type { ByteSemaphore } from '../lib/limits/byte-semaphore.ts';
import type { JsonObject, JsonValue } from '../lib/text/json.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import { ComfyuiDialect } from '../runner/client/comfyui-dialect.ts';
import { DescribedDialect } from '../runner/client/described-dialect.ts';
import { DescribedRequests } from '../runner/client/described-requests.ts';
import { HttpService, type Connection } from '../runner/client/http-service.ts';
import type { Config } from '../runner/config/config.ts';
import { jobsDescription } from '../runner/config/read-description.ts';
import { versionOfJobs, type Endpoint } from '../runner/core/attempt.ts';
import type { ServiceDescription } from '../runner/core/service-description.ts';
import type { RenderService } from '../runner/pipeline/ports.ts';

export type ServiceClient = RenderService & Pick<HttpService, 'problems' | 'close'>;

export function openService(
  config: Config,
  connectionOf: (endpoint: Endpoint) => Connection,
  memory: ByteSemaphore,
  warn: (text: string) => void = () => undefined,
): ServiceClient {
  const once = warnOnce(warn);
  const { image, files, values } = config.output;
  const onFoundAt = (path: string): void =>
    once(
      `the picture was found at ${path} of the output, the only picture there; \`output.image: ${path}\` takes it from there only`,
    );
  const open = (endpoint: Endpoint): HttpService => {
    const options = {
      memory,
      connectionOf,
      requestTimeoutMs: config.timeouts.request,
      maxBodyBytes: config.limits.body,
    };
    const description = descriptionFor(config, endpoint);
    if (description === undefined) {
      const { workflow, sha256 } = config.service as ComfyuiInterface;
      const dialect = new ComfyuiDialect({ workflow, workflowSha256: sha256, node: image });
      return new HttpService({ ...options, dialect });
    }
    const isOfJobs = versionOfJobs(endpoint) !== undefined;
    const statuses = isOfJobs ? config.statuses : undefined;
    return new HttpService({
      ...options,
      dialect: new DescribedDialect(description, { image, files, values, onFoundAt, statuses }),
      onUnknownStatus: (status) => once(isOfJobs ? unknownToJobs(status) : unknownTo(description, status)),
    });
  };
  const clients = new Map<string, HttpService>();
  const of = (endpoint: Endpoint): HttpService => {
    const client = clients.get(endpoint.version) ?? open(endpoint);
    clients.set(endpoint.version, client);
    return client;
  };
  return {
    submit: (endpoint, ...rest) => of(endpoint).submit(endpoint, ...rest),
    status: (job, ...rest) => of(job.endpoint).status(job, ...rest),
    copyResult: (job, ...rest) => of(job.endpoint).copyResult(job, ...rest),
    cancel: (job, ...rest) => of(job.endpoint).cancel(job, ...rest),
    health: (endpoint, ...rest) => of(endpoint).health(endpoint, ...rest),
    problems: (endpoint, ...rest) => of(endpoint).problems(endpoint, ...rest),
    close: async () => {
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
  };
}

type ComfyuiInterface = Config['service'] & { kind: 'comfyui' };

/** Returns the description for an endpoint, or undefined for ComfyUI. Jobs of job services keep their interface. */
function descriptionFor({ service }: Config, endpoint: Endpoint): ServiceDescription | undefined {
  const version = versionOfJobs(endpoint);
  if (version !== undefined) return jobsDescription(version);
  if (service.kind === 'jobs') throw new Error(`${endpoint.version} is not the interface of job services`);
  return service.kind === 'described' ? service.description : undefined;
}

function unknownToJobs(status: string): string {
  return `the service says "${status}" of a job, an unknown status; without an output the job counts as waiting, until \`timeouts.queue\` is over; define the status in \`endpoint.statuses\``;
}

function unknownTo({ name }: ServiceDescription, status: string): string {
  return `${name} says "${status}" of a job, which \`status.map\` does not define: the job counts as waiting, until \`timeouts.queue\` is over`;
}

const maxWarnings = 20;

/** Passes each text on once, and only the first `maxWarnings`, because some services put progress into the status. */
function warnOnce(warn: (text: string) => void): (text: string) => void {
  const said = new Set<string>();
  return (text) => {
    if (said.has(text) || said.size >= maxWarnings) return;
    said.add(text);
    warn(text);
  };
}

/**
 * Returns the request that submits an input, without the key. For a workflow, it shows the file and the
 * values set in it.
 */
export function submissionOf(
  config: Config,
  endpoint: Endpoint,
  input: JsonObject,
): { method: string; url: string; body: JsonValue } {
  const { baseUrl } = endpoint;
  const description = descriptionFor(config, endpoint);
  if (description === undefined) {
    const { set = {} } = input;
    const { file } = config.service as ComfyuiInterface;
    return { method: 'POST', url: `${baseUrl}/prompt`, body: { workflow: shownFile(file), set } };
  }
  const at = { url: baseUrl, apiKey: '' };
  const requests = new DescribedRequests(description);
  const { method, url, body = 'null' } = requests.submission({ endpoint, at }, input);
  return { method, url, body: JSON.parse(body) as JsonValue };
}

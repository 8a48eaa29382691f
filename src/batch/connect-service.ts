/** Connects a batch to its service: the configured one or the local one, and `plan --check`. */
import { ByteSemaphore } from '../lib/limits.ts';
import { formatDuration, formatInstant, plural } from '../lib/text/format.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../lib/text/json.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { shownFile } from '../lib/yaml/yaml-file.ts';
import type { JobsInFlight } from '../runner/checkpoint/read-totals.ts';
import { ComfyuiDialect } from '../runner/client/comfyui-dialect.ts';
import { DescribedDialect } from '../runner/client/described-dialect.ts';
import { DescribedRequests } from '../runner/client/described-requests.ts';
import { type Connection, HttpService } from '../runner/client/http-service.ts';
import type { ReceivedFiles } from '../runner/client/received-files.ts';
import type { SendingFiles } from '../runner/client/sending-files.ts';
import type { Config } from '../runner/config/config.ts';
import { jobsDescription } from '../runner/config/read-description.ts';
import { type Endpoint, versionOfJobs } from '../runner/core/attempt.ts';
import type { EndpointCheck, FirstRequest } from '../runner/core/batch-plan.ts';
import type { Failure } from '../runner/core/failure.ts';
import type { ServiceDescription } from '../runner/core/service-description.ts';
import type { PriceList, UnitPrice } from '../runner/core/spending.ts';
import type { HealthReply, RenderService } from '../runner/pipeline/ports.ts';
import { configuredArguments } from './refusal.ts';

export type ServiceClient = RenderService & Pick<HttpService, 'problems' | 'close'>;

/** `warn` is called with warnings. */
interface ForRuns {
  warn?: (text: string) => void;
  /** Reads the files that jobs send. Undefined if nothing is submitted. */
  files?: SendingFiles;
  /** Takes clips. Undefined if nothing is collected. */
  received?: ReceivedFiles;
}

export function connectService(
  config: Config,
  connectionOf: (endpoint: Endpoint) => Connection,
  memory: ByteSemaphore,
  { warn = () => undefined, files: sending, received }: ForRuns = {},
): ServiceClient {
  const once = warnOnce(warn);
  const { image, media, files, values } = config.output;
  const onFoundAt = (path: string): void =>
    once(
      media === undefined
        ? `the picture was found at ${path} of the output, the only picture there; \`output.image: ${path}\` takes it from there only`
        : `the clip was found at ${path} of the output, the only clip there; \`output.media: ${path}\` takes it from there only`,
    );
  const open = (endpoint: Endpoint): HttpService => {
    const options = {
      memory,
      received,
      connectionOf,
      requestTimeoutMs: config.timeouts.request,
      maxBodyBytes: config.limits.body,
      proxies: config.proxies,
    };
    const description = descriptionFor(config, endpoint);
    if (description === undefined) {
      const { workflow, sha256 } = config.service as ComfyuiInterface;
      const dialect = new ComfyuiDialect({
        workflow,
        workflowSha256: sha256,
        node: image,
        media,
        files: sending,
      });
      return new HttpService({ ...options, dialect });
    }
    const isOfJobs = versionOfJobs(endpoint) !== undefined;
    const cost = config.pricing?.at;
    const statuses = isOfJobs ? config.statuses : undefined;
    return new HttpService({
      ...options,
      dialect: new DescribedDialect(description, { image, media, files, values, onFoundAt, statuses, cost }),
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
function descriptionFor({ service, policy }: Config, endpoint: Endpoint): ServiceDescription | undefined {
  const version = versionOfJobs(endpoint);
  if (version !== undefined) {
    const { submit, ...rest } = jobsDescription(version);
    // A development server has no limits of its own.
    if (policy === undefined || version === 'dev') return { ...rest, submit };
    return { ...rest, submit: { ...submit, body: { input: '{{ input }}', policy: policy as JsonObject } } };
  }
  if (service.kind === 'jobs') throw new Error(`${endpoint.version} is not the interface of job services`);
  return service.kind === 'described' ? service.description : undefined;
}

function unknownToJobs(status: string): string {
  return `the service reports the unknown status "${status}". A job without an output counts as waiting until \`timeouts.queue\` is over; define the status in \`endpoint.statuses\``;
}

function unknownTo({ name }: ServiceDescription, status: string): string {
  return `${name} reports the status "${status}", which \`status.map\` does not define: the job counts as waiting until \`timeouts.queue\` is over`;
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

/** Returns the request that submits an input, without the key; for a workflow, its file and values. */
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

/** The local job service. Callers pass it in, because batches never import the service. */
export interface LocalService {
  /** Starts the service with its data in `dataDir` for these endpoints. `onProblem` is called with warnings. */
  start(options: {
    dataDir: string;
    endpointIds: string[];
    onProblem: (text: string) => void;
  }): Promise<RunningService>;
  /** Rejects with `UnusableDatabase` if the service could not continue with this copy of its database. */
  assertDatabase(file: string): Promise<void>;
}

export interface RunningService {
  url: string;
  apiKey: string;
  /** Deletes a job whose pictures are saved and recorded. */
  collected(jobId: string): void;
  close(): Promise<void>;
}

/** Connections to the services of a batch: the configured service and the local one, each with its own key. */
export interface Connections {
  of: (endpoint: Endpoint) => Connection;
  /** Tells the local service to delete a job whose pictures are saved and recorded. */
  collected(jobId: string): void;
  close(): Promise<void>;
}

/**
 * Throws `ConfigError` if jobs are in flight at another service, because the key belongs to
 * `endpoint.baseUrl` and must not be sent elsewhere. Jobs of the local service are always collected with its
 * own key. `file` is the path of pipeline.yaml as given.
 */
export function assertCollectable(file: string, config: Config, inFlight: JobsInFlight[]): void {
  const urls = new Set(inFlight.map(({ endpoint }) => endpoint.baseUrl));
  const problems = [...urls]
    .filter((url) => url !== 'local' && url !== config.endpoint.baseUrl)
    .map((url) => ({
      where: config.placeOf(['endpoint', 'baseUrl']),
      text: elsewhereText(
        configuredArguments(file, config),
        url,
        inFlight.filter(({ endpoint }) => endpoint.baseUrl === url),
      ),
    }));
  const other = inFlight.find(({ endpoint }) => !isSpoken(config, endpoint));
  if (problems.length === 0 && other !== undefined) {
    const where = config.placeOf(['endpoint', 'speaks']);
    const { version } = other.endpoint;
    const text = `${plural(other.jobs, 'job is', 'jobs are')} still in flight at ${other.endpoint.baseUrl}, whose interface was ${version}; set endpoint.speaks back to it and run once to collect them`;
    problems.push({ where, text });
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

/** True if this configuration can poll the job. Jobs of job services can always be polled. */
function isSpoken({ endpoint }: Config, sent: Endpoint): boolean {
  return versionOfJobs(sent) !== undefined || sent.version === endpoint.version;
}

function elsewhereText(batch: string, url: string, inFlight: JobsInFlight[]): string {
  const jobs = inFlight.reduce((sum, each) => sum + each.jobs, 0);
  const since = formatInstant(Math.min(...inFlight.map(({ oldestAt }) => oldestAt)));
  return [
    `${plural(jobs, 'job is', 'jobs are')} still in flight at ${url}, the oldest since ${since}, and this run's key must not be sent there.`,
    `Set endpoint.baseUrl back to ${url} and run once to collect them (results are kept for a while, often for no more than 30 minutes),`,
    `or give them up with \`nightrender retry ${batch} --elsewhere\`: their scenes are rendered again at the address in the file, and the old jobs may still be billed`,
  ].join(' ');
}

/** An id that no service uses. */
const impossibleJob = 'nightrender-asks-whether-this-endpoint-is-there';

/** Checks if the service accepts key and endpoint, without a job (`nightrender plan --check`). */
export async function probeEndpoint(
  config: Config,
  signal: AbortSignal,
  first?: FirstRequest,
): Promise<EndpointCheck> {
  const { endpoint, apiKey = '' } = config;
  if (endpoint.baseUrl === 'local')
    return { ending: 'complete', text: 'the local service starts with the run' };
  const connectionOf = ({ baseUrl }: Endpoint): Connection => ({ url: baseUrl, apiKey });
  const memory = new ByteSemaphore(config.limits.memory);
  const { service: spoken } = config;
  const service = connectService(config, connectionOf, memory);
  try {
    if (spoken.kind === 'comfyui') {
      const input = isJsonObject(first?.body) ? first.body : {};
      return judgeWorkflow(await service.problems(endpoint, input, signal));
    }
    const health = await service.health(endpoint, signal);
    if (spoken.kind === 'described')
      return {
        ...judgeDescribed(health, spoken.description),
        reads: readingOf(spoken.description),
        ...priceIn(health, config),
      };
    return await judge(health, service, config, signal);
  } finally {
    await service.close();
  }
}

function judgeWorkflow(problems: string[] | Failure): EndpointCheck {
  if (!Array.isArray(problems)) return refused(problems);
  return problems.length === 0
    ? {
        ending: 'complete',
        text: 'ComfyUI answers and has every node and model of the workflow; its inputs, links and outputs are valid',
      }
    : {
        ending: 'not-allowed',
        text: `ComfyUI would save nothing of this workflow: ${problems.join('; ')}`,
      };
}

function judgeDescribed(health: HealthReply, { check }: ServiceDescription): EndpointCheck {
  switch (health.kind) {
    case 'answers': {
      const { workers } = health.health ?? {};
      return { ending: 'complete', text: 'address, key and id are accepted', ...(workers && { workers }) };
    }
    case 'failure':
      return refused(health.failure);
    case 'unknown':
      if (health.isUnasked === true)
        return { ending: 'complete', text: `${health.text}, so nothing was asked` };
      // Without a check, nothing shows whether the id is right.
      return check === undefined
        ? { ending: 'complete', text: `${health.text}: it is reachable, but key and id could not be checked` }
        : { ending: 'not-allowed', text: `${health.text}; see \`endpoint.id\`` };
  }
}

/** Returns the unit price in an answer to the check, and a warning if `pricing` says something else. */
function priceIn(health: HealthReply, { pricing }: Config): Pick<EndpointCheck, 'price' | 'warning'> {
  if (health.kind !== 'answers' || health.price === undefined) return {};
  const warning = differingPrice(health.price, pricing);
  return { price: health.price, ...(warning !== undefined && { warning }) };
}

const rateOfUnit = [
  ['perMegapixel', /megapixel/i],
  ['perPicture', /image|picture/i],
  ['perSecondOfVideo', /second/i],
  ['perSecond', /second/i],
] as const;

/** Returns a warning if the rates of `pricing` differ from the service's unit price; undefined if they do not. */
function differingPrice(stated: UnitPrice, pricing: PriceList | undefined): string | undefined {
  const rates = rateOfUnit.flatMap(([key]) =>
    pricing?.[key] === undefined ? [] : [[key, pricing[key]] as const],
  );
  const fitting = rateOfUnit.filter(([, unit]) => unit.test(stated.unit));
  // A second may be one of execution or of a clip.
  const [key] = fitting.find(([name]) => pricing?.[name] !== undefined) ?? fitting.at(-1) ?? [];
  if (pricing === undefined || key === undefined || rates.length === 0) return undefined;
  const { amount, unit, currency } = stated;
  // A description need not know the currency.
  const isOther = currency !== '' && currency.toUpperCase() !== pricing.currency.toUpperCase();
  if (rates.length === 1 && pricing[key] === amount && !isOther) return undefined;
  const written = rates.map(([name, price]) => `${name}: ${price}`).join(', ');
  const shown = `${amount}${currency === '' ? '' : ` ${currency}`}`;
  return `the service states ${shown} for its unit "${unit}", and \`pricing\` says { ${written}, currency: ${pricing.currency} }; unless that is meant, set ${key}: ${amount}${isOther ? `, currency: ${currency}` : ''}`;
}

/** Describes where a run reads each value of the service's answers. */
function readingOf(description: ServiceDescription): string[] {
  const { submit, status, result, failed, cancel, find, archive, keepsMs } = description;
  const words = Object.entries(status.map).map(([word, meaning]) => `${word} is ${meaning}`);
  const kept = submit.keep.length === 0 ? '' : `, with ${submit.keep.join(', ')}`;
  const place =
    result.pictures.length === 0 ? 'where most workers put them' : `at ${result.pictures.join(' or ')}`;
  return [
    `a job's id at ${submit.job} of what a submission brings${kept}`,
    `its status by ${status.method} ${status.url}, at ${status.at}: ${words.join(', ')}, any other is waiting`,
    `pictures ${place} of ${result.output === '' ? '' : `${result.output} of `}${result.request === undefined ? 'that answer' : `${result.request.method} ${result.request.url}`}`,
    `why it failed at ${failed}`,
    cancel === undefined ? 'no way to cancel a job' : `cancelled by ${cancel.method} ${cancel.url}`,
    find === undefined
      ? 'no list of jobs: a submission whose answer is lost counts as unanswered'
      : `lost submissions in ${find.items} of ${find.method} ${find.url}`,
    ...(archive ? [`jobs that are no longer there by ${archive.method} ${archive.url}`] : []),
    `results are kept for ${formatDuration(keepsMs)}`,
  ];
}

async function judge(
  health: HealthReply,
  service: RenderService,
  { endpoint }: Config,
  signal: AbortSignal,
): Promise<EndpointCheck> {
  switch (health.kind) {
    case 'answers': {
      const { workers } = health.health ?? {};
      return { ending: 'complete', text: 'key and endpoint are accepted', ...(workers && { workers }) };
    }
    case 'failure':
      return refused(health.failure);
    case 'unknown': {
      const reply = await service.status({ endpoint, jobId: impossibleJob }, signal);
      // Some services reject the id as malformed instead of unknown.
      const isRefusedId = reply.kind === 'failure' && / was answered 4\d\d: /.test(reply.failure.text);
      if (reply.kind === 'failure' && !isRefusedId) return refused(reply.failure);
      // A service usually says if the endpoint does not exist, and never mentions it for a missing job.
      const said = `${health.text} ${reply.kind === 'missing' ? reply.text : ''}`;
      return noSuchEndpoint.test(said)
        ? {
            ending: 'not-allowed',
            text: `the service does not know the endpoint ${endpoint.id} (404)${knownIn(said)}; see \`endpoint.id\``,
          }
        : {
            ending: 'complete',
            text: 'it answers and accepts the key; a wrong `endpoint.id` shows only at the first submission',
          };
    }
  }
}

const noSuchEndpoint =
  /endpoint not found|no such endpoint|unknown endpoint|endpoint \S* ?(does not exist|not found)/i;

/** Returns the existing endpoints if the service names them. */
function knownIn(said: string): string {
  const [known] = /there (?:is|are) [\w, -]+/.exec(said) ?? [];
  return known === undefined ? '' : `: ${known.trim()}`;
}

function refused({ kind, text }: Failure): EndpointCheck {
  if (kind === 'key-refused' || kind === 'account-unusable') return { ending: 'not-allowed', text };
  if (kind === 'overloaded')
    return {
      ending: 'complete',
      text: `${text}: it is reachable, but the key could not be checked`,
    };
  return {
    ending: 'halted',
    text: `no usable answer: ${text}; a run would keep trying for \`halt.unreachable\``,
  };
}

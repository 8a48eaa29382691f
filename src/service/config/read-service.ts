/** Reads service.yaml, environment and flags into checked settings of the service, or reports all problems at once. */
import { dirname, resolve } from 'node:path';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import { checkAgainst, problemAt, readFields } from '../../lib/yaml/check-shape.ts';
import type { FieldExpectation } from '../workloads/workload-definition.ts';
import { publicUrlExpected, readEndpoint, settingsOf } from './endpoint-schema.ts';
import { ConfigError, gatherProblems, type Problem, secretsOf } from '../../lib/yaml/problem.ts';
import { serviceLayout, serviceSchema, sharedProblems, type SharedSettings } from './service-schema.ts';
import { readTls, TlsProblem, type TlsFiles } from '../../lib/http/tls-files.ts';
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import type { YamlFile } from '../../lib/yaml/read-yaml.ts';
import { readYamlFile, type Override } from '../../lib/yaml/yaml-file.ts';

/** Reads the settings. Without a file, all have defaults and there are no endpoints. Later overrides win. Throws `ConfigError`. */
export function readService(
  file: string | undefined,
  overrides: Override[],
  env: NodeJS.ProcessEnv,
): ServiceSettings {
  const yaml = withVariableTexts(readYamlFile(file, env, { overrides, expected: 'service.yaml' }));
  if (yaml.isBroken) throw new ConfigError(yaml.problems);
  const secrets = secretsOf(undefined, env);
  const folder = dirname(resolve(file ?? '.'));
  const { raw, given, problems } = checkAgainst(serviceSchema, yaml, secrets, serviceLayout);
  const { all: endpoints, found } = readEndpoints(given, folder, env);
  const told = found.map(({ index, field, expected }) =>
    problemAt(['endpoints', index, ...pathOf(field)], expected, { value: yaml.value, yaml, secrets }),
  );
  const tls = raw?.tls && {
    cert: resolve(folder, raw.tls.cert),
    key: resolve(folder, raw.tls.key),
    hsts: raw.tls.hsts,
  };
  const wrong = tls && tlsProblem(tls);
  if (wrong !== undefined)
    told.push(problemAt(['tls', wrong.field], wrong.message, { value: yaml.value, yaml, secrets }));
  const urlProblem = hasCluster(given) ? publicUrlProblem(given) : undefined;
  if (urlProblem !== undefined)
    told.push(problemAt(['publicUrl'], urlProblem, { value: yaml.value, yaml, secrets }));
  for (const { field, expected } of sharedProblems(given))
    told.push(problemAt([field], expected, { value: yaml.value, yaml, secrets }));
  const all = gatherProblems(yaml, withoutRepetitions([...problems, ...told]), secrets);
  if (raw === undefined || all.length > 0) throw new ConfigError(all);
  return {
    host: raw.host,
    port: raw.port,
    publicUrl: raw.publicUrl?.replace(/\/+$/, ''),
    tls,
    isInsecure: raw.insecure,
    shared: raw.store === undefined ? undefined : { ...raw, store: raw.store },
    proxies: raw.proxies,
    retentionMs: raw.retention,
    limits: {
      maxBodyBytes: raw.limits.maxBody,
      maxResultBytes: raw.limits.maxResult,
      maxValues: raw.limits.maxValues,
      requestsPerSecond: raw.limits.requestsPerSecond,
      maxConnections: raw.limits.maxConnections,
      requestTimeoutMs: raw.limits.requestTimeout,
      bodyTimeMs: raw.limits.bodyTime,
      maxQueued: raw.limits.maxQueued,
      silenceMs: raw.limits.silence,
    },
    graceMs: raw.shutdown.grace,
    hasConsolePrograms: raw.console.programs,
    hasPrivateWebhooks: raw.webhooks.private ?? raw.webhooks.allowPrivate ?? null,
    webhookProxy: raw.webhooks.proxy,
    origins: raw.cors,
    hosts: raw.hosts,
    endpoints: endpoints.map((fields) => settingsOf(fields, raw.limits.maxQueued)),
  };
}

function tlsProblem(files: TlsFiles): TlsProblem | undefined {
  try {
    readTls(files, Date.now());
    return undefined;
  } catch (error) {
    if (error instanceof TlsProblem) return error;
    throw error;
  }
}

/** Replaces numbers and booleans of `environment` by their original text, so that `1.10` does not become `1.1`. */
function withVariableTexts(yaml: YamlFile): YamlFile {
  const endpoints = isJsonObject(yaml.value) ? yaml.value['endpoints'] : undefined;
  if (!Array.isArray(endpoints)) return yaml;
  const texts = endpoints.map((endpoint, index) => {
    const environment = isJsonObject(endpoint) ? endpoint['environment'] : undefined;
    if (!isJsonObject(endpoint) || environment === undefined || !isJsonObject(environment)) return endpoint;
    const textOf = ([name, value]: [string, JsonValue]): [string, JsonValue] => {
      const isText = typeof value !== 'number' && typeof value !== 'boolean';
      const source = isText ? undefined : yaml.sourceOf(['endpoints', index, 'environment', name]);
      return [name, source ?? value];
    };
    return { ...endpoint, environment: Object.fromEntries(Object.entries(environment).map(textOf)) };
  });
  return { ...yaml, value: { ...(yaml.value as JsonObject), endpoints: texts } };
}

/** Removes repeated problems: schema and rules may both report a problem of a whole endpoint. */
function withoutRepetitions(problems: Problem[]): Problem[] {
  return problems.filter(
    (problem, index) =>
      problems.findIndex(({ where, text }) => where === problem.where && text === problem.text) === index,
  );
}

type Found = FieldExpectation & { index: number };

function readEndpoints(
  given: unknown,
  folder: string,
  env: NodeJS.ProcessEnv,
): { all: Partial<EndpointSettings>[]; found: Found[] } {
  const { publicUrl: url } = isJsonObject(given) ? given : {};
  const publicUrl = typeof url === 'string' ? url : undefined;
  const all: Partial<EndpointSettings>[] = [];
  const found: Found[] = [];
  for (const [index, endpoint] of endpointsIn(given).entries()) {
    if (!isJsonObject(endpoint)) continue;
    const { fields, problems } = readEndpoint(endpoint, { others: all, env, folder, publicUrl });
    all.push(fields);
    found.push(...problems.map((problem) => ({ ...problem, index })));
  }
  return { all, found };
}

/** True if an endpoint has `on`, even if its value is invalid. */
function hasCluster(given: unknown): boolean {
  return endpointsIn(given).some((endpoint) => isJsonObject(endpoint) && Object.hasOwn(endpoint, 'on'));
}

function endpointsIn(given: unknown): JsonValue[] {
  const { endpoints } = isJsonObject(given) ? given : {};
  return Array.isArray(endpoints) ? endpoints : [];
}

function pathOf(field: string): (string | number)[] {
  if (field === '') return [];
  return field.split('.').map((key) => (/^\d+$/.test(key) ? Number(key) : key));
}

/** Returns what is wrong with `publicUrl` for a cluster; undefined if nothing, or if the schema rejects it already. */
function publicUrlProblem(given: unknown): string | undefined {
  const file = isJsonObject(given) ? given : {};
  const { publicUrl, insecure } = readFields(serviceSchema.shape, file);
  const isWrong = publicUrl === undefined && Object.hasOwn(file, 'publicUrl');
  return isWrong ? undefined : publicUrlExpected(publicUrl, insecure ?? false);
}

export interface ServiceSettings {
  /** IP address or name of this machine; loopback by default. */
  host: string;
  /** Port; 0 picks a free one. */
  port: number;
  /** Address at which workers of a cluster reach the service, without a trailing slash. */
  publicUrl: string | undefined;
  /** Absolute paths of the certificate and key; undefined for plain HTTP. */
  tls: TlsFiles | undefined;
  /** True if plain HTTP to other machines is allowed. */
  isInsecure: boolean;
  /** Database and bucket that several processes share; undefined for a service of one process. */
  shared: SharedSettings | undefined;
  /** Addresses and ranges of trusted reverse proxies. */
  proxies: string[];
  /** Time for which inputs and outputs are kept after their job has ended. */
  retentionMs: number;
  limits: ServiceLimits;
  /** Time that running jobs have to end when the service stops. */
  graceMs: number;
  /** True if endpoints of the console may set which programs run on this machine. */
  hasConsolePrograms: boolean;
  /** True if webhooks may lead to this machine or its network; null if the service decides by how it is reached. */
  hasPrivateWebhooks: boolean | null;
  /** URL of the proxy for webhooks; undefined if they use none. */
  webhookProxy: string | undefined;
  /** Origins of other sites whose pages may use the job interface. */
  origins: string[];
  /** Additional host names of the service. */
  hosts: string[];
  endpoints: EndpointSettings[];
}

interface ServiceLimits {
  /** Maximum body of a submission. Larger ones are answered with 400. */
  maxBodyBytes: number;
  /** Maximum result of a worker. A larger one fails its job. */
  maxResultBytes: number;
  maxValues: number;
  /** Maximum requests of one key. Requests beyond it are answered with 429. */
  requestsPerSecond: number;
  maxConnections: number;
  /** Time without data after which an arriving request is refused. */
  requestTimeoutMs: number;
  bodyTimeMs: number;
  /** Maximum queued jobs of an endpoint that has no limit of its own. */
  maxQueued: number;
  /** Time without contact after which a pulling worker loses its job. */
  silenceMs: number;
}

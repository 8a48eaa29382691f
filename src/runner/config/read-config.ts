/** Reads pipeline.yaml, the environment and options into a checked `Config`, or reports every problem at once. */
import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import { dirname, resolve } from 'node:path';
import { pipelineIn } from '../../lib/files/glob.ts';
import { fileDescriber } from '../files/sent-files.ts';
import {
  type Config,
  downloadHint,
  type ListExpansion,
  manifestFiles,
  type NamedAxis,
  starredScenes,
  type StageSource,
} from './config.ts';
import {
  isLoopback,
  isPublicAddress,
  proxyFor,
  type ProxyRules,
  proxyRules,
} from '../../lib/net/addresses.ts';
import { ConfigError, gatherProblems, type Problem, secretsOf } from '../../lib/yaml/problem.ts';
import type { AxisSource } from './scene-schema.ts';
import type { RequestRate } from '../core/request-rate.ts';
import type { ServiceDescription } from '../core/service-description.ts';
import { readServiceInterface, withServiceDefaults, type ServiceInterface } from './service-interface.ts';
import { filesAsked, imageOf, isClipFile } from '../core/picture.ts';
import { checkAgainst, typedText } from '../../lib/yaml/check-shape.ts';
import { configSchema, endpointUrl, pipelineLayout, type CheckedFile } from './pipeline-schema.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../lib/text/json.ts';
import type { Path, YamlFile } from '../../lib/yaml/read-yaml.ts';
import { readYamlFile, type Override } from '../../lib/yaml/yaml-file.ts';
import { sendsFiles, type InputFiles, compileInput, type InputTemplate } from './input-template.ts';
import { compileName, compileTemplate, TemplateError, type Template } from './template.ts';

/** Names that `output.name` may use besides columns. */
export const nameValues = ['id', 'seed', 'index'];

/** `file` may be relative to the working directory. Later overrides take precedence. Throws `ConfigError`. */
export function readConfig(
  file: string,
  overrides: Override[],
  env: NodeJS.ProcessEnv,
  needsKey = true,
): Config {
  const { yaml: read, lacking } = withoutUnneededKeys(readYamlFile(file, env, { overrides }), needsKey);
  if (read.isBroken) throw new ConfigError(read.problems);
  const service = readServiceInterface(read, file, env);
  const yaml = withServiceDefaults(read, service);
  const secrets = secretsOf(yaml.value, env);
  const schema = configSchema(service.kind, hasLists(yaml.value));
  const { raw, problems } = checkAgainst<CheckedFile>(schema, yaml, secrets, pipelineLayout(service.kind));
  const report = (path: Path, text: string): void => void problems.push({ where: yaml.placeOf(path), text });
  const base = dirname(resolve(file));
  if (raw?.manifest !== undefined && raw.scenes?.from !== undefined)
    report(['manifest'], 'there is scenes.from as well; expected one of the two');
  const written = [raw?.manifest ?? []].flat();
  for (const [index, path] of written.entries()) {
    const hint = downloadHint(path);
    if (hint !== undefined) report(written.length > 1 ? ['manifest', index] : ['manifest'], hint);
  }
  const maxBytes = raw?.limits.body ?? 0;
  const withheld = [resolve(file), ...(raw === undefined ? [] : [resolve(base, raw.output.dir)])];
  const files = { describe: fileDescriber({ base, maxBytes, withheld }), maxBytes };
  const templates = compileTemplates(yaml, report, files, service);
  const apiKey = readKey(yaml, env, service, (path, text, isLack) => {
    if (isLack !== true || needsKey) report(path, text);
    else if (lacking.length === 0) lacking.push({ where: yaml.placeOf(path), text });
  });
  const comfyApiKey = readComfyKey(raw, report);
  const all = gatherProblems(yaml, problems, secrets);
  if (raw === undefined || all.length > 0) throw new ConfigError(all);
  const isOverridden = (key: string): boolean => overrides.some(({ path }) => path.join('.') === key);
  const manifest = written.map((path) => (path === '-' ? path : resolve(base, path)));
  const endpoint = endpointOf(raw, service);
  const statuses = 'statuses' in raw.endpoint ? raw.endpoint.statuses : {};
  const described = service.kind === 'described' ? service.description : undefined;
  const { jobs = Infinity, submissionsPerSecond, requestsPerSecond } = limitsOf(service);
  const image = imageOf(raw.output);
  const output = {
    ...raw.output,
    dir: resolve(base, raw.output.dir),
    isOverridden: isOverridden('output.dir'),
    name: templates.name,
    image,
    files: filesAsked(image, raw.output.files),
    hosts: [...raw.output.hosts, ...(described?.hosts ?? hostsAt(endpoint))],
  };
  const proxies = proxyRules(env, raw.proxy === 'all');
  const wrongProxies = proxyProblems(addressesOf(endpoint, output, raw), proxies);
  if (needsKey && wrongProxies.length > 0) throw new ConfigError(wrongProxies);
  return {
    ...raw,
    service,
    file: resolve(file),
    proxies,
    folder: base,
    env,
    manifest,
    manifestFiles: manifestFiles(manifest, output.dir),
    isManifestOverridden: isOverridden('manifest'),
    stage: stageOf(raw, base),
    scenes: scenesOf(raw, base),
    endpoint,
    statuses,
    policy: 'policy' in raw.endpoint ? raw.endpoint.policy : undefined,
    apiKey,
    comfyApiKey,
    freshness: raw.endpoint.freshness,
    keepsMs: keepsOf(described, endpoint),
    input: templates.input,
    concurrency: Math.min(raw.concurrency, jobs),
    maxConcurrency: service.kind === 'comfyui' || isOwnNetwork(endpoint.baseUrl) ? 0 : Math.min(jobs, 10_000),
    rate: {
      submit: withinRate(raw.rate.submit, submissionsPerSecond),
      status: withinRate(raw.rate.status, requestsPerSecond),
    },
    timeouts: { ...raw.timeouts, request: requestTimeoutOf(raw) },
    output,
    outputDigest: outputDigest(output, raw.limits, described, statuses),
    terminal: { ...raw.terminal, log: raw.terminal.log && resolve(base, raw.terminal.log) },
    warnings: [
      ...warningsOf(raw, yaml, jobs),
      ...[...lacking, ...wrongProxies].map(({ where, text }) => `${where}: ${text}; a run needs it`),
    ],
    placeOf: (path, ofKey) => yaml.placeOf(path, ofKey),
  };
}

/** Returns the problems of variables whose proxies lead to these addresses, each once. */
function proxyProblems(addresses: URL[], rules: ProxyRules): Problem[] {
  const found = new Set<Problem>();
  for (const address of addresses)
    try {
      proxyFor(address, rules);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const problem of error.problems) found.add(problem);
    }
  return [...found];
}

/** Returns the addresses to which a run sends requests, besides buckets. Of hosts such as `*.example`, one host. */
function addressesOf(
  { baseUrl }: Config['endpoint'],
  { hosts }: Pick<Config['output'], 'hosts'>,
  { notify }: CheckedFile,
): URL[] {
  const pictures = hosts.map((host) => (host.includes('://') ? host : `https://${host.replace('*', 'any')}`));
  const notices = notify.filter(({ kind }) => kind !== 'command').map(({ to }) => to);
  return [...(baseUrl === 'local' ? [] : [baseUrl]), ...pictures, ...notices].map((url) => new URL(url));
}

/** True if `scenes` can make scenes without a manifest, so that the manifest is optional. */
function hasLists(value: unknown): boolean {
  const scenes = isJsonObject(value) ? value['scenes'] : undefined;
  if (!isJsonObject(scenes)) return false;
  const { from: source, matrix, zip } = scenes;
  return source !== undefined || [matrix, zip].some((axes) => isJsonObject(axes));
}

function stageOf({ scenes }: CheckedFile, base: string): StageSource | undefined {
  if (scenes?.from === undefined) return undefined;
  const { from, keep, ids, best } = scenes;
  const path = ids === undefined || ids === starredScenes ? ids : resolve(base, ids);
  return { from: pipelineIn(resolve(base, from)), keep, ids: path, best };
}

function scenesOf({ scenes }: CheckedFile, base: string): ListExpansion | undefined {
  if (scenes === undefined) return undefined;
  const { from, matrix, zip, seeds } = scenes;
  if (from !== undefined && (matrix ?? zip ?? seeds) === undefined && scenes.exclude.length === 0)
    return undefined;
  const axesOf = (list: [string, AxisSource][] = []): NamedAxis[] =>
    list.map(([name, source]) => {
      if (source.kind === 'values') return { name, source };
      return { name, source: { ...source, path: resolve(base, source.path) } };
    });
  return {
    matrix: axesOf(matrix),
    zip: axesOf(zip),
    exclude: scenes.exclude.map((rule) => new Map(rule)),
    seeds: seeds ?? 0,
    until: scenes.until,
  };
}

/**
 * Removes keys that are not needed (local service, plan), so that their variables need not be set. `lacking`:
 * problems with variables that a run would need.
 */
function withoutUnneededKeys(yaml: YamlFile, needsKey: boolean): { yaml: YamlFile; lacking: Problem[] } {
  const isLocal = textAt(yaml, 'baseUrl') === 'local';
  const lacking: Problem[] = [];
  let kept = yaml;
  for (const key of ['apiKey', 'comfyApiKey']) {
    const path = ['endpoint', key];
    const where = yaml.placeOf(path);
    const found = yaml.problems.filter((problem) => problem.where === where);
    const isNeedless = isLocal
      ? yaml.writtenAs(path) === '${NIGHTRENDER_API_KEY}'
      : !needsKey && found.length > 0 && yaml.writtenAs(path) !== undefined;
    if (!isNeedless) continue;
    const value = structuredClone(kept.value) as { endpoint: Record<string, unknown> };
    delete value.endpoint[key];
    kept = { ...kept, value, problems: kept.problems.filter((problem) => problem.where !== where) };
    if (!isLocal) lacking.push(...found);
  }
  return { yaml: kept, lacking };
}

/** Compiles the templates of the file. Skips values of a wrong shape, which are reported elsewhere. */
function compileTemplates(
  yaml: YamlFile,
  report: (path: Path, text: string) => void,
  files: InputFiles,
  service: ServiceInterface,
): { input: InputTemplate | undefined; name: Template | undefined } {
  const root: JsonObject = isJsonObject(yaml.value) ? yaml.value : {};
  const reportTemplate = (path: Path, text: string): void => {
    // A variable may contain a key, which Liquid's message would quote.
    const reason = yaml.fromEnvironment(path) === 'none' ? `: ${text}` : ' after its variables are replaced';
    report(path, `invalid template${reason}`);
  };
  const input =
    service.kind === 'comfyui'
      ? compileSet(root, service.sha256, {
          yaml,
          report,
          reportTemplate,
          files: { ...files, canUpload: true },
        })
      : isJsonObject(root['input'])
        ? compileInput(withVariables(root['input'], ['input'], yaml, report), reportTemplate, files)
        : undefined;
  const output = isJsonObject(root['output']) ? root['output'] : {};
  const written = output['name'];
  if (typeof written !== 'string') return { input, name: undefined };
  return {
    input,
    name: nameOf(withVariables(written, ['output', 'name'], yaml, report), reportTemplate),
  };
}

interface Compiling {
  yaml: YamlFile;
  report: (path: Path, text: string) => void;
  reportTemplate: (path: Path, text: string) => void;
  files: InputFiles;
}

/** Compiles what a scene sets in a workflow, with the workflow's digest: an edit makes other scenes. */
function compileSet(
  root: JsonObject,
  workflow: string,
  { yaml, report, reportTemplate, files }: Compiling,
): InputTemplate | undefined {
  if (root['input'] !== undefined)
    report(
      ['input'],
      'input is not used with ComfyUI, which is sent endpoint.workflow; set its inputs in endpoint.set',
    );
  const path = ['endpoint', 'set'];
  const set = isJsonObject(root['endpoint']) ? root['endpoint']['set'] : undefined;
  if (!isJsonObject(set)) return undefined;
  const compiled = compileInput(withVariables(set, path, yaml, report), reportTemplate, files, path);
  return {
    ...compiled,
    text: JSON.stringify({ workflow, set: JSON.parse(compiled.text) as JsonValue }),
    render: (columns, known) => ({ workflow, set: compiled.render(columns, known) }),
  };
}

/** Replaces variables in `input` by typed values. Reports a variable that contains a placeholder. */
function withVariables<T extends JsonValue>(
  value: T,
  path: (string | number)[],
  yaml: YamlFile,
  report: (path: Path, text: string) => void,
): T {
  if (Array.isArray(value))
    return value.map((item, i) => withVariables(item, [...path, i], yaml, report)) as T;
  if (isJsonObject(value)) {
    const entries = Object.entries(value).map(([key, item]) => [
      key,
      withVariables(item, [...path, key], yaml, report),
    ]);
    return Object.fromEntries(entries) as T;
  }
  const written = yaml.writtenAs(path);
  if (typeof value !== 'string' || written === undefined) return value;
  if (delimitersIn(value) !== delimitersIn(written)) {
    report(path, 'a variable contains {{ or {%; placeholders are allowed in the file only');
    return '' as T;
  }
  return (yaml.fromEnvironment(path) === 'whole' ? typedText(value) : value) as T;
}

function delimitersIn(text: string): number {
  return text.match(/\{[{%]|[}%]\}/g)?.length ?? 0;
}

function nameOf(text: string, report: (path: Path, text: string) => void): Template {
  try {
    if (sendsFiles(text))
      throw new TemplateError('file_base64 and upload work only in `input` and `endpoint.set`');
    return compileName(text);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    report(['output', 'name'], error.message);
    return compileTemplate('');
  }
}

/** Returns the API key, the file's before NIGHTRENDER_API_KEY. A development server accepts any. */
function readKey(
  yaml: YamlFile,
  env: NodeJS.ProcessEnv,
  service: ServiceInterface,
  report: (path: Path, text: string, isLack?: boolean) => void,
): string | undefined {
  const baseUrl = textAt(yaml, 'baseUrl');
  if (baseUrl === undefined || baseUrl === 'local') return undefined;
  const variable = keyVariableOf(service);
  const isOptional = variable === undefined || textAt(yaml, 'version') === 'dev';
  const fallback = isOptional || service.kind !== 'jobs' ? undefined : env['NIGHTRENDER_API_KEY'];
  const apiKey = textAt(yaml, 'apiKey') ?? fallback ?? '';
  if (apiKey === '') {
    if (!isOptional && valueAt(yaml, 'apiKey') === undefined)
      report(
        ['endpoint', 'apiKey'],
        `endpoint.apiKey is missing; write apiKey: \${${variable}} and set the variable`,
        true,
      );
  } else if (!isKey(apiKey)) report(['endpoint', 'apiKey'], wrongKey);
  return apiKey;
}

function isKey(text: string): boolean {
  return /^(?!["'])[\u0021-\u007E]+$/.test(text);
}

const wrongKey =
  'the key contains a space, a line break, quotes around it or another invalid character; expected the key as issued';

/** Returns the key of partner nodes. It is part of a request's body, so nothing else protects it on the way. */
function readComfyKey(
  raw: CheckedFile | undefined,
  report: (path: Path, text: string) => void,
): string | undefined {
  if (raw === undefined || !('comfyApiKey' in raw.endpoint)) return undefined;
  const { comfyApiKey: key, baseUrl } = raw.endpoint;
  if (key === undefined) return undefined;
  const path = ['endpoint', 'comfyApiKey'];
  if (!isKey(key)) report(path, wrongKey);
  if (isPlainHttp(baseUrl))
    report(
      path,
      `endpoint.comfyApiKey would travel unencrypted to ${baseUrl}; expected an https address, or ComfyUI on this machine, for example by an SSH tunnel`,
    );
  return key;
}

/** Returns undefined if the service needs no key. */
function keyVariableOf(service: ServiceInterface): string | undefined {
  if (service.kind === 'jobs') return 'NIGHTRENDER_API_KEY';
  if (service.kind === 'comfyui') return undefined;
  const { auth, keyVariable } = service.description;
  return Object.values(auth).some((text) => text.includes('apiKey')) ? keyVariable : undefined;
}

function textAt(yaml: YamlFile, key: string): string | undefined {
  const value = valueAt(yaml, key);
  return typeof value === 'string' ? value : undefined;
}

function valueAt({ value }: YamlFile, key: string): unknown {
  const root = value as { endpoint?: Record<string, unknown> | null } | null | undefined;
  return root?.endpoint?.[key];
}

function endpointOf({ endpoint }: CheckedFile, service: ServiceInterface): Config['endpoint'] {
  const baseUrl = endpointUrl(endpoint.baseUrl);
  if ('version' in endpoint) return { baseUrl, id: endpoint.id, version: endpoint.version };
  const version = service.kind === 'described' ? service.description.name : service.kind;
  return { baseUrl, id: 'id' in endpoint ? endpoint.id : '', version };
}

/** Returns the time limit of a request in ms. A development server renders during a status request. */
function requestTimeoutOf({ endpoint, timeouts }: CheckedFile): number {
  const isDev = 'version' in endpoint && endpoint.version === 'dev';
  return isDev ? Math.max(timeouts.request, timeouts.execution) : timeouts.request;
}

function outputDigest(
  { image, media, files, values, hosts }: Config['output'],
  { body, pixels, download }: Config['limits'],
  described: ServiceDescription | undefined,
  statuses: Config['statuses'],
): string {
  const places = described && [described.result, described.status.map];
  const hasClips = media !== undefined || files.some(({ kind }) => isClipFile(`.${kind}`));
  // Without clips, the digest stays as batches of earlier versions have recorded it.
  const ofClips = hasClips ? [media, download] : [];
  const settings = [image, files, values, hosts, body, pixels, places, statuses, ...ofClips];
  return hash('sha256', JSON.stringify(settings));
}

/** Hosts of the pictures of public endpoints, by the host of their service: https://docs.runpod.io/hub/public-endpoints. */
const publicHosts: Readonly<Record<string, string[]>> = {
  'api.runpod.ai': ['image.runpod.ai', 'video.runpod.ai', 'audio.runpod.ai'],
};

function hostsAt({ baseUrl }: Config['endpoint']): string[] {
  return (baseUrl.startsWith('https:') && publicHosts[new URL(baseUrl).host]) || [];
}

/** No job service deletes a result before this time. */
const defaultKeepsMs = 30 * 60_000;

/** Returns how long results are surely kept. An archive elsewhere is not asked if the pipeline sets another base URL. */
function keepsOf(described: ServiceDescription | undefined, { baseUrl }: Config['endpoint']): number {
  const { archive, baseUrl: usual = baseUrl, keepsMs = defaultKeepsMs } = described ?? {};
  const isElsewhere = archive !== undefined && /^https?:/i.test(archive.url);
  const isAsked = !isElsewhere || new URL(usual).origin === new URL(baseUrl).origin;
  return isAsked ? keepsMs : Math.min(keepsMs, defaultKeepsMs);
}

/** ComfyUI runs one job at a time, and loses all waiting jobs when it is restarted. */
const comfyuiLimits: ServiceDescription['limits'] = { jobs: 8 };

function limitsOf(service: ServiceInterface): ServiceDescription['limits'] {
  if (service.kind === 'comfyui') return comfyuiLimits;
  return service.kind === 'described' ? service.description.limits : {};
}

function withinRate({ atOnce, perTenSeconds }: RequestRate, perSecond = Infinity): RequestRate {
  return { atOnce, perTenSeconds: Math.max(1, Math.min(perTenSeconds, Math.floor(perSecond * 10))) };
}

/** Returns warnings about settings that work and should be changed, each with its place. */
function warningsOf(raw: CheckedFile, yaml: YamlFile, jobs: number): string[] {
  const { baseUrl, apiKey } = raw.endpoint;
  const warnings: string[] = [];
  for (const [key, variable] of [
    ['apiKey', 'NIGHTRENDER_API_KEY'],
    ['comfyApiKey', 'COMFY_KEY'],
  ] as const)
    if (valueAt(yaml, key) !== undefined && yaml.fromEnvironment(['endpoint', key]) === 'none')
      warnings.push(
        `${yaml.placeOf(['endpoint', key])}: the API key is written in the file; write \${${variable}} and keep the key in the environment`,
      );
  const [ending] = /\.(jpe?g|webp|avif|gif|tiff?|bmp)$/i.exec(raw.output.name ?? '') ?? [];
  if (ending !== undefined && raw.output.media === undefined)
    warnings.push(
      raw.output.keep === 'original'
        ? `${yaml.placeOf(['output', 'name'])}: pictures get the ending of their format, after ${ending}; leave ${ending} out`
        : `${yaml.placeOf(['output', 'name'])}: pictures stay PNG, and are called …${ending}.png; leave ${ending} out, and make copies in other formats with output.formats, or keep pictures as they come with output.keep`,
    );
  if (isJsonObject(yaml.value) && yaml.value['concurrency'] !== undefined && raw.concurrency > jobs)
    warnings.push(
      `${yaml.placeOf(['concurrency'])}: concurrency is ${raw.concurrency}, and this service accepts ${jobs} jobs at once`,
    );
  const { executionTimeout = 0 } = ('policy' in raw.endpoint && raw.endpoint.policy) || {};
  if (executionTimeout > raw.timeouts.execution)
    warnings.push(
      `${yaml.placeOf(['endpoint', 'policy', 'executionTimeout'])}: the run gives a job up after \`timeouts.execution\`, which is shorter; make it as long`,
    );
  if (isPlainHttp(baseUrl) && ('version' in raw.endpoint || apiKey !== undefined)) {
    warnings.push(
      `${yaml.placeOf(['endpoint', 'baseUrl'])}: plain http: the API key and the prompts travel unencrypted`,
    );
  }
  return warnings;
}

/** True if the service is on this machine or its network, where the number of workers is fixed. */
function isOwnNetwork(baseUrl: string): boolean {
  if (baseUrl === 'local') return true;
  const { hostname } = new URL(baseUrl);
  const isName = isIP(hostname) === 0 && hostname.includes('.');
  return isLoopback(hostname) || (!isName && !isPublicAddress(hostname));
}

function isPlainHttp(baseUrl: string): boolean {
  if (baseUrl === 'local') return false;
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'http:' && !isLoopback(hostname);
}

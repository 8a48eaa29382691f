/** `nightrender serve`: runs the job service. */
import { textIn } from './reply.ts';
import { availableParallelism, hostname } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import {
  checkEndpoint,
  endpointFields,
  endpointTexts,
  readCatalogue,
} from '../service/config/check-endpoint.ts';
import { publicUrlExpected, writtenEndpoint } from '../service/config/endpoint-schema.ts';
import { ConfigError } from '../lib/yaml/problem.ts';
import { triedThumbnail } from '../runner/images/other-formats.ts';
import { readService, type ServiceSettings } from '../service/config/read-service.ts';
import { makeFolder } from '../runner/files/folders.ts';
import { endpointSettings, type EndpointSettings } from '../service/model/endpoint-settings.ts';
import { readTls } from '../lib/http/tls-files.ts';
import { fitsHeader, isValid, type KeyRecord } from '../service/model/key.ts';
import type { SharedOptions } from '../service/instance/service-options.ts';
import { type Service, startService } from '../service/instance/start-service.ts';
import { hideEnvironment } from '../service/workloads/worker-environment.ts';
import { reserveIn } from '../service/jobs/data-folder.ts';
import { readFileSync, rmSync } from 'node:fs';
import { outColumns, writeError, writeOut, writeJsonLine } from '../terminal/terminal.ts';
import { wrapIndented } from '../terminal/fit-text.ts';
import { isLoopback, proxyRules } from '../lib/net/addresses.ts';
import { builtPage } from '../lib/http/http-response.ts';
import { manualPage } from './help.ts';
import {
  dataOption,
  defaultDataDir,
  hasKeyStore,
  isFullDiskOf,
  refuseService,
  withKeyStore,
  printServiceFailure,
} from './service-data.ts';
import { shownPath } from '../batch/refusal.ts';
import { commonExits, type LoadedCommand, oneText, textOption, wholeNumber } from './command.ts';
import { untilSignal } from './signals.ts';
import { program } from '../lib/files/package-file.ts';
import {
  containerSign,
  gpuSign,
  removeContainersLeftIn,
  workloadNeeds,
} from '../service/workloads/machine-needs.ts';
import { slurmWorkload, workloadOf } from '../service/workloads/workload-of.ts';
import { parsePostgresAddress } from '../lib/postgres/postgres.ts';
import type { SharedSettings } from '../service/config/service-schema.ts';
import { schemaParameter } from '../service/replication/page-store.ts';
import { openBucket } from '../batch/pictures-place.ts';
import sharp from 'sharp';

/** Limit for pictures returned by workers, which may have any dimensions. */
const maxThumbnailPixels = 64_000_000;

export const serveCommand: LoadedCommand = {
  purpose: `Serves the job interface and a console until SIGINT or SIGTERM. Endpoints, workers and limits come from service.yaml (nightrender init --service creates one) and from the console; without a file there is one endpoint, scene-renderer. The key is NIGHTRENDER_API_KEY, or in the file that NIGHTRENDER_API_KEY_FILE names; without it, the first start creates and prints one, and nightrender keys adds more.`,
  positionals: { service: { type: 'string', describe: 'the service.yaml' } },
  options: {
    host: {
      ...textOption,
      describe: 'address to listen on (default: 127.0.0.1); any other needs a key and TLS',
    },
    port: { requiresArg: true, describe: 'port (default: 4747); 0 for a free one' },
    insecure: {
      type: 'boolean',
      describe: 'allows plain HTTP to other machines: keys and pictures can be read on the way',
    },
    data: {
      ...textOption,
      describe: 'folder for jobs and keys (default: ~/.local/share/nightrender)',
    },
    retention: {
      ...textOption,
      describe: 'results are deleted this long after completion (default: 30m)',
    },
    endpoint: { ...textOption, describe: 'without a file: id of the endpoint (default: scene-renderer)' },
    workers: {
      requiresArg: true,
      describe: 'without a file: jobs at once (default: one per processor)',
    },
    json: { type: 'boolean', describe: 'print the address as JSON' },
  },
  examples: [
    ['$0 serve service.yaml', 'the endpoints of the file, and those of the console'],
    ['$0 serve', 'the endpoint scene-renderer; jobs survive a crash'],
    ['$0 serve --port 0 --json', 'for a script: a free port, printed as JSON'],
  ],
  exits: {
    ...commonExits,
    complete: 'stopped by SIGINT or SIGTERM',
    'wrong-use': 'wrong use, or the port is in use',
    'already-running': 'another service uses this folder',
  },
  work: (argv) => serve(textIn(argv, 'service') || undefined, argv),
};

const withoutScript =
  'This page needs JavaScript. Without it, use service.yaml and <code>nightrender keys</code>.';

/** Reserve for ending jobs on a full disk: the largest log, the growth by merging it, and a margin. */
const roomToEndJobs = 24 * 1024 * 1024;

/** Serves until SIGINT or SIGTERM; resolves to the exit code. */
async function serve(file: string | undefined, argv: Record<string, unknown>): Promise<number> {
  let dataDir: string | undefined;
  // Workloads of the same user could read the service's key there.
  hideEnvironment();
  try {
    const dir = (dataDir = resolve(oneText(argv, 'data') ?? defaultDataDir()));
    const { service, stopped } = await start(file, argv, dir, false).catch((thrown: unknown) => {
      if (!isFullDiskOf(thrown, dir)) throw thrown;
      // The reserve is freed, so that the start has the space that it needs.
      rmSync(reserveIn(dir), { force: true });
      return start(file, argv, dir, true);
    });
    await stopped;
    await service.close();
    return 0;
  } catch (thrown) {
    return refuseService(thrown, dataDir, argv['json'] === true);
  }
}

interface Started {
  service: Service;
  /** Resolves at the first signal. */
  stopped: Promise<void>;
}

/** Starts the service. With `isDiskFull` it begins no job until the disk has space again. */
async function start(
  file: string | undefined,
  argv: Record<string, unknown>,
  dataDir: string,
  isDiskFull: boolean,
): Promise<Started> {
  const settings = settingsOf(file, argv);
  const givenKey = givenKeyOf(process.env);
  assertProtected(settings, keyAdvice(file, argv), givenKey !== undefined || hasKey(dataDir));
  makeFolder(dataDir, 0o700);
  const needs = workloadNeeds(dataDir, printServiceFailure);
  const folder = file === undefined ? process.cwd() : dirname(resolve(file));
  const { shared } = settings;
  const store = shared && (await sharedOptions(shared, givenKey !== undefined, printServiceFailure));
  const service = await startService({
    dataDir,
    isDiskFull,
    graceMs: settings.graceMs,
    host: settings.host,
    port: settings.port,
    publicUrl: settings.publicUrl,
    tls: settings.tls,
    store,
    proxies: settings.proxies,
    keys: givenKey === undefined ? [] : [givenKey.key],
    endpoints: settings.endpoints,
    workloadOf: (endpoint, context) => {
      if (endpoint.on !== undefined) return slurmWorkload(endpoint, endpoint.on, context, folder);
      printMissing(endpoint);
      printUnbound(endpoint);
      return workloadOf(endpoint).start?.(endpoint, { ...context, ...needs });
    },
    retentionMs: settings.retentionMs,
    maxRequestBytes: settings.limits.maxBodyBytes,
    maxResultBytes: settings.limits.maxResultBytes,
    maxValues: settings.limits.maxValues,
    rate: { requests: settings.limits.requestsPerSecond * 10, withinMs: 10_000 },
    reserveBytes: roomToEndJobs,
    maxConnections: settings.limits.maxConnections,
    requestTimeoutMs: settings.limits.requestTimeoutMs,
    bodyTimeMs: settings.limits.bodyTimeMs,
    silenceMs: settings.limits.silenceMs,
    origins: settings.origins,
    hosts: settings.hosts,
    ...(settings.webhookProxy !== undefined && { webhookProxy: settings.webhookProxy }),
    ...(settings.hasPrivateWebhooks !== null && { hasPrivateWebhooks: settings.hasPrivateWebhooks }),
    console: {
      page: builtPage('console', withoutScript),
      manual: manualPage,
      program,
      file: file === undefined ? null : basename(file),
      gpus: gpuSign(),
      catalogue: readCatalogue(),
      containerLack: containerSign(),
      thumbnailOf: (picture) =>
        triedThumbnail(() => sharp(picture, { limitInputPixels: maxThumbnailPixels })),
      forms: {
        check: (given, others, before) =>
          checkEndpoint(given, {
            others,
            before,
            hasPrograms: settings.hasConsolePrograms,
            env: process.env,
            publicUrl: settings.publicUrl,
            folder,
            maxQueued: settings.limits.maxQueued,
            publicUrlExpected: publicUrlExpected(settings.publicUrl, settings.isInsecure),
          }),
        show: writtenEndpoint,
        texts: endpointTexts,
        fields: () => endpointFields(settings.limits.maxQueued),
      },
    },
    onProblem: printServiceFailure,
  });
  removeContainersLeftIn(dataDir, needs, printServiceFailure);
  // Created after the start, because a service that fails to start would never show it.
  const newKey = givenKey === undefined ? makeFirstKey(dataDir, settings.host) : undefined;
  const stopped = untilSignal();
  const endpoints = settings.endpoints.map(({ id, name }) => ({ id, name }));
  printServing(
    {
      url: service.url,
      name: settings.tls && readTls(settings.tls, Date.now()).names.find((name) => !name.startsWith('*')),
      endpoints,
      dataDir,
      shownDataDir: shownPath(dataDir),
      dataOption: dataOption(argv),
      newKey,
      givenKey: givenKey?.variable,
    },
    argv['json'] === true,
  );
  return { service, stopped };
}

/** Warns of what a console endpoint lacks on this machine. For one of the file, the start is refused. */
function printMissing(settings: EndpointSettings): void {
  for (const { field, expected } of workloadOf(settings).missing?.(settings, process.env) ?? [])
    printServiceFailure(
      `endpoint ${settings.id}: ${field}: expected ${expected}; its jobs wait until it is there`,
    );
}

/** Warns if an endpoint has no keys for container rights: its containers keep their old ones. */
function printUnbound(settings: EndpointSettings): void {
  const missing = workloadOf(settings).unbounded?.(settings) ?? [];
  if (missing.length > 0)
    printServiceFailure(
      `endpoint ${settings.id}: its containers run with the rights of earlier versions; write ${missing.join(' and ')}: nightrender help workers`,
    );
}

interface GivenKey {
  key: string;
  /** Environment variable that holds the key, or the path of its file. */
  variable: string;
}

/** Returns the key from the environment or its file. Throws `ConfigError` if no client could send the key. */
function givenKeyOf({ [keyName]: own, [keyFileName]: file }: NodeJS.ProcessEnv): GivenKey | undefined {
  const [variable, key] = file === undefined ? [keyName, own] : [keyFileName, keyIn(file)];
  const refuseKey = (text: string) => new ConfigError([{ where: variable, text }]);
  if (file !== undefined && own !== undefined)
    throw refuseKey(`is set, and so is ${keyName}; unset one of them`);
  if (key === undefined && file === undefined) return undefined;
  if (key === undefined)
    throw refuseKey(`${file || 'an empty path'} cannot be read; expected a file with a key`);
  if (fitsHeader(key)) return { key, variable };
  const what = key === '' ? 'is empty' : 'holds characters that a header cannot carry';
  throw refuseKey(`${what}; set it to a key, or unset it and use one of \`nightrender keys\``);
}

const keyName = 'NIGHTRENDER_API_KEY';
const keyFileName = 'NIGHTRENDER_API_KEY_FILE';

/** Returns the key, or undefined if the file cannot be read. */
function keyIn(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

function keyAdvice(file: string | undefined, argv: Record<string, unknown>) {
  const where = argv['host'] === undefined ? `${shownPath(resolve(file ?? ''))}: host` : '--host';
  return { where, addCommand: `nightrender keys add NAME --kind admin${dataOption(argv)}` };
}

/** Reads the settings. Without a file, there is one endpoint: the scene renderer. */
function settingsOf(file: string | undefined, argv: Record<string, unknown>): ServiceSettings {
  const given = ['host', 'port', 'retention', 'insecure'].flatMap((name) => {
    const value = argv[name];
    return value === undefined
      ? []
      : [{ path: [name], value: value as string | number | boolean, from: `--${name}` }];
  });
  const settings = readService(file, given, process.env);
  const id = oneText(argv, 'endpoint');
  const workers = argv['workers'];
  if (file === undefined) {
    const one = endpointSettings({
      id: id ?? 'scene-renderer',
      workers: workers === undefined ? availableParallelism() : wholeNumber(argv, 'workers', 1, 1_000),
      quickStart: true,
      maxQueued: settings.limits.maxQueued,
    });
    return { ...settings, endpoints: [one] };
  }
  const misplaced = Object.entries({ endpoint: id, workers }).filter(([, value]) => value !== undefined);
  if (misplaced.length === 0) return settings;
  throw new ConfigError(
    misplaced.map(([name]) => ({
      where: `--${name}`,
      text: `endpoints come from the file; leave out --${name}`,
    })),
  );
}

/** Throws `ConfigError` if other machines could reach the service without a key, or unencrypted. */
function assertProtected(
  settings: ServiceSettings,
  { where, addCommand }: KeyAdvice,
  isKeyed: boolean,
): void {
  const { host, tls, isInsecure } = settings;
  if (isLoopback(host)) return;
  const keyless = `${host} is open to other machines, but the service has no key yet; add one with \`${addCommand}\`, or set NIGHTRENDER_API_KEY`;
  const clear = `${host} is open to other machines, and anybody on the way could read keys and pictures; set \`tls\`, or \`insecure: true\` (--insecure) in a network that you trust`;
  const texts = [...(isKeyed ? [] : [keyless]), ...(tls !== undefined || isInsecure ? [] : [clear])];
  if (texts.length > 0) throw new ConfigError(texts.map((text) => ({ where, text })));
}

interface KeyAdvice {
  /** Place where the host is set. */
  where: string;
  addCommand: string;
}

/** Creates the first admin key. Undefined if there is a valid one, or if other machines can reach the service. */
function makeFirstKey(dataDir: string, host: string): string | undefined {
  if (!isLoopback(host)) return undefined;
  return withKeyStore(dataDir, (keys) => {
    const isAdmin = (key: KeyRecord): boolean => key.kind === 'admin' && !key.isReadOnly;
    if (keys.list().some((key) => isAdmin(key) && isValid(key, Date.now()))) return undefined;
    const taken = new Set(keys.list().map(({ name }) => name.toLowerCase()));
    const name = ['first', ...Array.from(taken, (_, index) => `first-${index + 2}`)].find(
      (text) => !taken.has(text),
    );
    return keys.add({ name: name ?? 'first', kind: 'admin', endpoints: null }).key;
  });
}

/** True if there is a valid key; does not create the key store. */
function hasKey(dataDir: string): boolean {
  if (!hasKeyStore(dataDir)) return false;
  return withKeyStore(dataDir, (keys) => keys.list().some((key) => isValid(key, Date.now())));
}

/** Returns the store that several processes share. Throws `ConfigError` if variables or packages are missing. */
async function sharedOptions(
  { store, files, peerUrl }: SharedSettings,
  hasGivenKey: boolean,
  onChange: (text: string) => void,
): Promise<SharedOptions> {
  if (!hasGivenKey) {
    const text = 'is not set; the processes that share a store need the same key to begin with';
    throw new ConfigError([{ where: 'NIGHTRENDER_API_KEY', text }]);
  }
  const address = parsePostgresAddress(store, [schemaParameter]);
  const bucket =
    files === undefined
      ? undefined
      : await openBucket(files, process.env, { proxies: proxyRules(process.env), onTrouble: writeError });
  return { address, bucket, reachedAt: peerUrl, onChange };
}

interface Serving {
  url: string;
  /** Name that the certificate is valid for; undefined without TLS. */
  name: string | undefined;
  /** Endpoints of the file; the console may have more. */
  endpoints: { id: string; name: string }[];
  dataDir: string;
  shownDataDir: string;
  /** `--data` for commands, if it was given; else empty. */
  dataOption: string;
  /** First key of this data folder, if this start created it. */
  newKey: string | undefined;
  /** Environment variable that provided a key; undefined if none did. */
  givenKey: string | undefined;
}

function printServing(serving: Serving, json: boolean): void {
  const { url, endpoints, dataDir, newKey } = serving;
  const apiKey = newKey === undefined ? {} : { apiKey: newKey };
  if (json) {
    const endpointIds = endpoints.map(({ id }) => id);
    return writeJsonLine('serving', { url, endpointIds, dataDir, ...apiKey });
  }
  writeOut([...addressLines(serving), ...keyLines(serving), '', ...usageLines(serving)].join('\n'));
}

function addressLines({ url, name: certified, endpoints, shownDataDir }: Serving): string[] {
  const names = endpoints.map(({ id, name }) => (id === name ? id : `${name} (${id})`)).join(', ');
  const here = onThisMachine(url, certified);
  const others = `${url.replace(/\/\/(0\.0\.0\.0|\[::\]):/, `//${hostname()}:`)}, or this machine's address`;
  const lines: [string, string][] = [
    ['  console', `${here}/console/`],
    ...(here === url ? [] : ([['  others', others]] as [string, string][])),
    ['  endpoints', names || 'none yet: create one in the console'],
    ['  kept in', shownDataDir],
  ];
  return [
    `Listening on ${here}; stop with Ctrl-C.`,
    ...lines.flatMap(([name, text]) => wrapIndented(name, text, outColumns(), 13)),
  ];
}

/** Address for this machine: a wildcard cannot be called, and a certificate needs its name. */
function onThisMachine(url: string, name: string | undefined): string {
  if (name !== undefined) return `https://${name}:${new URL(url).port}`;
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function keyLines({ newKey, givenKey, dataOption: data }: Serving): string[] {
  if (givenKey !== undefined) return [`  key        the one in ${givenKey}`];
  if (newKey === undefined) return [`  key        one of \`nightrender keys list${data}\``];
  return [
    '',
    `The first key, shown only once (\`nightrender keys add NAME${data}\` creates more):`,
    '',
    `  NIGHTRENDER_API_KEY=${newKey}`,
  ];
}

function usageLines({ url, name, endpoints }: Serving): string[] {
  const [first] = endpoints;
  if (first === undefined) return ['Sign in to the console with the key.'];
  return [
    'In pipeline.yaml:',
    '',
    '  endpoint:',
    `    baseUrl: ${onThisMachine(url, name)}`,
    `    id: ${first.id}`,
    '    apiKey: ${NIGHTRENDER_API_KEY}',
  ];
}

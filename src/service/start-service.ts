/** The service: the job interface over HTTP, on one's own machine. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Console } from './console/console.ts';
import { Endpoints } from './endpoints.ts';
import { ApiRouter, RateLimit } from './api-router.ts';
import { ByteSemaphore } from '../lib/limits/byte-semaphore.ts';
import { TrustedProxies } from '../lib/net/trusted-proxies.ts';
import { CrossOrigin } from './http/cross-origin.ts';
import { type HttpServer, startHttpServer } from './http/http-server.ts';
import { JobOperations } from './job-operations.ts';
import { lockDataFolder, FolderWatch } from './jobs/data-folder.ts';
import { JobStore } from './jobs/job-store.ts';
import { JobResults } from './jobs/job-results.ts';
import { Admission } from './keys/admission.ts';
import { KeyStore } from './keys/key-store.ts';
import { Quotas } from './keys/quotas.ts';
import { OwnWorkerKeys } from './keys/key.ts';
import { checkServiceOptions, isLoopback, type ServiceOptions } from './service-options.ts';
import { Metrics } from './metrics.ts';
import { Sweeper } from './sweeper.ts';
import { Webhooks } from './webhooks/webhooks.ts';
import { WorkerOperations } from './worker-operations.ts';

export type { ServiceOptions } from './service-options.ts';

export interface Service {
  /** Without a slash at the end. */
  url: string;
  /** Running workloads are told to stop, and their jobs go back to the queue for the next start. */
  close(): Promise<void>;
}

type Checked = ReturnType<typeof checkServiceOptions>;

/**
 * Opens the store in the data folder, resumes its queue, and listens. Throws where the options are of
 * no use, `DataFolderInUse` where another service runs on the folder, and what the system says of folder and port.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const checked = checkServiceOptions(options);
  mkdirSync(checked.dataDir, { recursive: true, mode: 0o700 });
  const opened: (() => void)[] = [];
  try {
    const lock = lockDataFolder(join(checked.dataDir, 'lock.sqlite'));
    opened.push(() => lock.release());
    const ownWorkers = new OwnWorkerKeys();
    const clusterWorkers = checked.endpoints.some(({ on }) => on !== null)
      ? new OwnWorkerKeys(lastingSecret(checked.dataDir))
      : ownWorkers;
    const keys = openKeys(checked, [ownWorkers, clusterWorkers]);
    opened.push(() => keys.close());
    const path = join(checked.dataDir, 'service.sqlite');
    const store = new JobStore(path, checked);
    opened.push(() => store.close());
    const folder = new FolderWatch(checked.dataDir, [path, `${path}-wal`], checked.onProblem);
    const results = new JobResults({ ...checked, store });
    return await listen(checked, { keys, store, folder, results, ownWorkers, clusterWorkers, opened });
  } catch (error) {
    for (const close of opened.toReversed()) close();
    throw error;
  }
}

/** Workers of a cluster outlive the service: the next start knows their keys by this. */
function lastingSecret(dataDir: string): Buffer {
  const path = join(dataDir, 'cluster.key');
  const kept = existsSync(path) ? readFileSync(path) : undefined;
  // A crash may have left less than a secret.
  if (kept?.length === 32) return kept;
  const made = randomBytes(32);
  writeFileSync(path, made, { mode: 0o600 });
  return made;
}

/** Throws where the network would be let in without a key; on this machine one may be made later. */
function openKeys({ dataDir, keys, now, host }: Checked, ownWorkers: OwnWorkerKeys[]): KeyStore {
  const given = keys.map((key, index) => ({ name: `given-${index + 1}`, key, kind: 'admin' as const }));
  const store = new KeyStore(join(dataDir, 'keys.sqlite'), { given, ownWorkers, now });
  const hasKey = keys.length > 0 || store.list().some(({ revokedAt }) => revokedAt === null);
  if (hasKey || isLoopback(host)) return store;
  store.close();
  throw new Error(`the service needs at least one key: ${host} is not a loopback address`);
}

interface Opened {
  keys: KeyStore;
  store: JobStore;
  folder: FolderWatch;
  results: JobResults;
  ownWorkers: OwnWorkerKeys;
  /** Good for longer than this start of the service. */
  clusterWorkers: OwnWorkerKeys;
  /** Closes what is open, last first. */
  opened: (() => void)[];
}

async function listen(options: Checked, parts: Opened): Promise<Service> {
  const { store, folder, opened } = parts;
  const { onProblem, retentionMs, now, hasPrivateWebhooks: hasPrivate } = options;
  // Workers need its URL, so it listens before the endpoints open.
  let router: ApiRouter | undefined;
  const answerRequest = async (...asked: Parameters<ApiRouter['answer']>) => await router?.answer(...asked);
  const http = await startHttpServer({ ...options, tls: options.tls, answerRequest });
  const servers = [http];
  try {
    if (options.tls !== undefined) {
      // Workers that are started here need not know the certificate.
      const here = { ...options, tls: undefined, host: '127.0.0.1', port: 0 };
      servers.push(await startHttpServer({ ...here, answerRequest }));
    }
    const endpoints = openEndpoints(options, parts, servers.at(-1)?.url ?? http.url);
    router = openRouter(options, parts, endpoints, http.url);
    const sweeper = new Sweeper(store, folder, retentionMs, onProblem);
    const webhooks = new Webhooks({ store, onProblem, now, hasPrivate });
    let closing: Promise<void> | undefined;
    const close = () =>
      closeDown({ servers, endpoints, sweeper, webhooks, store, folder, opened, onProblem });
    return { url: http.url, close: () => (closing ??= close()) };
  } catch (error) {
    await Promise.all(servers.map((server) => server.close()));
    throw error;
  }
}

function openEndpoints(
  options: Checked,
  { store, results, ownWorkers, clusterWorkers }: Opened,
  url: string,
): Endpoints {
  const { workloadOf, silenceMs, onProblem, endpoints: given, publicUrl = url } = options;
  return new Endpoints({
    store,
    results,
    silenceMs,
    onProblem,
    given,
    workloadOf: (settings) =>
      settings.on === null
        ? workloadOf(settings, { url, workerKey: ownWorkers.keyOf(settings.id) })
        : workloadOf(settings, { url: publicUrl, workerKey: clusterWorkers.keyOf(settings.id) }),
  });
}

function openRouter(
  checked: Checked,
  { keys, store, folder, results }: Opened,
  endpoints: Endpoints,
  url: string,
): ApiRouter {
  const { maxResultBytes, rate, console, retentionMs, now } = checked;
  const bodies = new ByteSemaphore(checked.maxBodiesBytes);
  const jobs = new JobOperations({ ...checked, store, folder, bodies });
  // Around a result there is little else.
  const work = new WorkerOperations({ store, results, bodies, maxResultBytes: maxResultBytes + 1_000_000 });
  const admission = new Admission(keys, now);
  const proxies = new TrustedProxies(checked.proxies);
  const quotas = new Quotas(store, now);
  const common = { keys, admission, quotas, proxies, store, endpoints, jobs, now };
  return new ApiRouter({
    admission,
    quotas,
    proxies,
    endpoints,
    jobs,
    work,
    rates: new RateLimit(rate),
    metrics: new Metrics(store, now),
    crossOrigin: new CrossOrigin(checked.origins),
    webConsole:
      console &&
      new Console({
        ...common,
        ...console,
        about: { program: console.program, url, retentionMs, file: console.file },
      }),
  });
}

interface Parts extends Pick<Opened, 'store' | 'folder' | 'opened'> {
  servers: HttpServer[];
  endpoints: Endpoints;
  sweeper: Sweeper;
  webhooks: Webhooks;
  onProblem: (text: string) => void;
}

async function closeDown({
  servers,
  endpoints,
  sweeper,
  webhooks,
  store,
  folder,
  opened,
  onProblem,
}: Parts): Promise<void> {
  for (const server of servers) server.stopListening();
  sweeper.stop();
  await Promise.all([endpoints.stop(), webhooks.stop()]);
  // Clients get the ids of committed jobs before connections close.
  await store.flush();
  await nextTurn();
  await Promise.all(servers.map((server) => server.close()));
  folder.stop();
  for (const closeOne of opened.toReversed()) {
    try {
      closeOne();
    } catch (error) {
      // Nothing is lost: the next start finishes the clean-up.
      onProblem(`the service did not shut down cleanly: ${String(error)}`);
    }
  }
}

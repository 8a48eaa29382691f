/** Opens the service behind its HTTP servers: its files, its endpoints, and the router that answers requests. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import { isLoopback, type TrustedProxies } from '../../lib/net/addresses.ts';
import { ApiRouter, CrossOrigin } from '../http/api-router.ts';
import { AuditLog } from '../keys/audit-log.ts';
import { BodyRoom, ClientTurns, Quotas, RateLimit } from '../api/quotas.ts';
import { Console } from '../console/console.ts';
import { Endpoints } from '../workers/endpoints.ts';
import type { Connections } from '../http/connections.ts';
import { type AnswerRequest, KnownNames } from '../../lib/http/http-server.ts';
import { LoopDelay, Metrics } from '../api/metrics.ts';
import { openApi } from '../../protocol/openapi.ts';
import { JobOperations } from '../api/job-operations.ts';
import { FolderWatch } from '../jobs/data-folder.ts';
import { JobResults } from '../jobs/job-work.ts';
import { JobStore } from '../jobs/job-store.ts';
import { Admission } from '../keys/admission.ts';
import { isValid, OwnWorkerKeys } from '../model/key.ts';
import { KeyStore } from '../keys/key-store.ts';
import { mayBeBehindProxy, type CheckedOptions } from './service-options.ts';
import { Replica } from '../replication/committed-pages.ts';
import { Deposed, type Write } from '../replication/leadership.ts';
import type { SharedFiles } from '../replication/page-store.ts';
import { WebhookSecrets } from '../webhooks/webhook-secrets.ts';
import { Webhooks } from '../webhooks/webhooks.ts';
import { WorkerOperations } from '../api/worker-operations.ts';
import { formatDuration } from '../../lib/text/format.ts';

export interface Surroundings {
  /** Folder of the service's files. It must exist. */
  dataDir: string;
  /** Address of the service; with a shared store, the address at which other processes reach it. */
  url: string;
  /** Address of the service for workers that it starts on this machine. */
  workersUrl: string;
  proxies: TrustedProxies;
  /** Returns the host names in the current certificate, which may be renewed while the service runs. */
  certifiedNames: () => readonly string[];
  connections: Connections;
  /** Closes all connections after pending answers have been sent. */
  closeConnections: () => Promise<void>;
  /** Shared store; undefined for a service of one process. */
  shared?: SharedSurroundings;
}

export interface SharedSurroundings {
  /** Name of the shared store, which is the same in every process and safe to show. */
  name: string;
  /** Same in every process. Keys of cluster workers and webhook secrets derive from it. */
  secret: Buffer;
  write: Write;
  texts: SharedFiles;
}

export interface OpenService {
  answer: AnswerRequest;
  /** Resolves when all changes so far are durable, including in the shared store. */
  settled(): Promise<void>;
  /** Deletes an ended job with its result before its retention is over. */
  deleteJob(id: string): Promise<void>;
  /** Databases that the shared store has copies of; empty without a shared store. */
  databases: readonly Replica[];
  /** Gives no more jobs to workers. Resolves when running jobs have ended, or after the grace time. */
  drain(): Promise<void>;
  /** Stops the workers. Their jobs return to the queue for the next start. */
  close(): Promise<void>;
}

/** Names of the service's databases in `dataDir`. */
export const jobsFile = 'service.sqlite';
export const keysFile = 'keys.sqlite';

/** Opens the service and resumes its queue. Throws system errors of the data folder. */
export async function openService(options: CheckedOptions, around: Surroundings): Promise<OpenService> {
  const { dataDir, shared } = around;
  const { onProblem, retentionMs, hasPrivateWebhooks: hasPrivate, webhookProxy: proxy } = options;
  const opened: (() => void)[] = [];
  let halfOpen: Endpoints | undefined;
  try {
    const ownWorkers = new OwnWorkerKeys();
    const secret = shared?.secret ?? lastingSecret(dataDir);
    const clusterWorkers = new OwnWorkerKeys(secret);
    const keys = openKeys(options, dataDir, [ownWorkers, clusterWorkers]);
    opened.push(() => keys.close());
    const keysReplica = shared && new Replica(keys.file, keysFile, shared.write);
    opened.push(() => keysReplica?.close());
    const path = join(dataDir, jobsFile);
    const store = new JobStore(path, {
      ...options,
      ...(shared && { logOf: (db) => new Replica(db, jobsFile, shared.write), texts: shared.texts }),
    });
    opened.push(() => store.close());
    const { now } = store.clock;
    // Changes that are not in the shared store yet would be unknown to the next leading process.
    const settled = async (): Promise<void> =>
      void (shared && (await Promise.all([keysReplica?.settled(), store.settled()])));
    await settled();
    const folder = new FolderWatch(dataDir, [path, `${path}-wal`], onProblem);
    const results = new JobResults(store, options.maxResultBytes);
    const secrets = new WebhookSecrets(secret, keys);
    const parts = { keys, store, folder, results, ownWorkers, clusterWorkers, secrets };
    const endpoints = (halfOpen = openEndpoints(options, parts, around));
    const loopDelay = new LoopDelay();
    opened.push(() => loopDelay.stop());
    const router = openRouter(options, { ...parts, loopDelay }, endpoints, around);
    const sweeper = new Sweeper(store, folder, retentionMs, onProblem);
    const webhooks = new Webhooks({ store, secrets, retentionMs, onProblem, now, hasPrivate, proxy });
    const close = async (): Promise<void> => {
      sweeper.stop();
      await Promise.all([endpoints.stop(), webhooks.stop()]);
      // Clients get the ids of committed jobs before connections close.
      await Promise.all([store.settle(), settled()]).catch((error: unknown) => {
        // If another process leads by now, that process continues with the shared store.
        if (!(error instanceof Deposed)) onProblem(uncleanText(error));
      });
      // Clients that wait for a job get its current status.
      store.signals.release();
      await nextTurn();
      await around.closeConnections();
      folder.stop();
      closeAll(opened, onProblem);
    };
    let closing: Promise<void> | undefined;
    const isClosing = (): boolean => closing !== undefined;
    return {
      drain: () => drain({ store, endpoints, options, isClosing }),
      answer: (...asked) => router.answer(...asked),
      databases: [keysReplica, store.replica].filter((each) => each !== undefined),
      settled,
      deleteJob: (id) => store.expiry.deleteEnded(id),
      close: () => (closing ??= close()),
    };
  } catch (error) {
    await halfOpen?.stop();
    closeAll(opened, onProblem);
    throw error;
  }
}

interface Drained {
  store: JobStore;
  endpoints: Endpoints;
  options: Pick<CheckedOptions, 'graceMs' | 'onProblem'>;
  isClosing: () => boolean;
}

/** Waits for running jobs during the grace time. Meanwhile, workers return results and clients read them. */
async function drain({ store, endpoints, options, isClosing }: Drained): Promise<void> {
  const { graceMs, onProblem } = options;
  if (graceMs === 0) return;
  const until = performance.now() + graceMs;
  store.stopAssigning();
  await Promise.all(endpoints.all.map((endpoint) => endpoint.drain()));
  const running = (): number => {
    const onWorkers = endpoints.all.reduce((jobs, endpoint) => jobs + endpoint.running, 0);
    return Math.max(store.runningHere, onWorkers);
  };
  if (running() > 0) onProblem(drainText(running(), graceMs));
  while (running() > 0 && performance.now() < until && !isClosing()) await sleep(pollEveryMs);
}

const pollEveryMs = 50;

function drainText(jobs: number, graceMs: number): string {
  const what = jobs === 1 ? '1 job' : `${jobs} jobs`;
  return `waiting up to ${durationText(graceMs)} (shutdown.grace) for ${what} to end; a second signal ends the service at once`;
}

/** Closes the opened parts in reverse order. Reports errors and continues. */
function closeAll(opened: (() => void)[], onProblem: (text: string) => void): void {
  for (const closeOne of opened.toReversed()) {
    try {
      closeOne();
    } catch (error) {
      onProblem(uncleanText(error));
    }
  }
}

/** Message for a failed shutdown. Nothing is lost, because the next start finishes the clean-up. */
function uncleanText(error: unknown): string {
  return `the service did not shut down cleanly: ${String(error)}`;
}

/** Returns the data folder's secret, kept because keys of cluster workers and webhooks derive from it. */
function lastingSecret(dataDir: string): Buffer {
  const path = join(dataDir, 'cluster.key');
  const kept = existsSync(path) ? readFileSync(path) : undefined;
  // A crash may have left an incomplete file.
  if (kept?.length === 32) return kept;
  const made = randomBytes(32);
  writeFileSync(path, made, { mode: 0o600 });
  return made;
}

/** Opens the key store. Throws if other machines could connect and there is no key. On loopback, keys may come later. */
function openKeys(
  { keys, now, host }: CheckedOptions,
  dataDir: string,
  ownWorkers: OwnWorkerKeys[],
): KeyStore {
  const given = keys.map((key, index) => ({ name: `given-${index + 1}`, key, kind: 'admin' as const }));
  const store = new KeyStore(join(dataDir, keysFile), { given, ownWorkers, now });
  const hasKey = keys.length > 0 || store.list().some((key) => isValid(key, now()));
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
  /** Keys of cluster workers, which stay valid over restarts of the service. */
  clusterWorkers: OwnWorkerKeys;
  secrets: WebhookSecrets;
}

function openEndpoints(
  options: CheckedOptions,
  { store, results, ownWorkers, clusterWorkers }: Opened,
  { url, workersUrl }: Surroundings,
): Endpoints {
  const { workloadOf, silenceMs, onProblem, endpoints: given, publicUrl = url, maxValues } = options;
  const limits = { maxBytes: options.maxResultBytes, maxValues };
  // service.yaml is checked for this. An endpoint of the console may be older than the current service.yaml.
  const reportUnreachable = (id: string): void =>
    onProblem(
      `endpoint ${id} runs on a cluster, and \`publicUrl\` is not set in service.yaml: its workers are given ${url}, which other machines may not reach`,
    );
  return new Endpoints({
    store,
    results,
    silenceMs,
    onProblem,
    given,
    workloadOf: (settings) => {
      if (settings.on === undefined)
        return workloadOf(settings, {
          url: workersUrl,
          publicUrl: options.publicUrl,
          workerKey: ownWorkers.keyOf(settings.id),
          limits,
        });
      if (options.publicUrl === undefined) reportUnreachable(settings.id);
      return workloadOf(settings, { url: publicUrl, workerKey: clusterWorkers.keyOf(settings.id) });
    },
  });
}

/** JSON text of the OpenAPI document. */
const description = JSON.stringify(openApi);

function openRouter(
  checked: CheckedOptions,
  { keys, store, folder, results, secrets, loopDelay }: Opened & { loopDelay: LoopDelay },
  endpoints: Endpoints,
  { url, proxies, certifiedNames, connections, shared }: Surroundings,
): ApiRouter {
  const { maxResultBytes, rate, console, retentionMs } = checked;
  const { now } = store.clock;
  const bodies = new BodyRoom(checked.maxBodiesBytes, checked.clientLimits.roomMs);
  const turns = new ClientTurns();
  const jobs = new JobOperations({ ...checked, store, folder, bodies, turns, secrets });
  // The body of a result contains little besides the result.
  const maxBytes = maxResultBytes + 1_000_000;
  const work = new WorkerOperations({ ...checked, store, results, bodies, turns, maxResultBytes: maxBytes });
  // The log is in the process's own folder, because the shared folder is replaced whenever another process leads.
  const audit = new AuditLog(checked.dataDir, checked);
  const admission = new Admission(keys, checked.elapsed, (key, from) =>
    audit.note({ event: 'wrong-key', key, from, what: null }),
  );
  const quotas = new Quotas(store, now);
  const common = { keys, admission, audit, quotas, proxies, connections, store, endpoints, jobs, now };
  const metrics = new Metrics(store, now, loopDelay);
  const about = console && { program: console.program, retentionMs, file: console.file };
  return new ApiRouter({
    admission,
    audit,
    quotas,
    proxies,
    connections,
    endpoints,
    handlers: {
      ...jobs.handlers,
      ...work.handlers,
      'openapi.json': () => ({ status: 200, body: description }),
      metrics: () => metrics.answer(endpoints.all),
    },
    wasSubmitted: (context) => jobs.wasSubmitted(context),
    rates: new RateLimit(rate),
    metrics,
    names: new KnownNames(namesOf(checked, url), { certified: certifiedNames }),
    mayBeBehindProxy: mayBeBehindProxy(checked),
    crossOrigin: new CrossOrigin(checked.origins),
    refusedTakeMs: checked.clientLimits.refusedTakeMs,
    webConsole:
      console &&
      about &&
      new Console({
        ...common,
        ...console,
        about,
        place: shared?.name ?? `${hostname()}\n${store.file.db.name}`,
      }),
  });
}

/** Returns the host names of the service: this machine's name, the address it listens on, and its public names. */
function namesOf({ hosts, host, publicUrl, store }: CheckedOptions, url: string): string[] {
  const urls = [url, publicUrl, store?.reachedAt].filter((each) => each !== undefined);
  return [hostname(), host, ...urls.map((each) => new URL(each).hostname), ...hosts];
}

const timeOutsEveryMs = 500;

const folderEveryMs = 1_000;

const queuesEveryMs = 2_000;

/** Periodic work: times out jobs, deletes expired ones, records queue lengths, checks the data folder. */
export class Sweeper {
  readonly #store: JobStore;
  readonly #onProblem: (text: string) => void;
  readonly #timers: NodeJS.Timeout[];
  readonly #busy = new Set<string>();
  #isStopped = false;

  /** Starts the timers. Expired jobs are deleted up to 30 s late, because reads check the clock themselves. */
  constructor(store: JobStore, folder: FolderWatch, retentionMs: number, onProblem: (text: string) => void) {
    this.#store = store;
    this.#onProblem = onProblem;
    const everyMs = Math.min(30_000, Math.max(1_000, retentionMs / 10));
    this.#timers = [
      setInterval(() => void this.#alone('delete expired results', () => this.#sweep()), everyMs),
      setInterval(() => void this.#alone('end overdue jobs', () => this.#endOverdue()), timeOutsEveryMs),
      setInterval(() => void this.#alone('measure the queues', () => this.#noteQueues()), queuesEveryMs),
      setInterval(() => void this.#alone('check the data folder', () => void folder.check()), folderEveryMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #alone(what: string, work: () => Promise<void> | void): Promise<void> {
    if (this.#busy.has(what)) return;
    this.#busy.add(what);
    try {
      await work();
    } catch (error) {
      this.#onProblem(`cannot ${what}: ${String(error)}`);
    } finally {
      this.#busy.delete(what);
    }
  }

  async #sweep(): Promise<void> {
    let deleted = 0;
    for (let some = 1; some > 0 && !this.#isStopped; await nextTurn()) {
      some = await this.#store.expiry.deleteSome();
      deleted += some;
    }
    const { expiry } = this.#store;
    if ((deleted > 0 || expiry.isScrubDue) && !this.#isStopped) expiry.scrub();
  }

  #noteQueues(): void {
    const { reads, history } = this.#store;
    history.noteQueues(reads.queueLengths());
  }

  async #endOverdue(): Promise<void> {
    const stepMs = await this.#store.keepClockStep();
    if (stepMs !== 0) this.#onProblem(stepText(stepMs));
    // `refill` first requeues the jobs of a crashed service, so that they are not timed out as running too long.
    if (this.#store.refill()) this.#store.bulk.announceWaiting();
    while (!this.#isStopped && (await this.#store.bulk.timeOutSome()).length > 0);
  }
}

function stepText(ms: number): string {
  const way = ms > 0 ? 'forward' : 'back';
  return `the system clock moved ${way} by ${formatDuration(Math.abs(ms))}; the ages of jobs are not affected`;
}

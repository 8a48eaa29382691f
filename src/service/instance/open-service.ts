/** The service behind its HTTP servers: its files, endpoints and what answers requests. */
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
import { KnownNames } from '../../lib/http/known-names.ts';
import type { AnswerRequest } from '../../lib/http/http-server.ts';
import { LoopDelay, Metrics } from '../api/metrics.ts';
import { JobOperations } from '../api/job-operations.ts';
import { FolderWatch } from '../jobs/data-folder.ts';
import { JobResults } from '../jobs/job-results.ts';
import { JobStore } from '../jobs/job-store.ts';
import { Admission } from '../keys/admission.ts';
import { isValid, OwnWorkerKeys } from '../model/key.ts';
import { KeyStore } from '../keys/key-store.ts';
import { mayBeBehindProxy, type CheckedOptions } from './service-options.ts';
import { Replica } from '../replication/committed-pages.ts';
import { Deposed, type Write } from '../replication/leadership.ts';
import type { SharedFiles } from '../replication/page-store.ts';
import { Sweeper } from '../jobs/sweeper.ts';
import { WebhookSecrets } from '../webhooks/webhook-secrets.ts';
import { Webhooks } from '../webhooks/webhooks.ts';
import { WorkerOperations } from '../api/worker-operations.ts';

/** Where it stands. */
export interface Surroundings {
  /** Of its files; there is one. */
  dataDir: string;
  /** Of the service, for people and for workers that it starts. */
  url: string;
  workersUrl: string;
  proxies: TrustedProxies;
  /** That its certificate holds for, which may be renewed. */
  certifiedNames: () => readonly string[];
  connections: Connections;
  /** Ends all connections, once what they were promised has been sent. */
  closeConnections: () => Promise<void>;
  /** Where it shares a store with others. */
  shared?: SharedSurroundings;
}

export interface SharedSurroundings {
  /** The same in every process, for people. */
  name: string;
  secret: Buffer;
  write: Write;
  texts: SharedFiles;
}

export interface OpenService {
  answer: AnswerRequest;
  /** Resolves when all that it changed lasts. */
  settled(): Promise<void>;
  /** As `Service.deleteJob`. */
  deleteJob(id: string): Promise<void>;
  /** Those that a shared store has copies of. */
  databases: readonly Replica[];
  /** Gives no more jobs to workers, and waits until those in progress have ended, or their grace is over. */
  drain(): Promise<void>;
  /** Running workloads are told to stop, and their jobs go back to the queue for the next start. */
  close(): Promise<void>;
}

/** The names of its databases in `dataDir`. */
export const jobsFile = 'service.sqlite';
export const keysFile = 'keys.sqlite';

/** Resumes the queue. Throws what the system says of the folder. */
export async function openService(options: CheckedOptions, around: Surroundings): Promise<OpenService> {
  const { dataDir, shared } = around;
  const { onProblem, retentionMs, hasPrivateWebhooks: hasPrivate } = options;
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
    // What a process has not brought into the shared store yet, the next one would not know.
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
    const webhooks = new Webhooks({ store, secrets, retentionMs, onProblem, now, hasPrivate });
    const close = async (): Promise<void> => {
      sweeper.stop();
      await Promise.all([endpoints.stop(), webhooks.stop()]);
      // Clients get the ids of committed jobs before connections close.
      await Promise.all([store.settle(), settled()]).catch((error: unknown) => {
        // It is what another process makes of it by now.
        if (!(error instanceof Deposed)) onProblem(uncleanText(error));
      });
      // They learn how their jobs are by now.
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

/** Until then workers hand in what they have, and clients read. */
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
  while (running() > 0 && performance.now() < until && !isClosing()) await sleep(lookEveryMs);
}

const lookEveryMs = 50;

function drainText(jobs: number, graceMs: number): string {
  const what = jobs === 1 ? '1 job' : `${jobs} jobs`;
  return `waiting up to ${durationText(graceMs)} (shutdown.grace) for ${what} to end; a second signal ends the service at once`;
}

/** Last first. */
function closeAll(opened: (() => void)[], onProblem: (text: string) => void): void {
  for (const closeOne of opened.toReversed()) {
    try {
      closeOne();
    } catch (error) {
      onProblem(uncleanText(error));
    }
  }
}

/** Nothing is lost: the next start finishes the clean-up. */
function uncleanText(error: unknown): string {
  return `the service did not shut down cleanly: ${String(error)}`;
}

/** Workers of a cluster outlive the service, and receivers of webhooks keep their secrets: the next start knows both by this. */
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
  /** Good for longer than this start of the service. */
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
  // The file says so of its own; one of the console may be older than the file is now.
  const tellUnreachable = (id: string): void =>
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
      if (options.publicUrl === undefined) tellUnreachable(settings.id);
      return workloadOf(settings, { url: publicUrl, workerKey: clusterWorkers.keyOf(settings.id) });
    },
  });
}

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
  // Around a result there is little else.
  const maxBytes = maxResultBytes + 1_000_000;
  const work = new WorkerOperations({ ...checked, store, results, bodies, turns, maxResultBytes: maxBytes });
  // A folder that processes share is restored at each change of the leader.
  const audit = new AuditLog(checked.dataDir, checked);
  const admission = new Admission(keys, checked.elapsed, (key, from) =>
    audit.note({ event: 'wrong-key', key, from, what: null }),
  );
  const quotas = new Quotas(store, now);
  const common = { keys, admission, audit, quotas, proxies, connections, store, endpoints, jobs, now };
  const about = console && { program: console.program, url, retentionMs, file: console.file };
  return new ApiRouter({
    admission,
    audit,
    quotas,
    proxies,
    connections,
    endpoints,
    handlers: { ...jobs.handlers, ...work.handlers },
    wasSubmitted: (context) => jobs.wasSubmitted(context),
    rates: new RateLimit(rate),
    metrics: new Metrics(store, now, loopDelay),
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

/** What it is called here, where it listens, and where others find it. */
function namesOf({ hosts, host, publicUrl, store }: CheckedOptions, url: string): string[] {
  const urls = [url, publicUrl, store?.reachedAt].filter((each) => each !== undefined);
  return [hostname(), host, ...urls.map((each) => new URL(each).hostname), ...hosts];
}

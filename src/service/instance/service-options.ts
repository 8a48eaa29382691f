/** What a service is started with, checked before anything is touched. */
import type { PostgresAddress } from '../../lib/postgres/postgres.ts';
import { isLoopback } from '../../lib/net/addresses.ts';
import { type ClientLimits, defaultClientLimits, type Page } from '../../lib/http/http-response.ts';
import type { CatalogueEntry } from '../../protocol/console-data.ts';
import { defaultMaxValues } from '../../lib/text/scan-json.ts';
import { defaultRetentionMs, maxRequestBytes } from '../../protocol/message-schemas.ts';
import type { Rate } from '../api/quotas.ts';
import type { EndpointForms } from '../console/console-request.ts';
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import type { RunnableWorkload } from '../workers/endpoint.ts';
import type { TlsFiles } from '../../lib/http/tls-files.ts';
import type { WorkloadContext } from '../workloads/workload-definition.ts';
import { fitsHeader } from '../model/key.ts';
import type { Bucket } from '../../lib/s3/bucket.ts';

export interface ServiceOptions {
  /** The folder of the service's files; made where it is missing, for its owner only. */
  dataDir: string;
  /** 127.0.0.1 by default; anything beyond loopback takes a key. */
  host?: string;
  /** 0, the default: a free one. */
  port?: number;
  /** Where workers of a cluster find it, without a slash at the end; endpoints that have `on` need it. */
  publicUrl?: string | undefined;
  /** For HTTPS; plain HTTP by default. */
  tls?: TlsFiles | undefined;
  /** Addresses and ranges of the proxies whose word on clients is taken. */
  proxies?: string[];
  /** Bearer keys that are accepted beside those of the key store, for everything but the pull operations. */
  keys: string[];
  endpoints: EndpointSettings[];
  /** What an endpoint's own workers run; `context` is what they need of the service. */
  workloadOf: (settings: EndpointSettings, context: WorkloadContext) => RunnableWorkload;
  /** How long inputs and outputs are kept after their job has settled. */
  retentionMs?: number;
  /** The largest body of a submission, and of a result. */
  maxRequestBytes?: number;
  maxResultBytes?: number;
  /** The most values in the JSON of either. */
  maxValues?: number;
  /** Of the long bodies that are in memory at a time. */
  maxBodiesBytes?: number;
  /** Room that is kept on the disk for ending jobs, and deleting what is over, when it is full; none by default. */
  reserveBytes?: number;
  /** True if the disk is full, and the room was given back: nothing is begun until there is space. */
  isDiskFull?: boolean;
  /** How long jobs in progress have to end before the service closes; 0 by default. */
  graceMs?: number;
  /** Connections that are open at once. */
  maxConnections?: number;
  /** A request of which nothing arrives for so long is refused. */
  requestTimeoutMs?: number;
  /** A body that keeps arriving is refused after this. */
  bodyTimeMs?: number;
  /** How slow clients may be beyond that. */
  clientLimits?: Partial<ServiceClientLimits>;
  /** For each key and operation. */
  rate?: Rate;
  /** True if webhooks may lead to this machine and its network. By default only if nothing leads other machines to the service. */
  hasPrivateWebhooks?: boolean;
  /** Of other sites whose pages may use the job interface, such as `https://studio.example`; `*` for any. */
  origins?: string[];
  /** Names of the service beside its own, under which the console and what else needs no key is answered. */
  hosts?: string[];
  /** How long a worker elsewhere may be silent before its job is queued again. */
  silenceMs?: number;
  /** The console, where there is to be one. */
  console?: ConsoleOptions;
  /** What it shares with other processes; nothing by default. */
  store?: SharedOptions | undefined;
  /** System clock, epoch ms. */
  now?: () => number;
  /** Monotonic clock, ms: the ages of jobs are counted by it. `now` by default where that is given. */
  elapsed?: () => number;
  /** Receives a message for each problem of the service itself. */
  onProblem?: (text: string) => void;
}

/** Limits for clients of the service, beside those of every server. */
export interface ServiceClientLimits extends ClientLimits {
  /** How long a long body waits for room in memory. */
  roomMs: number;
  /** Delay of an answer that refuses a worker a job. Public workers ask again at once, 2,000 times a second. */
  refusedTakeMs: number;
}

/** Of a service of several processes. */
export interface SharedOptions {
  address: PostgresAddress;
  /** For long texts; by default they are in the database. */
  bucket?: Bucket | undefined;
  /** How the other processes reach this one, without a slash at the end; as it listens by default. */
  reachedAt?: string | undefined;
  /** Says who leads. */
  onChange: (text: string) => void;
}

export interface ConsoleOptions {
  page: Page;
  /** A page of the manual as Markdown; undefined where there is no such topic. */
  manual: (topic: string) => string | undefined;
  forms: EndpointForms;
  /** `nightrender 1.2.3`. */
  program: string;
  /** The GPUs of this machine in words; null while they are looked for. */
  gpus: () => string[] | null;
  catalogue: CatalogueEntry[];
  /** Why containers cannot be run; null where they can, or it is not known yet. */
  containerLack: () => string | null;
  /** A small JPEG; undefined for what is no picture. */
  thumbnailOf: (picture: Buffer) => Promise<Buffer | undefined>;
  /** The name of the file that the service was started with; null for none. */
  file: string | null;
}

const defaultHost = '127.0.0.1';

type Optional = 'silenceMs' | 'console' | 'tls' | 'publicUrl' | 'store';
export type CheckedOptions = Required<Omit<ServiceOptions, Optional>> &
  Pick<ServiceOptions, Optional> & { clientLimits: ServiceClientLimits };

/** Throws, with what is wrong in words, for options that no service can be started with. */
export function checkServiceOptions(options: ServiceOptions): CheckedOptions {
  const checked = {
    host: defaultHost,
    port: 0,
    retentionMs: defaultRetentionMs,
    maxRequestBytes,
    maxBodiesBytes: 128 * 1024 * 1024,
    maxResultBytes: 100 * 1024 * 1024,
    maxValues: defaultMaxValues,
    reserveBytes: 0,
    isDiskFull: false,
    graceMs: 0,
    maxConnections: 2_000,
    requestTimeoutMs: 60_000,
    bodyTimeMs: 3_600_000,
    // A safety net against runaway clients.
    rate: { requests: 100_000, withinMs: 10_000 },
    tls: undefined,
    proxies: [],
    origins: [],
    hosts: [],
    now: Date.now,
    elapsed: options.now ?? (() => performance.now()),
    onProblem: () => undefined,
    hasPrivateWebhooks:
      isLoopback(options.host ?? defaultHost) &&
      !mayBeBehindProxy(options) &&
      options.store?.reachedAt === undefined,
    ...options,
    clientLimits: { ...defaultClientLimits, roomMs: 60_000, refusedTakeMs: 1_000, ...options.clientLimits },
  };
  assertLimit('retentionMs', checked.retentionMs);
  assertLimit('maxRequestBytes', checked.maxRequestBytes);
  assertLimit('maxBodiesBytes', checked.maxBodiesBytes);
  assertLimit('maxResultBytes', checked.maxResultBytes);
  assertLimit('maxValues', checked.maxValues);
  assertKeys(checked.keys);
  assertEndpoints(checked.endpoints);
  return checked;
}

/** True if requests of other machines may come from this one, by a proxy that does not say so. */
export function mayBeBehindProxy({ proxies = [], hosts = [], publicUrl }: ServiceOptions): boolean {
  return proxies.length > 0 || hosts.length > 0 || publicUrl !== undefined;
}

function assertLimit(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`${name} is ${value}, but must be a whole number above 0`);
}

/** Errors never contain the keys. */
function assertKeys(keys: readonly string[]): void {
  if (!keys.every(fitsHeader))
    throw new Error('a key is empty or holds characters that a header cannot carry');
}

function assertEndpoints(endpoints: readonly EndpointSettings[]): void {
  const ids = endpoints.map(({ id }) => id);
  if (ids.includes('')) throw new Error('an endpoint has an empty id');
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) throw new Error(`two endpoints have the id ${repeated}`);
  for (const { id, workers } of endpoints) {
    if (!Number.isSafeInteger(workers.max) || workers.max < 0)
      throw new Error(`endpoint ${id} has ${workers.max} workers, but must have a whole number of them`);
  }
}

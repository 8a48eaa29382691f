/** Options with which a service is started, and their checks, which run before any file is changed. */
import type { PostgresAddress } from '../../lib/postgres/postgres.ts';
import { isLoopback } from '../../lib/net/addresses.ts';
import { type ClientLimits, defaultClientLimits, type Page } from '../../lib/http/http-response.ts';
import type { CatalogueEntry } from '../../protocol/console-data.ts';
import { defaultMaxValues } from '../../lib/text/scan-json.ts';
import { defaultRetentionMs, maxRequestBytes } from '../../protocol/message-schemas.ts';
import type { Rate } from '../api/quotas.ts';
import type { EndpointForms } from '../console/console-request.ts';
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import type { TlsFiles } from '../../lib/http/tls-files.ts';
import type { WorkloadContext } from '../workloads/workload-definition.ts';
import { fitsHeader } from '../model/key.ts';
import type { Bucket } from '../../lib/s3/bucket.ts';
import type { RunnableWorkload } from '../workers/endpoints.ts';

export interface ServiceOptions {
  /** Folder of the service's files. It is created if it is missing, readable only by its owner. */
  dataDir: string;
  /** Address to listen on; 127.0.0.1 by default. Any address other than loopback requires a key. */
  host?: string;
  /** Port; 0, the default, picks a free one. */
  port?: number;
  /** Address for workers of a cluster, without a trailing slash. Required by endpoints that have `on`. */
  publicUrl?: string | undefined;
  /** Certificate and key for HTTPS; plain HTTP by default. */
  tls?: TlsFiles | undefined;
  /** Addresses and ranges of proxies whose `X-Forwarded-…` headers are trusted. */
  proxies?: string[];
  /** Admin keys that are accepted in addition to those of the key store. They do not permit pull operations. */
  keys: string[];
  endpoints: EndpointSettings[];
  /** Returns the workload of an endpoint's own workers. `context`: addresses and key with which they reach the service. */
  workloadOf: (settings: EndpointSettings, context: WorkloadContext) => RunnableWorkload;
  /** Time for which inputs and outputs are kept after their job has ended. */
  retentionMs?: number;
  maxRequestBytes?: number;
  maxResultBytes?: number;
  maxValues?: number;
  /** Maximum total size of long bodies that are in memory at the same time. */
  maxBodiesBytes?: number;
  /** Disk space kept in reserve, so that jobs can end and be deleted when the disk is full; none by default. */
  reserveBytes?: number;
  /** True if the disk is full and the reserve is used. No jobs are accepted until there is space. */
  isDiskFull?: boolean;
  /** Time that running jobs have to end before the service closes; 0 by default. */
  graceMs?: number;
  maxConnections?: number;
  /** Time without data after which an arriving request is refused. */
  requestTimeoutMs?: number;
  bodyTimeMs?: number;
  clientLimits?: Partial<ServiceClientLimits>;
  /** Rate limit of each key and operation. */
  rate?: Rate;
  /** True if webhooks may lead to this machine or its network. By default only if other machines cannot reach the service. */
  hasPrivateWebhooks?: boolean;
  /** URL of the proxy for webhooks. By default they use none. */
  webhookProxy?: string | undefined;
  /** Origins whose pages may use the job interface, such as `https://studio.example`; `*` for any. */
  origins?: string[];
  /** Additional host names under which the service answers the console and requests without a key. */
  hosts?: string[];
  /** Time without contact after which the job of a worker elsewhere is requeued. */
  silenceMs?: number;
  console?: ConsoleOptions;
  /** Database and bucket that several processes share; none by default. */
  store?: SharedOptions | undefined;
  /** System clock, epoch ms. */
  now?: () => number;
  /** Monotonic clock in ms, which measures the age of jobs and the time of bodies. By default, `now` if that is given. */
  elapsed?: () => number;
  /** Receives a message for each problem of the service itself. */
  onProblem?: (text: string) => void;
}

/** Limits for clients of the service, in addition to those of every HTTP server. */
export interface ServiceClientLimits extends ClientLimits {
  /** Time that a long body may wait for room in memory. */
  roomMs: number;
  /** Delay before a worker is refused a job. Public workers ask again at once, 2,000 times a second. */
  refusedTakeMs: number;
}

/** Options of a service with several processes. */
export interface SharedOptions {
  address: PostgresAddress;
  /** Bucket for long texts; by default, the database holds them. */
  bucket?: Bucket | undefined;
  /** Address at which the other processes reach this one, without a trailing slash; by default, where it listens. */
  reachedAt?: string | undefined;
  /** Receives a message when another process begins to lead. */
  onChange: (text: string) => void;
}

export interface ConsoleOptions {
  page: Page;
  /** Returns a page of the manual as Markdown; undefined if there is no such topic. */
  manual: (topic: string) => string | undefined;
  forms: EndpointForms;
  /** Name and version of the program, such as `nightrender 1.2.3`. */
  program: string;
  /** Returns the names of this machine's GPUs; null until they are known. */
  gpus: () => string[] | null;
  catalogue: CatalogueEntry[];
  /** Returns the reason why containers cannot run; null if they can, or until it is known. */
  containerLack: () => string | null;
  /** Returns a small JPEG; undefined if the data is not a picture. */
  thumbnailOf: (picture: Buffer) => Promise<Buffer | undefined>;
  /** Name of the service.yaml that the service was started with; null for none. */
  file: string | null;
}

const defaultHost = '127.0.0.1';

type Optional = 'silenceMs' | 'console' | 'tls' | 'publicUrl' | 'store';
export type CheckedOptions = Required<Omit<ServiceOptions, Optional>> &
  Pick<ServiceOptions, Optional> & { clientLimits: ServiceClientLimits };

/** Adds defaults to the options. Throws an error with a message for people if they are invalid. */
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
    webhookProxy: undefined,
    hasPrivateWebhooks:
      isLoopback(options.host ?? defaultHost) &&
      !mayBeBehindProxy(options) &&
      options.store?.reachedAt === undefined,
    ...options,
    clientLimits: {
      ...defaultClientLimits,
      headMs: Math.min(defaultClientLimits.headMs, options.requestTimeoutMs ?? Infinity),
      roomMs: 60_000,
      refusedTakeMs: 1_000,
      ...options.clientLimits,
    },
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

/** True if requests of other machines may seem to come from this one, through a proxy that does not identify itself. */
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

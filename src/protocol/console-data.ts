/** The requests and answers between the console and its server, as JSON under `/console/api/`. Times are epoch ms. */

/*
 * POST   session                     { key }                → { token } and a cookie | 401 ApiError | 429 ApiError
 * DELETE session                                            → 204
 * GET    session                                            → { signedIn: boolean }
 * GET    overview                                           → Overview | 401 ApiError (sign in again)
 * GET    catalogue                                          → CatalogueEntry[]: images and workloads for quick deploy
 * GET    endpoint-fields                                    → EndpointFields: fields of the form of an endpoint
 * GET    endpoints/{id}/form                                → an endpoint: each value as the text that gives it
 * POST   endpoints                   an endpoint            → 201 EndpointView | 422 ApiError with problems
 * PUT    endpoints/{id}              an endpoint            → 200 EndpointView | 422 | 404 | 409 (it is in service.yaml)
 * DELETE endpoints/{id}                                     → 204 | 404 | 409
 * POST   endpoints/{id}/jobs         { input, policy?, webhook? } → 201 { id } | 400 | 404 | 429
 * POST   endpoints/{id}/pause, endpoints/{id}/resume        → 204 | 404
 * POST   endpoints/{id}/workers/{worker}/drain             → 204 | 404
 * GET    jobs?endpoint=&status=&text=&before=               → JobPage, newest first
 * GET    jobs/cancel, jobs/retry?endpoint=&status=&text=    → BulkCount: how many jobs the POST would change
 * POST   jobs/cancel, jobs/retry?endpoint=&status=&text=    → BulkCount: how many were changed; repeat for more
 * GET    jobs/{id}                                          → JobView | 404
 * GET    jobs/{id}/thumbnail                                → JPEG of the first picture in its output, or 204
 * POST   jobs/{id}/cancel, jobs/{id}/retry                  → 200 { id, status } | 404 | 409
 * GET    history?endpoint=&range=hour|day                   → JobHistoryView
 * GET    webhooks                                           → FailedWebhooks
 * POST   webhooks/send                                      → BulkCount: sends all again that were given up
 * POST   webhooks/{job}/send                                → 204 | 404
 * GET    keys                                               → KeyView[]
 * GET    audit                                              → AuditEntry[], newest first
 * POST   keys                        KeyForm                → 201 { key, view: KeyView }: the key is never shown again
 * POST   keys/{id}/rotate            { overlap?, expires? } → { key, view: KeyView } | 404 | 422
 * POST   keys/{id}/revoke                                   → 204 | 404
 *
 * Every request except those to `session` needs the cookie, and the token in the header `X-Nightrender-Console`.
 * The page keeps the token for its origin, because a browser also sends the cookie to other ports of the host.
 * To sign in, the header is `1`, which a form of another site cannot send.
 */

export interface ApiError {
  error: string;
  /** Problems to show beside the fields. `field` is the path of a key, joined by dots. */
  problems?: { field: string; text: string }[];
}

export interface Overview {
  program: string;
  /** Time of the answer by the service's clock. */
  now: number;
  retentionMs: number;
  /** True if the user is signed in with a read-only key. */
  isReadOnly: boolean;
  /** Name of the file that the service was started with; null if there is none. */
  file: string | null;
  /** Human-readable GPUs of the service's machine; null until they are known. */
  gpus: string[] | null;
  /** Why containers cannot run on the service's machine; null if they can, or if that is not known yet. */
  containerLack: string | null;
  /** States in which a job can be cancelled or retried. */
  reachedBy: Record<JobAction, readonly string[]>;
  endpoints: EndpointView[];
}

export type JobAction = 'cancel' | 'retry';

export interface CatalogueEntry {
  id: string;
  title: string;
  text: string;
  runs: { quickDeploy: string } | { image: string };
  /** Keys of the form that the card fills in, with their texts. */
  fills: Record<string, string>;
  /** GB of memory of one GPU, of disk space, and of downloads before the first job; 0 for none. */
  needs: { gpu: number; disk: number; pull: number };
  /** Keys of a job's input, with their descriptions. */
  input: Record<string, string>;
  example: Record<string, unknown>;
}

export interface EndpointView {
  /** `file`: created with the service, from its file if it has one, and not editable here. */
  origin: 'file' | 'console';
  /** Settings as in service.yaml. Values of variables and words of commands may be hidden. */
  settings: { id: string; name: string; [key: string]: unknown };
  /** Human-readable description of what it runs. */
  runs: string;
  /** Matching value for `nightrender work --allow`. */
  allow: string;
  jobs: Record<
    'completed' | 'failed' | 'cancelled' | 'timedOut' | 'inProgress' | 'inQueue' | 'retried',
    number
  >;
  /** True if the last three jobs that a worker did failed or timed out. */
  isFailing: boolean;
  /** Ids of the latest completed jobs. */
  latest: string[];
  workers: WorkerView[];
  /** Human-readable reason why its workers cannot be started; null if they can. */
  trouble: string | null;
  /** True if its jobs wait until it is resumed. */
  isPaused: boolean;
}

/** A worker as the API, the console and the metrics show it, wherever it runs. Instants are epoch ms. */
export interface WorkerView {
  id: string;
  /** `own` if the service started it, `remote` if it takes jobs from another machine. */
  kind: 'own' | 'remote';
  state: 'initializing' | 'idle' | 'running' | 'throttled' | 'unhealthy';
  jobIds: string[];
  gpu: string | null;
  /** Start of this state. */
  since: number;
  lastSeenAt: number;
  /** End of the previous worker in its place, or a failed start. Null once this worker has done work. */
  lastDeath: { why: string; at: number } | null;
  /** When the next worker in its place starts; null if none is planned. */
  startsAt: number | null;
  /** Latest lines of its log, and of earlier workers in its place. */
  log: readonly string[];
  /** Machine and workload as the worker reports them; null if it does not. */
  machine: MachineView | null;
  workload: string | null;
  /** True if it takes no more jobs, and ends after those that it has. */
  isDraining: boolean;
  /** Counted since the worker connected. `busyMs` is the time with jobs. */
  jobsDone: number;
  busyMs: number;
}

export interface MachineView {
  host: string;
  cores: number;
  memoryBytes: number;
  gpus: GpuView[];
}

export interface GpuView {
  index: number;
  name: string;
  memoryBytes: number;
  usedMemoryBytes: number;
  driver: string;
  celsius: number;
}

/** JSON Schema of a key's values. */
export interface FieldSchema {
  type?: string;
  const?: unknown;
  /** Human-readable name, if the key is none. */
  title?: string;
  description?: string;
  default?: unknown;
  examples?: unknown[];
  /** Field in which the value is typed. `rows`: its number of lines, 1 by default. */
  input?: { mode?: 'decimal'; rows?: number };
  /** Notation of the value, for people. */
  hint?: string;
  /** Text of the default, or an example. */
  placeholder?: string;
  anyOf?: FieldSchema[];
  properties?: Record<string, FieldSchema>;
}

export interface EndpointFields {
  /** Initial texts of the form for a new endpoint. */
  begun: Record<string, unknown>;
  name: FieldSchema;
  id: FieldSchema;
  workloads: WorkloadForm[];
  /** GPUs to choose from. */
  gpuSizes: string[];
}

/** A workload that an endpoint may run, and its fields. */
export interface WorkloadForm {
  key: string;
  /** Values of the key that select the workload, if the key has no others. A new endpoint gets the last one. */
  values?: unknown[];
  /** Name and purpose. Absent for workloads from the quick deploy catalogue. */
  choice?: { title: string; means: string };
  note?: string;
  /** GPU of its workers by default; `machine` for the GPUs of the service's machine, null if unknown. */
  gpu: string | null;
  /** True if a job's input is a scene in words. */
  readsScenes: boolean;
  /** True if all its workers take their jobs from other machines. */
  isElsewhere: boolean;
  /** Cards of the form. Keys that are seldom needed are in folded ones. */
  cards: { title: string; isFolded: boolean; fields: [key: string, schema: FieldSchema][] }[];
}

export interface JobRow {
  id: string;
  endpointId: string;
  status: string;
  acceptedAt: number;
  startedAt: number | null;
  endedAt: number | null;
  /** In ms. */
  delayTime: number | null;
  executionTime: number | null;
  workerId: string | null;
  retries: number;
  /** Name of the key that submitted the job, or that its sender was signed in with; null if unknown. */
  key: string | null;
  /** Beginning of the scene or prompt in its input. */
  summary: string;
}

export interface JobPage {
  jobs: JobRow[];
  /** Value of `before` for the next page, which may be empty in a search; null if this is the last. */
  next: string | null;
}

export interface BulkCount {
  jobs: number;
  /** True if more jobs match than one request reaches. */
  isMore: boolean;
}

/** Webhooks of ended jobs whose latest try failed. */
export interface FailedWebhooks {
  /** Number of webhooks that are no longer tried, and of those that will be tried again. */
  givenUp: number;
  waiting: number;
  /** Some of these webhooks; those that were given up come first. */
  webhooks: FailedWebhook[];
}

interface FailedWebhook {
  job: string;
  endpointId: string;
  host: string;
  tries: number;
  why: string;
  /** When the next try is due; null if the webhook was given up. */
  dueAt: number | null;
}

export interface JobHistoryView {
  /** When counting began, or when the range begins. */
  since: number;
  stepMs: number;
  /** One entry per step, oldest first. `queue` is the maximum length of the queue, `gpuMs` the time in workers. */
  steps: { at: number; completed: number; failed: number; queue: number; gpuMs: number }[];
  /** In ms, accurate to a tenth; null if there were no jobs. */
  delay: Quantiles | null;
  execution: Quantiles | null;
}

export interface Quantiles {
  p50: number;
  p95: number;
}

export interface JobView extends JobRow {
  /** JSON text; null if it is deleted or too large to show. */
  input: string | null;
  output: string | null;
  pictures: string[];
  error: string | null;
  /** Lines that the worker wrote during this job. */
  log: string[];
}

/** An entry of the audit log, which may have further texts. */
export interface AuditEntry {
  /** ISO 8601. */
  at: string;
  event: 'signed-in' | 'wrong-key' | 'change';
  /** Name of the key; null if no key is known. */
  key: string | null;
  /** Address of the client; null for the command line. */
  from: string | null;
  /** The change, or what the wrong key was used for. */
  what: string | null;
}

export interface KeyForm {
  name: string;
  kind: 'client' | 'worker' | 'admin';
  /** Ids of the endpoints that it may use; null for all. */
  endpoints: string[] | null;
  /** Execution time per day, such as `10h`; empty for no limit. */
  quota?: string;
  /** Price of a second of execution in USD; empty for none. */
  price?: string;
  /** True to hide jobs of other keys. */
  ownJobs?: boolean;
  /** True for a key that may change nothing. */
  readOnly?: boolean;
  /** Time until it expires, such as `90d`; empty for no limit. */
  expires?: string;
  /** Numbers, or a size such as `100MB`; empty for no limit. */
  requestsPerSecond?: string;
  maxQueued?: string;
  maxQueuedBytes?: string;
  maxHeld?: string;
}

export interface KeyView extends Pick<KeyForm, 'name' | 'kind' | 'endpoints'> {
  id: string;
  hasOwnJobsOnly: boolean;
  isReadOnly: boolean;
  quotaMs: number | null;
  price: number | null;
  /** Requests per second, jobs and bytes in the queue, and requests in progress; null for no limit. */
  limits: Record<'requestsPerSecond' | 'maxQueued' | 'maxQueuedBytes' | 'maxHeld', number | null>;
  /** Execution time of its jobs that ended today (UTC). */
  todayMs: number;
  /** `book`: created here. `given`: from the service's environment. `gone`: no longer given, but was used. */
  origin: 'book' | 'given' | 'gone';
  /** Null if it was not created here. Its last use is then not recorded either. */
  createdAt: number | null;
  lastUsedAt: number | null;
  /** Address of the client. */
  lastUsedFrom: string | null;
  revokedAt: number | null;
  /** Time until which it is accepted; null for no limit. */
  expiresAt: number | null;
  /** Jobs that workers with this key did, since the service was started, and their time; null if it is none of a worker. */
  done: { jobs: number; ms: number } | null;
  /** Usage by endpoint. `gpuMs` is the time of its jobs in workers. */
  usage: { endpointId: string; jobs: number; gpuMs: number }[];
}

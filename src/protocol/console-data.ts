/** What the console and its server say to each other, as JSON under `/console/api/`. Instants are epoch ms. */

/*
 * POST   session                     { key }                → { token } and a cookie | 401 ApiError | 429 ApiError
 * DELETE session                                            → 204
 * GET    session                                            → { signedIn: boolean }
 * GET    overview                                           → Overview | 401 ApiError (sign in again)
 * GET    catalogue                                          → CatalogueEntry[]: what is offered for quick deploy
 * GET    endpoint-fields                                    → EndpointFields: what the form of an endpoint is made of
 * POST   endpoints                   an endpoint            → 201 EndpointView | 422 ApiError with problems
 * PUT    endpoints/{id}              an endpoint            → 200 EndpointView | 422 | 404 | 409 (stands in service.yaml)
 * DELETE endpoints/{id}                                     → 204 | 404 | 409
 * POST   endpoints/{id}/jobs         { input, policy?, webhook? } → 201 { id } | 400 | 404 | 429
 * POST   endpoints/{id}/pause, endpoints/{id}/resume        → 204 | 404
 * POST   endpoints/{id}/workers/{worker}/drain             → 204 | 404
 * GET    jobs?endpoint=&status=&text=&before=               → JobPage, newest first
 * GET    jobs/cancel, jobs/retry?endpoint=&status=&text=    → BulkCount: how many of these the same as POST would reach
 * POST   jobs/cancel, jobs/retry?endpoint=&status=&text=    → BulkCount: how many were; again for more
 * GET    jobs/{id}                                          → JobView | 404
 * GET    jobs/{id}/thumbnail                                → JPEG of the first picture in its output, or 204
 * POST   jobs/{id}/cancel, jobs/{id}/retry                  → 200 { id, status } | 404 | 409
 * GET    history?endpoint=&range=hour|day                   → JobHistoryView
 * GET    webhooks                                           → FailedWebhooks
 * POST   webhooks/send                                      → BulkCount: all that were given up are sent again
 * POST   webhooks/{job}/send                                → 204 | 404
 * GET    keys                                               → KeyView[]
 * GET    audit                                              → AuditEntry[], newest first
 * POST   keys                        KeyForm                → 201 { key, view: KeyView }: the only time it is shown
 * POST   keys/{id}/rotate            { overlap?, expires? } → { key, view: KeyView } | 404 | 422
 * POST   keys/{id}/revoke                                   → 204 | 404
 *
 * Every request but these to `session` needs the cookie, and the token in the header `X-Nightrender-Console`. The page
 * keeps the token for its origin: a browser sends the cookie to programs on other ports of the host as well. To sign in,
 * the header is `1`: no form of another site can send it.
 */

export interface ApiError {
  error: string;
  /** Beside the fields they are about; `field` is the path of a key, with dots within it. */
  problems?: { field: string; text: string }[];
}

export interface Overview {
  program: string;
  url: string;
  /** Instant of the answer, by the service's clock. */
  now: number;
  retentionMs: number;
  /** True for who is signed in with a key that changes nothing. */
  isReadOnly: boolean;
  /** The name of the file that the service was started with; null where it was started without one. */
  file: string | null;
  /** The GPUs of the service's machine in words; null while they are looked for. */
  gpus: string[] | null;
  /** Why containers cannot be run on the service's machine; null where they can, or it is not known yet. */
  containerLack: string | null;
  endpoints: EndpointView[];
}

export interface CatalogueEntry {
  id: string;
  title: string;
  text: string;
  runs: { quickDeploy: string } | { image: string };
  environment: Record<string, string>;
  /** GB: memory of one GPU, disk, and what is pulled before the first job; 0 for none. */
  needs: { gpu: number; disk: number; pull: number };
  /** The keys of a job's input, each with what it is. */
  input: Record<string, string>;
  example: Record<string, unknown>;
}

export interface EndpointView {
  /** Where it was made; `file`: with the service, out of its file where it has one. It cannot be edited here. */
  origin: 'file' | 'console';
  /** As service.yaml would have it. Values of variables and words of commands may be hidden. */
  settings: { id: string; name: string; [key: string]: unknown };
  /** What it runs, in words. */
  runs: string;
  /** What fits it, as `nightrender work --allow` takes it. */
  allow: string;
  jobs: Record<
    'completed' | 'failed' | 'cancelled' | 'timedOut' | 'inProgress' | 'inQueue' | 'retried',
    number
  >;
  /** Ids of the jobs that were completed last. */
  latest: string[];
  workers: WorkerView[];
  /** Why its workers cannot be started, in words. */
  trouble: string | null;
  /** Its jobs wait until it is resumed. */
  isPaused: boolean;
}

export interface WorkerView {
  id: string;
  /** Started by the service, or pulling from elsewhere. */
  kind: 'own' | 'remote';
  state: 'initializing' | 'idle' | 'running' | 'throttled' | 'unhealthy';
  /** What it is at. */
  jobIds: string[];
  gpu: string | null;
  since: number;
  lastSeenAt: number;
  /** How the one before it in its place ended, or why it could not be started; null once it has done some good. */
  lastDeath: { why: string; at: number } | null;
  /** When another is started in its place; null where none is waited for. */
  startsAt: number | null;
  /** Its latest lines, and those of the ones before it in its place. */
  log: string[];
  /** What it says of where it runs, and what it runs; null for workers that do not. */
  machine: MachineView | null;
  workload: string | null;
  /** Takes no more jobs, and ends when it has done those that it has. */
  isDraining: boolean;
  /** Since it came. `busyMs` is time at jobs. */
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

/** What a key may hold, as JSON Schema. */
export interface FieldSchema {
  type?: string;
  const?: unknown;
  /** Its name for people, where the key is none. */
  title?: string;
  description?: string;
  default?: unknown;
  examples?: unknown[];
  anyOf?: FieldSchema[];
  properties?: Record<string, FieldSchema>;
}

/** What the form of an endpoint is made of. */
export interface EndpointFields {
  /** What the form of a new one begins with. */
  begun: Record<string, unknown>;
  name: FieldSchema;
  id: FieldSchema;
  workloads: WorkloadForm[];
}

/** What an endpoint may run, and the fields that it has then. */
export interface WorkloadForm {
  /** The key that chooses it. */
  key: string;
  /** Values of the key that choose it, if they are all that the key can hold; new endpoints get the last. */
  values?: unknown[];
  /** Name and purpose; left out for what the catalogue of quick deploy offers. */
  choice?: { title: string; means: string };
  /** Shown above the fields. */
  note?: string;
  /** What its workers compute on if the endpoint does not say; `machine` for the GPUs of the service's machine, null if unknown. */
  gpu: string | null;
  /** True if a job's input is a scene in words. */
  readsScenes: boolean;
  /** True if all its workers pull their jobs from elsewhere. */
  isElsewhere: boolean;
  cards: { title: string; fields: [key: string, schema: FieldSchema][] }[];
}

export interface JobRow {
  id: string;
  endpointId: string;
  status: string;
  acceptedAt: number;
  startedAt: number | null;
  endedAt: number | null;
  /** ms */
  delayTime: number | null;
  executionTime: number | null;
  workerId: string | null;
  retries: number;
  /** The name of the key that submitted it, or that its sender was signed in with; null where none is known. */
  key: string | null;
  /** The beginning of the scene or prompt of its input. */
  summary: string;
}

export interface JobPage {
  jobs: JobRow[];
  /** What `before` is for those that follow; null where none do. A search may have found nothing yet. */
  next: string | null;
}

export interface BulkCount {
  jobs: number;
  /** Whether there are more than are reached at once. */
  isMore: boolean;
}

/** Webhooks of ended jobs whose latest try failed. */
export interface FailedWebhooks {
  /** How many are tried no more, and how many are to be tried again. */
  givenUp: number;
  waiting: number;
  /** Some of them; those that were given up come first. */
  webhooks: FailedWebhook[];
}

interface FailedWebhook {
  job: string;
  endpointId: string;
  /** With its port. */
  host: string;
  tries: number;
  /** Why the latest try failed. */
  why: string;
  /** When the next try is due; null if the webhook was given up. */
  dueAt: number | null;
}

/** Since the service was started at most. */
export interface JobHistoryView {
  /** Counting began then, or where the range begins. */
  since: number;
  stepMs: number;
  /** One a step, oldest first. `queue` is the longest that the queue was; `gpuMs` is time in workers. */
  steps: { at: number; completed: number; failed: number; queue: number; gpuMs: number }[];
  /** ms, within a tenth; null where there was none. */
  delay: Quantiles | null;
  execution: Quantiles | null;
}

export interface Quantiles {
  p50: number;
  p95: number;
}

export interface JobView extends JobRow {
  /** JSON text; null once it is deleted or where it is larger than can be shown. */
  input: string | null;
  output: string | null;
  /** Data URIs of the pictures in the output. */
  pictures: string[];
  error: string | null;
  /** What the worker wrote while it was at this job. */
  log: string[];
}

/** A line of the audit log, which may have further texts. */
export interface AuditEntry {
  /** ISO 8601. */
  at: string;
  event: 'signed-in' | 'wrong-key' | 'change';
  /** Name of the key; null if no key is known. */
  key: string | null;
  /** Address of the client; null for the command line. */
  from: string | null;
  /** What was changed, or what the key was wrong for. */
  what: string | null;
}

export interface KeyForm {
  name: string;
  kind: 'client' | 'worker' | 'admin';
  /** Ids of the endpoints it is good for; null for all. */
  endpoints: string[] | null;
  /** Execution time a day, such as `10h`; empty without limit. */
  quota?: string;
  /** Of a second of execution, in USD; empty for none. */
  price?: string;
  /** Whether the jobs of other keys are to be hidden from it. */
  ownJobs?: boolean;
  /** Whether it is to change nothing. */
  readOnly?: boolean;
  /** How long it is valid, such as `90d`; empty without limit. */
  expires?: string;
  /** Numbers, and a size such as `100MB`; empty without limit. */
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
  /** Requests a second, jobs and bytes in the queue, and requests in progress; null without limit. */
  limits: Record<'requestsPerSecond' | 'maxQueued' | 'maxQueuedBytes' | 'maxHeld', number | null>;
  /** Execution time of its jobs that ended today (UTC). */
  todayMs: number;
  /** `given`: to the service as it was started, out of the environment; `gone`: one that was, of which the use is left. */
  origin: 'book' | 'given' | 'gone';
  /** Null where it was not made here; so is the last use, which is not kept of it. */
  createdAt: number | null;
  lastUsedAt: number | null;
  /** Address of the client. */
  lastUsedFrom: string | null;
  revokedAt: number | null;
  /** It is accepted until then; null without limit. */
  expiresAt: number | null;
  /** By endpoint; `gpuMs` is what its jobs took in workers. */
  usage: { endpointId: string; jobs: number; gpuMs: number }[];
}

/** Endpoints, workers, jobs and keys in the form in which the console's server sends them. */
import type {
  EndpointView,
  FailedWebhooks,
  JobView,
  KeyView,
  WorkerView,
} from '../../src/protocol/console-data.ts';
import { endpointSettings } from '../../src/service/model/endpoint-settings.ts';
import { workloadOf } from '../../src/service/workloads/workload-of.ts';

/** Returns the settings of the endpoint `painter`, unless `change` sets another workload. */
export function endpointForm(change: Record<string, unknown> = {}): EndpointView['settings'] {
  const isOther = ['image', 'command', 'module', 'remote'].some((key) => key in change);
  return {
    id: 'painter',
    name: 'Painter',
    ...(!isOther && { quickDeploy: 'painter' }),
    workers: 2,
    quickStart: true,
    retries: 2,
    executionTimeout: '10m',
    ttl: '24h',
    maxQueued: 10_000,
    ...change,
  };
}

export function endpointView(settings = endpointForm(), change: Partial<EndpointView> = {}): EndpointView {
  const jobs = {
    completed: 0,
    failed: 0,
    cancelled: 0,
    timedOut: 0,
    inProgress: 0,
    inQueue: 0,
    retried: 0,
  };
  const shown = { ...endpointSettings({ id: settings.id }, settings) };
  const workload = workloadOf(shown);
  return {
    origin: 'console',
    isFailing: false,
    settings,
    runs: workload.words(shown),
    allow: workload.onCluster?.(shown).allow ?? workload.nameElsewhere?.(shown) ?? 'scene',
    jobs,
    latest: [],
    workers: [],
    trouble: null,
    isPaused: false,
    ...change,
  };
}

type FailedWebhook = FailedWebhooks['webhooks'][number];

/** Returns a webhook that was given up, unless `change` says otherwise. */
export function failedWebhook(change: Partial<FailedWebhook> & { job: string }): FailedWebhook {
  return {
    endpointId: 'painter',
    host: 'studio.example',
    tries: 9,
    why: 'it answered 500',
    dueAt: null,
    ...change,
  };
}

export function jobView(change: Partial<JobView> & { id: string }): JobView {
  return {
    endpointId: 'painter',
    status: 'IN_QUEUE',
    acceptedAt: Date.now(),
    startedAt: null,
    endedAt: null,
    delayTime: null,
    executionTime: null,
    workerId: null,
    retries: 0,
    key: null,
    summary: 'A lighthouse',
    input: '{"scene":"A lighthouse"}',
    output: null,
    pictures: [],
    error: null,
    log: [],
    ...change,
  };
}

export function keyView(change: Partial<KeyView> & { name: string }): KeyView {
  return {
    id: `key-${change.name.length}`,
    origin: 'book',
    kind: 'client',
    endpoints: null,
    createdAt: Date.now(),
    lastUsedAt: null,
    lastUsedFrom: null,
    revokedAt: null,
    expiresAt: null,
    quotaMs: null,
    limits: { requestsPerSecond: null, maxQueued: null, maxQueuedBytes: null, maxHeld: null },
    hasOwnJobsOnly: false,
    isReadOnly: false,
    price: null,
    todayMs: 0,
    done: null,
    usage: [],
    ...change,
  };
}

export function workerView(change: Partial<WorkerView> & { id: string }): WorkerView {
  return {
    kind: 'own',
    state: 'idle',
    jobIds: [],
    gpu: null,
    since: Date.now(),
    lastSeenAt: Date.now(),
    lastDeath: null,
    startsAt: null,
    log: [],
    machine: null,
    workload: null,
    isDraining: false,
    jobsDone: 0,
    busyMs: 0,
    ...change,
  };
}

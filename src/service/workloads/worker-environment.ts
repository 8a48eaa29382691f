/** The environment of a worker that pulls its jobs, as the public worker SDK reads it. */
import { workerAddresses } from '../../protocol/paths.ts';

export interface PullWorkerIdentity {
  /** The service as the worker reaches it, without a slash at the end. */
  baseUrl: string;
  endpointId: string;
  workerId: string;
  /** Sent as the bare value of `Authorization`. */
  workerKey: string;
  /** A name for people; null for none. */
  gpuName: string | null;
}

const pingIntervalMs = 10_000;

/** Releases from 1.9.0 on end at their start where they do not reach the internet. An endpoint may set something else. */
export const publicWorkerDefaults = { RUNPOD_SKIP_AUTO_SYSTEM_CHECKS: 'true' };

export function workerEnvironment(identity: PullWorkerIdentity): Record<string, string> {
  const { baseUrl, endpointId, workerId, workerKey, gpuName } = identity;
  return {
    ...workerAddresses(baseUrl, endpointId, gpuName ?? 'none'),
    RUNPOD_PING_INTERVAL: String(pingIntervalMs),
    RUNPOD_ENDPOINT_ID: endpointId,
    RUNPOD_POD_ID: workerId,
    RUNPOD_AI_API_KEY: workerKey,
  };
}

/** Variables of the service that every workload gets; its keys in particular are not among them. */
const inherited = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

/** Variables by which container tools, drivers and shells find what they need. Workloads can read them, so none may hold a secret of the service. */
const ofHelpers = new RegExp(
  `^(${inherited.join('|')}|LOGNAME|LANGUAGE|LC_\\w+|XDG_\\w+|LD_LIBRARY_PATH|CUDA_\\w+|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES)|` +
    'DBUS_SESSION_BUS_ADDRESS|SSH_AUTH_SOCK|SSL_CERT_(FILE|DIR)|[A-Z]+_PROXY|[a-z]+_proxy|' +
    'DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS|TLS_VERIFY|API_VERSION)|CONTAINER_(HOST|CONNECTION|SSHKEY)|' +
    'CONTAINERS_(CONF|CONF_OVERRIDE|REGISTRIES_CONF|STORAGE_CONF)|_CONTAINERS_\\w+|STORAGE_(DRIVER|OPTS)|REGISTRY_AUTH_FILE)$',
);

export function isOfHelpers(name: string): boolean {
  return ofHelpers.test(name);
}

/** Returns the environment of programs that help the service: container tools, guards, queries of drivers. */
export function helperEnvironment(own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(own).filter(([name]) => isOfHelpers(name)));
}

export interface ProcessOwner {
  endpointId: string;
  workerId: string;
}

/** What every process needs, what the endpoint's settings add, and who the worker is, as workers elsewhere learn it. */
export function processEnvironment(
  settings: Readonly<Record<string, string>>,
  { endpointId, workerId }: ProcessOwner,
  own: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const needed = inherited.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const]));
  return {
    ...Object.fromEntries(needed),
    ...settings,
    RUNPOD_ENDPOINT_ID: endpointId,
    RUNPOD_POD_ID: workerId,
  };
}

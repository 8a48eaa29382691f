/** Variables of workers and helper programs, without secrets of the service. */
import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { workerAddresses } from '../../protocol/paths.ts';

interface PullWorkerIdentity {
  /** Address at which the worker reaches the service, without a trailing slash. */
  baseUrl: string;
  endpointId: string;
  workerId: string;
  /** Key that the worker sends as the value of `Authorization`, without a scheme. */
  workerKey: string;
  /** Name of the GPU shown to people; null for none. */
  gpuName: string | null;
}

const pingIntervalMs = 10_000;

/** SDK 1.9.0 and later exit at the start without internet access, unless this is set. Endpoints can override it. */
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

/** Variables of the service that every workload inherits. None may hold a secret. */
const inherited = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR'];

/** Variables that container tools, drivers and shells need. Workloads can read them, so none may hold a secret. */
const ofHelpers = new RegExp(
  `^(${inherited.join('|')}|LOGNAME|LANGUAGE|LC_\\w+|XDG_\\w+|LD_LIBRARY_PATH|CUDA_\\w+|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES)|` +
    'DBUS_SESSION_BUS_ADDRESS|SSH_AUTH_SOCK|SSL_CERT_(FILE|DIR)|[A-Z]+_PROXY|[a-z]+_proxy|' +
    'DOCKER_(HOST|CONTEXT|CONFIG|CERT_PATH|TLS|TLS_VERIFY|API_VERSION)|CONTAINER_(HOST|CONNECTION|SSHKEY)|' +
    'CONTAINERS_(CONF|CONF_OVERRIDE|REGISTRIES_CONF|STORAGE_CONF)|_CONTAINERS_\\w+|STORAGE_(DRIVER|OPTS)|REGISTRY_AUTH_FILE)$',
);

function isOfHelpers(name: string): boolean {
  return ofHelpers.test(name);
}

/** Returns the environment of the service's helper programs: container tools, guards, driver queries. */
export function helperEnvironment(own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(own).filter(([name]) => isOfHelpers(name)));
}

interface ProcessOwner {
  endpointId: string;
  workerId: string;
}

/** Returns the environment of a worker's process: inherited variables, the endpoint's settings, and the worker's id. */
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

/**
 * Overwrites the initial environment of this process, except for variables that workloads get anyway. Linux shows it to
 * all programs of the same user, and so to workloads. `process.env` keeps its values, because they are stored in other
 * memory afterwards. Does nothing on other systems, or if the kernel forbids writing to `/proc/self/mem`.
 */
export function hideEnvironment(): void {
  // In a thread, `process.env` is a copy.
  if (process.platform !== 'linux' || !isMainThread) return;
  try {
    const shown = readFileSync('/proc/self/environ');
    const memory = openSync('/proc/self/mem', 'r+');
    try {
      overwrite(memory, startOfEnvironment(), shown);
    } finally {
      closeSync(memory);
    }
  } catch {
    // This protection is optional: the manual recommends to keep secrets in files.
  }
}

function overwrite(memory: number, start: number, shown: Buffer): void {
  const there = Buffer.alloc(shown.length);
  readSync(memory, there, 0, there.length, start);
  if (!there.equals(shown)) return;
  let at = 0;
  for (const entry of shown.toString('latin1').split('\0')) {
    const [name = ''] = Buffer.from(entry, 'latin1').toString().split('=', 1);
    if (!isOfHelpers(name) && name !== markName) {
      const value = process.env[name];
      writeSync(memory, Buffer.alloc(entry.length), 0, entry.length, start + at);
      // Variables that are set now are stored in other memory.
      if (value !== undefined) process.env[name] = value;
    }
    at += entry.length + 1;
  }
}

/** Returns the address of the environment: field 50 of proc_pid_stat(5). The name in field 2 may contain spaces. */
function startOfEnvironment(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  return Number(stat.slice(stat.lastIndexOf(') ') + 2).split(' ')[50 - 3]);
}

/** Name of the variable that marks a process and its descendants. */
export const markName = 'NIGHTRENDER_WORKER';

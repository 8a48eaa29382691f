/** Finds the workload of an endpoint, and runs it on Slurm with `nightrender work`. */
import { createHash } from 'node:crypto';
import { SlurmQueue } from '../../clusters/slurm-workers.ts';
import { packageFile } from '../../lib/files/package-file.ts';
import type { EndpointSettings } from '../model/endpoint-settings.ts';
import type { WorkloadContext, WorkloadDefinition } from './workload-definition.ts';
import { workloads } from './workloads.ts';

/** Returns the workload that an endpoint's keys choose; undefined if they choose none. */
export function findWorkload(keys: Readonly<Record<string, unknown>>): WorkloadDefinition | undefined {
  return workloads.find(({ key, values }) => {
    const value = keys[key];
    return value !== undefined && (values === undefined || values.names.some((name) => name === value));
  });
}

/** Returns the workload of an endpoint whose settings were checked. Throws if there is none. */
export function workloadOf(settings: EndpointSettings): WorkloadDefinition {
  const found = findWorkload(settings);
  if (found === undefined) throw new Error(`endpoint ${settings.id} has an unknown workload`);
  return found;
}

/** Workload that `nightrender work --allow` names, as keys of an endpoint that runs it. */
export interface AllowedWorkload {
  keys: Readonly<Record<string, unknown>>;
}

/** Reads the list of `--allow`. Returns the first value that names no workload, and the expected notations, if there is one. */
export function readAllowed(
  list: string,
): { workloads: AllowedWorkload[] } | { text: string; expected: string } {
  const notations = workloads.flatMap(({ allowed }) => allowed ?? []);
  // A command may contain commas itself, so only a comma before a beginning separates.
  const beginnings = notations.flatMap((each) => each.beginnings).join('|');
  const texts = list.split(new RegExp(`,(?=\\s*(?:${beginnings}))`)).map((text) => text.trim());
  const named = texts.map((text) => ({ text, keys: keysOfAllowed(text) }));
  const unknown = named.find(({ keys }) => keys === undefined);
  if (unknown === undefined)
    return { workloads: named.flatMap(({ keys }) => (keys === undefined ? [] : { keys })) };
  const names = notations.map(({ notation }) => notation);
  const expected = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}, or several with commas`;
  return { text: unknown.text, expected };
}

/** True if a service names this workload by `runs`, in the notation of `--allow`. */
export function isNamedBy({ keys }: AllowedWorkload, runs: string): boolean {
  return JSON.stringify(keysOfAllowed(runs)) === JSON.stringify(keys);
}

function keysOfAllowed(text: string): AllowedWorkload['keys'] | undefined {
  for (const { allowed } of workloads)
    if (allowed?.beginnings.some((beginning) => text.startsWith(beginning)) === true)
      return allowed.read(text);
  return undefined;
}

/** Variables of the service's own environment that its Slurm jobs get. */
const passedOn = 'PATH HOME USER LOGNAME LANG LC_ALL TZ SLURM_CONF NODE_EXTRA_CA_CERTS'.split(' ');

const gpuVariables = ['CUDA_VISIBLE_DEVICES', 'ROCR_VISIBLE_DEVICES', 'ZE_AFFINITY_MASK'];

/** Returns the workload on Slurm. `folder`: absolute. The key goes by environment, as arguments are public. */
export function slurmWorkload(
  settings: EndpointSettings,
  { slurm: options }: NonNullable<EndpointSettings['on']>,
  { url, workerKey }: WorkloadContext,
  folder: string,
): ClusterWorkload {
  const { id, environment, workers: range, recycle, executionTimeout } = settings;
  const definition = workloadOf(settings);
  const onCluster = definition.onCluster?.(settings);
  if (onCluster === undefined) throw new Error(`Slurm cannot run ${definition.words(settings)}`);
  const mark = createHash('sha256').update(workerKey).digest('hex').slice(0, 8);
  const name = `nightrender-${id.slice(0, 40)}-${mark}`;
  const kept = Object.fromEntries(
    passedOn.flatMap((key) => (process.env[key] === undefined ? [] : [[key, process.env[key]]])),
  ) as Record<string, string>;
  const variables = [...gpuVariables, ...Object.keys(environment)].join(',');
  const workers = {
    name,
    folder: onCluster.folder ?? folder,
    command: [
      process.execPath,
      packageFile('dist/nightrender.cjs'),
      'work',
      url,
      `--endpoint=${id}`,
      `--allow=${onCluster.allow}`,
      `--env=${variables}`,
      ...(url.startsWith('http:') ? ['--insecure'] : []),
      ...(recycle.jobs === undefined ? [] : ['--recycle', String(recycle.jobs)]),
    ],
    idleArguments: ['--idle', `${Math.ceil(range.idle / 1_000)}s`],
    kept: range.min,
    graceMs: Math.min(executionTimeout, maxGraceMs),
    environment: {
      ...kept,
      ...environment,
      NIGHTRENDER_WORKER_KEY: workerKey,
    },
    options,
  };
  const queue = new SlurmQueue(kept);
  return {
    name: 'Slurm',
    tasks: () => queue.workers(name),
    startWorkers: (places, intent) => queue.start(workers, places, intent),
    cancelWaiting: (ids) => queue.cancelWaiting(ids),
  };
}

const maxGraceMs = 600_000;

/** Port to a cluster that runs workers as its jobs. They pull jobs over the network. */
export interface ClusterWorkload {
  /** Name shown to people, such as `Slurm`. */
  name: string;
  tasks(): Promise<ClusterTask[]>;
  /** Starts workers whose tasks carry `mark`. The error has `isUncertain: true` if the workers may start nevertheless. */
  startWorkers(places: readonly number[], mark: string): Promise<void>;
  /** Cancels tasks that are still waiting. Tasks that have started meanwhile keep running. */
  cancelWaiting(ids: readonly string[]): Promise<void>;
}

export interface ClusterTask {
  id: string;
  /** Index of the task among the endpoint's workers, from 0. Unique among tasks that have not ended. */
  place: number;
  mark: string;
  state: 'waiting' | 'running' | 'ending';
}

/** Returns the cluster task in the last part of a worker's id; undefined if the worker is no cluster task. */
export function taskOfWorker(workerId: string): string | undefined {
  return /-slurm(\d+_\d+)(?:\.\d+)?$/.exec(workerId)?.[1];
}

/** Returns the end of a worker's id that `taskOfWorker` reads; empty if this process is in no Slurm job array. */
export function clusterSuffix(env: NodeJS.ProcessEnv): string {
  const { SLURM_ARRAY_JOB_ID: job, SLURM_ARRAY_TASK_ID: task } = env;
  return job === undefined || task === undefined ? '' : `-slurm${job}_${task}`;
}

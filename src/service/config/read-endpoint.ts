/** An endpoint as service.yaml has it, read into settings and written out of them; in the file as in the console. */
import { resolve } from 'node:path';
import type { JsonObject } from '../../lib/text/json.ts';
import { readFields } from '../../lib/yaml/check-shape.ts';
import { durationText, sizeText } from '../../lib/yaml/scalar-schemas.ts';
import type { EndpointForm } from '../../protocol/console-data.ts';
import {
  blenderRecycle,
  defaultIdleMs,
  endpointSettings,
  neverRecycled,
  type EndpointSettings,
  type Recycle,
  type WorkloadSettings,
} from '../endpoint-settings.ts';
import { defaultTerms } from '../jobs/job.ts';
import { isNetwork } from '../workloads/container-workload.ts';
import {
  endpointProblems,
  isPath,
  type EndpointDraft,
  type EndpointContext,
  type FieldExpectation,
} from './endpoint-rules.ts';
import { endpointSchema, workloadKeys, type FileEndpoint } from './endpoint-schema.ts';

/** With all that is wrong beyond what the schema says of it. */
export function readEndpoint(
  given: JsonObject,
  context: EndpointContext,
): { draft: EndpointDraft; problems: FieldExpectation[] } {
  const isWritten = (key: string): boolean => Object.hasOwn(given, key);
  const read = readFields(endpointSchema.shape, given);
  const kinds = workloadKeys.filter(isWritten);
  const problems: FieldExpectation[] = [];
  const refuse = (field: string, expected: string): void => void problems.push({ field, expected });
  if (kinds.length !== 1) refuse('', `exactly one of ${workloadKeys.join(', ')}`);
  if (isWritten('arguments') && !isWritten('image'))
    refuse('arguments', 'none: only an image takes options of `docker run`');
  if (isWritten('blender') && read.quickDeploy !== 'blender')
    refuse('blender', 'none: only `quickDeploy: blender` has such settings');
  if (isWritten('cwd') && !isWritten('command')) refuse('cwd', 'none: only a command has a working folder');
  if (isWritten('on') && !isWritten('workers'))
    refuse('workers', 'how many workers the cluster may run, such as {min: 0, max: 64, idle: 5m}');
  const { workers: range, on } = read;
  const { max, min, idle } = typeof range === 'object' ? range : { max: range };
  const draft: EndpointDraft = {
    isIdMade: !isWritten('id'),
    id: isWritten('id') ? read.id : idOfName(read.name ?? ''),
    name: read.name,
    workload: kinds.length === 1 ? workloadOf(read, context.folder) : undefined,
    on: isWritten('on') ? clusterOf(on, context.folder) : undefined,
    workers: max,
    minWorkers: min,
    idleMs: idle,
    recycle: read.recycle && recycleOf(read.recycle),
    stallMs: read.stall,
    quickStart: read.quickStart,
    gpu: gpuOf(read.gpu),
    memoryBytes: read.memory,
    cpus: read.cpus,
    network: read.network,
    serviceUrl: read.serviceUrl?.replace(/\/+$/, ''),
    capabilities: read.capabilities,
    environment: read.environment,
    retries: read.retries,
    executionTimeoutMs: read.executionTimeout,
    ttlMs: read.ttl ?? (isWritten('ttl') ? undefined : defaultTerms.ttlMs),
    maxQueued: read.maxQueued,
  };
  return { draft, problems: [...problems, ...endpointProblems(draft, context)] };
}

/** Undefined where the name holds nothing that an id can. */
function idOfName(name: string): string | undefined {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-');
  const id = words.replace(/^-/, '').replace(/-$/, '');
  return id === '' ? undefined : id;
}

type Written = { [Key in keyof FileEndpoint]?: FileEndpoint[Key] };

/** Undefined where the one that is there is wrong. */
function workloadOf(written: Written, folder: string): WorkloadSettings | undefined {
  const { quickDeploy, image, command, module, comfyui, remote, blender } = written;
  const absolute = (path: string | null | undefined): string | null => (path ? resolve(folder, path) : null);
  if (quickDeploy === 'blender') {
    const { program, assets, scripts, image: own = null } = blender ?? {};
    const paths = { program: absolute(program), assets: absolute(assets), scripts: absolute(scripts) };
    return { kind: 'blender', ...paths, image: own };
  }
  if (quickDeploy !== undefined) return { kind: 'prebuilt', name: quickDeploy };
  if (image !== undefined) return { kind: 'image', image, arguments: written.arguments ?? [] };
  if (command !== undefined) {
    const [program = '', ...rest] = command;
    const found = isPath(program) ? resolve(folder, program) : program;
    return { kind: 'command', command: [found, ...rest], cwd: resolve(folder, written.cwd ?? '.') };
  }
  if (module !== undefined) return { kind: 'module', path: resolve(folder, module) };
  if (comfyui !== undefined) {
    const urls = [comfyui.url].flat().map((url) => url.replace(/\/+$/, ''));
    return { kind: 'comfyui', urls, workflow: resolve(folder, comfyui.workflow), set: comfyui.set };
  }
  return remote === undefined ? undefined : { kind: 'remote' };
}

/** Null for what is wrong: it is meant all the same. */
function clusterOf(on: FileEndpoint['on'], folder: string): EndpointSettings['on'] {
  return on === undefined ? null : { slurm: on === 'slurm' ? [] : on.slurm, folder };
}

function recycleOf({ jobs, memory, time }: NonNullable<FileEndpoint['recycle']>): Recycle {
  return { jobs: jobs ?? null, memoryBytes: memory ?? null, ms: time ?? null };
}

function gpuOf(gpu: FileEndpoint['gpu']): EndpointDraft['gpu'] {
  if (gpu === undefined) return undefined;
  return typeof gpu === 'string' ? { label: gpu } : { devices: gpu.devices.map(String) };
}

/** Of a draft with which nothing is wrong. */
export function settingsOf(draft: EndpointDraft, maxQueued: number): EndpointSettings {
  const { isIdMade: _, ...given } = draft;
  const { id, name, workload, ttlMs } = draft;
  if (id === undefined || name === undefined || workload === undefined || ttlMs === undefined)
    throw new Error('an endpoint without an id, a name, a workload or a ttl was let in');
  return endpointSettings({
    ...workersOf(workload),
    recycle: workload.kind === 'blender' ? blenderRecycle : neverRecycled,
    executionTimeoutMs: Math.min(defaultTerms.executionTimeoutMs, ttlMs),
    maxQueued,
    ...said(given),
    id,
  });
}

/** Boxes are asked whether they are there, also where there is no job. */
function workersOf(workload: WorkloadSettings): Pick<EndpointSettings, 'workers' | 'minWorkers'> {
  if (workload.kind === 'comfyui') return { workers: workload.urls.length, minWorkers: workload.urls.length };
  return { workers: workload.kind === 'remote' ? 0 : 1, minWorkers: 0 };
}

/** The way back: read again, it gives the same settings. What is as it is by default anyway may be left out. */
export function writtenEndpoint(settings: EndpointSettings): EndpointForm {
  const { id, name, workload, on, workers, minWorkers, idleMs, gpu, recycle, environment } = settings;
  const isRange = minWorkers !== 0 || idleMs !== defaultIdleMs;
  const range = isRange ? { min: minWorkers, max: workers, idle: durationText(idleMs) } : workers;
  const isRecycled = workload.kind === 'blender' || Object.values(recycle).some((bound) => bound !== null);
  return {
    id,
    name,
    ...writtenWorkload(workload),
    ...said({
      on: on && (on.slurm.length === 0 ? 'slurm' : { slurm: on.slurm }),
      workers: ['remote', 'comfyui'].includes(workload.kind) ? null : range,
      quickStart: settings.quickStart,
      gpu: gpu && ('label' in gpu ? gpu.label : gpu),
      memory: settings.memoryBytes && sizeText(settings.memoryBytes),
      cpus: settings.cpus,
      ...writtenBounds(settings),
      executionTimeout: durationText(settings.executionTimeoutMs),
      ttl: durationText(settings.ttlMs),
      retries: settings.retries,
      maxQueued: settings.maxQueued,
      recycle: isRecycled ? writtenRecycle(recycle) : null,
      stall: settings.stallMs && durationText(settings.stallMs),
      environment: Object.keys(environment).length === 0 ? null : environment,
    }),
  };
}

/** Names what earlier versions did by default, so that a change of another key leaves it as it is. */
function writtenBounds(settings: EndpointSettings): Partial<EndpointForm> {
  const { workload, network, serviceUrl, capabilities } = settings;
  if (workload.kind !== 'image' && workload.kind !== 'blender') return {};
  const isSaid = workload.kind !== 'image' || workload.arguments.some(isNetwork);
  return said({
    network: network ?? (isSaid ? null : 'host'),
    serviceUrl,
    capabilities: capabilities ?? ['default'],
  });
}

function writtenWorkload(workload: WorkloadSettings): Partial<EndpointForm> {
  switch (workload.kind) {
    case 'prebuilt':
      return { quickDeploy: workload.name };
    case 'blender': {
      const { kind, ...blender } = workload;
      return { quickDeploy: kind, blender: said(blender) };
    }
    case 'image':
      return { image: workload.image, arguments: workload.arguments };
    case 'command':
      // Earlier versions kept none and ran it where the service was started.
      return { command: workload.command, cwd: workload.cwd ?? process.cwd() };
    case 'module':
      return { module: workload.path };
    case 'comfyui': {
      const { urls: url, workflow, set } = workload;
      return { comfyui: { url, workflow, set } };
    }
    case 'remote':
      return { remote: true };
  }
}

function writtenRecycle({ jobs, memoryBytes, ms }: Recycle): object {
  return said({ jobs, memory: memoryBytes && sizeText(memoryBytes), time: ms && durationText(ms) });
}

/** Without what is not said. */
function said<T extends object>(all: T): { [Key in keyof T]?: NonNullable<T[Key]> } {
  const kept = Object.entries(all).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(kept) as { [Key in keyof T]?: NonNullable<T[Key]> };
}

/** An endpoint between what was written and what is meant, whichever way it was written. */
import {
  blenderRecycle,
  defaultIdleMs,
  type EndpointSettings,
  neverRecycled,
  type WorkloadSettings,
} from '../endpoint-settings.ts';

/** What could be read of each field; undefined is what is wrong by itself, or was left out. */
export interface EndpointFields {
  id?: string | undefined;
  name?: string | undefined;
  workload?: WorkloadSettings | undefined;
  gpu?: EndpointSettings['gpu'] | undefined;
  on?: EndpointSettings['on'] | undefined;
  workers?: number | undefined;
  minWorkers?: number | undefined;
  idle?: number | undefined;
  recycle?: EndpointSettings['recycle'] | undefined;
  stall?: number | undefined;
  quickStart?: boolean | undefined;
  memory?: number | null | undefined;
  cpus?: number | null | undefined;
  environment?: Record<string, string> | undefined;
  retries?: number | undefined;
  executionTimeout?: number | undefined;
  ttl?: number | undefined;
  maxQueued?: number | undefined;
}

export type EndpointDraft = {
  [Key in keyof EndpointSettings]?: EndpointSettings[Key] | undefined;
} & {
  /** Out of the name, since none was written. */
  isIdMade: boolean;
};

/** What is wrong with one: `field` as in the console's form, with dots within it. */
export interface FieldExpectation {
  field: string;
  expected: string;
}

const defaultRetries = 2;
const defaultExecutionTimeoutMs = 600_000;
const defaultTtlMs = 86_400_000;

/** `isWritten` says of a field whether there is something, right or wrong. */
export function draftOf(fields: EndpointFields, isWritten: (field: string) => boolean): EndpointDraft {
  const isIdMade = !isWritten('id');
  return {
    isIdMade,
    id: isIdMade ? idOfName(fields.name ?? '') : fields.id,
    name: fields.name,
    workload: fields.workload,
    on: fields.on,
    workers: fields.workers,
    minWorkers: fields.minWorkers,
    idleMs: fields.idle,
    recycle: fields.recycle,
    stallMs: fields.stall,
    quickStart: fields.quickStart,
    gpu: fields.gpu,
    memoryBytes: fields.memory,
    cpus: fields.cpus,
    environment: fields.environment,
    retries: fields.retries,
    executionTimeoutMs: fields.executionTimeout,
    ttlMs: fields.ttl ?? (isWritten('ttl') ? undefined : defaultTtlMs),
    maxQueued: fields.maxQueued,
  };
}

/** Of a draft with which nothing is wrong. */
export function settingsOf(draft: EndpointDraft, defaultMaxQueued: number): EndpointSettings {
  const { id, name, workload, ttlMs } = draft;
  if (id === undefined || name === undefined || workload === undefined || ttlMs === undefined)
    throw new Error('an endpoint without an id, a name, a workload or a ttl was let in');
  return {
    id,
    name,
    workload,
    on: draft.on ?? null,
    workers: draft.workers ?? (workload.kind === 'remote' ? 0 : 1),
    minWorkers: draft.minWorkers ?? 0,
    idleMs: draft.idleMs ?? defaultIdleMs,
    quickStart: draft.quickStart ?? false,
    recycle: draft.recycle ?? (workload.kind === 'blender' ? blenderRecycle : neverRecycled),
    stallMs: draft.stallMs ?? null,
    gpu: draft.gpu ?? null,
    memoryBytes: draft.memoryBytes ?? null,
    cpus: draft.cpus ?? null,
    environment: draft.environment ?? {},
    retries: draft.retries ?? defaultRetries,
    executionTimeoutMs: draft.executionTimeoutMs ?? Math.min(defaultExecutionTimeoutMs, ttlMs),
    ttlMs,
    maxQueued: draft.maxQueued ?? defaultMaxQueued,
  };
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

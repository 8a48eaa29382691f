/** What the fields of an endpoint say of one another, of the other endpoints and of this machine. */
import { isLoopback } from '../../lib/net/addresses.ts';
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import { type EndpointSettings, limitedKeys } from '../model/endpoint-settings.ts';
import { at, type FieldExpectation, type WorkloadDefinition } from '../workloads/workload-definition.ts';
import { findWorkload } from '../workloads/workload-of.ts';
import { workloads } from '../workloads/workloads.ts';
import { takesKey } from './endpoint-schema.ts';

/** What an endpoint is read beside. */
export interface EndpointContext {
  /** Absolute: what paths are relative to. */
  folder: string;
  /** All others of the service. */
  others: readonly { id?: string | undefined; name?: string | undefined }[];
  /** Where programs are looked for. */
  env: NodeJS.ProcessEnv;
  /** Address of the service, if the file says it. */
  publicUrl?: string | undefined;
}

/** `fields` has what could be read; `isWritten` is true for keys that are there, be they right or wrong. */
export function endpointProblems(
  fields: Partial<EndpointSettings>,
  isWritten: (key: string) => boolean,
  { others, env, publicUrl }: EndpointContext,
): FieldExpectation[] {
  const workload = findWorkload(fields);
  return [
    ...identityProblems(fields, !isWritten('id'), others),
    ...timeProblems(fields),
    ...(workload === undefined ? [] : uselessKeys(fields, workload)),
    // Files of a cluster's workers are there.
    ...(isWritten('on') ? [] : (workload?.missing?.(fields, env) ?? [])),
    ...clusterProblems(fields),
    ...(workload?.problems?.(fields, publicUrl) ?? []),
  ];
}

function identityProblems(
  { id, name }: Partial<EndpointSettings>,
  isIdMade: boolean,
  others: EndpointContext['others'],
): FieldExpectation[] {
  const isTaken = (own: string | undefined, key: 'id' | 'name'): boolean =>
    own !== undefined && others.some((other) => other[key]?.toLowerCase() === own.toLowerCase());
  const found: FieldExpectation[] = [];
  if (isTaken(name, 'name')) found.push({ field: 'name', expected: 'a name that is not taken' });
  // That an id is taken which is made of a taken name follows from that.
  if (isIdMade && found.length > 0) return found;
  if (isIdMade && name !== undefined && id === undefined)
    found.push({ field: 'id', expected: 'an id, since the name has no letters or digits to make one of' });
  const taken = `an id, since ${id ?? ''}, made of the name, is taken`;
  if (isTaken(id, 'id')) found.push({ field: 'id', expected: isIdMade ? taken : 'an id that is not taken' });
  return found;
}

function timeProblems({ executionTimeout, ttl }: Partial<EndpointSettings>): FieldExpectation[] {
  if (executionTimeout === undefined || ttl === undefined || executionTimeout <= ttl) return [];
  return at('executionTimeout', `at most the ttl of ${durationText(ttl)}, after which a job ends anyway`);
}

/** Returns what would be taken without a word and have no effect. */
function uselessKeys(fields: Partial<EndpointSettings>, workload: WorkloadDefinition): FieldExpectation[] {
  const elsewhere: Record<string, string> = { ...limitedKeys };
  for (const each of workloads) Object.assign(elsewhere, each.elsewhere);
  const ofOthers = Object.entries(elsewhere).filter(
    ([key]) => fields[key] !== undefined && !takesKey(workload, key),
  );
  const idle = Object.entries(workload.without ?? {}).filter(([path]) => isSaid(fields, path));
  return [...ofOthers, ...idle].flatMap(([field, expected]) => at(field, expected));
}

/** True if the value at a path asks for something: no worker, no variables and `false` ask for nothing. */
function isSaid(fields: Partial<EndpointSettings>, path: string): boolean {
  if (path === 'workers') return (fields.workers?.max ?? 0) > 0;
  const value = path
    .split('.')
    .reduce<unknown>(
      (inner, key) =>
        typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>)[key] : undefined,
      fields,
    );
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== undefined && value !== false;
}

/** Returns what the cluster decides, or its workers cannot do. */
function clusterProblems({ on, workers, quickStart, gpu, memory, recycle }: Partial<EndpointSettings>) {
  if (on === undefined) return [];
  const found: FieldExpectation[] = [];
  const refuse = (field: string, expected: string): void => void found.push({ field, expected });
  if (workers?.max === 0) refuse('workers', 'at least 1, since `on` starts no more than these');
  if (quickStart === true) refuse('quickStart', 'false: `min` of `workers` keeps some');
  if (typeof gpu === 'object')
    refuse('gpu.devices', 'no devices: the cluster assigns them, by options such as --gres=gpu:1');
  if (memory !== undefined)
    refuse('memory', 'no memory limit: the cluster has its own, by options such as --mem=16G');
  if (recycle?.memory !== undefined || recycle?.time !== undefined)
    refuse('recycle', 'only `jobs`: the cluster limits memory and time, by options such as --time=8:00:00');
  return found;
}

/** Returns what is expected of the address at which workers of a cluster find the service; undefined if nothing is wrong with it. */
export function publicUrlExpected(publicUrl: string | undefined, isInsecure: boolean): string | undefined {
  if (publicUrl === undefined)
    return 'the address at which workers of a cluster reach the service, such as https://render.example';
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'https:' || isInsecure || isLoopback(hostname)
    ? undefined
    : 'an https: address, or `insecure: true` in a network that you trust: anybody on the way could read keys';
}

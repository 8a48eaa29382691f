/** Rules of an endpoint that its schema cannot express: between its fields, with other endpoints, and on this machine. */
import { isLoopback } from '../../lib/net/addresses.ts';
import { durationText } from '../../lib/yaml/scalar-schemas.ts';
import { type EndpointSettings, limitedKeys } from '../model/endpoint-settings.ts';
import { at, type FieldExpectation, type WorkloadDefinition } from '../workloads/workload-definition.ts';
import { findWorkload } from '../workloads/workload-of.ts';
import { workloads } from '../workloads/workloads.ts';
import { takesKey } from './endpoint-schema.ts';

/** Surroundings in which an endpoint is checked. */
export interface EndpointContext {
  /** Absolute path of the folder to which paths are relative. */
  folder: string;
  /** Other endpoints of the service, whose ids and names are taken. */
  others: readonly { id?: string | undefined; name?: string | undefined }[];
  /** Environment whose PATH is searched for programs. */
  env: NodeJS.ProcessEnv;
  /** `publicUrl` of service.yaml. */
  publicUrl?: string | undefined;
}

/** Returns problems of an endpoint. `fields`: valid fields. `isWritten`: true for keys that are present, valid or not. */
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
    // Files for workers of a cluster are on the cluster, not on this machine.
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
  // An id that is derived from a taken name is taken as well, which needs no second message.
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

/** Returns problems with keys that have no effect on this workload. */
function uselessKeys(fields: Partial<EndpointSettings>, workload: WorkloadDefinition): FieldExpectation[] {
  const elsewhere: Record<string, string> = { ...limitedKeys };
  for (const each of workloads) Object.assign(elsewhere, each.elsewhere);
  const ofOthers = Object.entries(elsewhere).filter(
    ([key]) => fields[key] !== undefined && !takesKey(workload, key),
  );
  const idle = Object.entries(workload.without ?? {}).filter(([path]) => isSaid(fields, path));
  return [...ofOthers, ...idle].flatMap(([field, expected]) => at(field, expected));
}

/** True if the value at a path has an effect. Zero workers, no variables and `false` have none. */
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

/** Returns problems with settings that a cluster decides itself, or that its workers do not support. */
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

/** Returns the expected value of `publicUrl` if workers of a cluster could not use it safely; undefined if they can. */
export function publicUrlExpected(publicUrl: string | undefined, isInsecure: boolean): string | undefined {
  if (publicUrl === undefined)
    return 'the address at which workers of a cluster reach the service, such as https://render.example';
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'https:' || isInsecure || isLoopback(hostname)
    ? undefined
    : 'an https: address, or `insecure: true` in a network that you trust: anybody on the way could read keys';
}

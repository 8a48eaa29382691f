/** Reads an endpoint of service.yaml or of the console into settings. */
import type { JsonObject } from '../../lib/text/json.ts';
import { readFields } from '../../lib/yaml/check-shape.ts';
import { defaultTerms } from '../model/job.ts';
import { endpointSettings, type EndpointSettings } from '../model/endpoint-settings.ts';
import type { FieldExpectation } from '../workloads/workload-definition.ts';
import { findWorkload } from '../workloads/workload-of.ts';
import { type EndpointContext, endpointProblems } from './endpoint-rules.ts';
import { endpointSchema, workloadKeys } from './endpoint-schema.ts';

/** Returns the valid fields of an endpoint, with absolute paths, and all problems that the schema cannot find. */
export function readEndpoint(
  given: JsonObject,
  context: EndpointContext,
): { fields: Partial<EndpointSettings>; problems: FieldExpectation[] } {
  const isWritten = (key: string): boolean => Object.hasOwn(given, key);
  const read = readFields(endpointSchema.shape, given);
  const kinds = workloadKeys.filter(isWritten);
  const problems: FieldExpectation[] = [];
  const refuse = (field: string, expected: string): void => void problems.push({ field, expected });
  if (kinds.length !== 1) refuse('', `exactly one of ${workloadKeys.join(', ')}`);
  if (isWritten('on') && !isWritten('workers'))
    refuse('workers', 'how many workers the cluster may run, such as {min: 0, max: 64, idle: 5m}');
  const known = {
    ...read,
    id: isWritten('id') ? read.id : idOfName(read.name ?? ''),
    ttl: read.ttl ?? (isWritten('ttl') ? undefined : defaultTerms.ttlMs),
  };
  // With several workload keys, it is unclear which workload is meant.
  const isUnclear = (key: string): boolean => kinds.length > 1 && kinds.includes(key);
  const right = Object.entries(known).filter(([key, value]) => value !== undefined && !isUnclear(key));
  const fields = Object.fromEntries(right) as Partial<EndpointSettings>;
  const placed = { ...fields, ...findWorkload(fields)?.inFolder?.(fields, context.folder) };
  return { fields: placed, problems: [...problems, ...endpointProblems(placed, isWritten, context)] };
}

/** Derives an id from a name; undefined if the name has no characters that an id may contain. */
function idOfName(name: string): string | undefined {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-');
  const id = words.replace(/^-/, '').replace(/-$/, '');
  return id === '' ? undefined : id;
}

/** Returns the settings of valid fields. */
export function settingsOf(fields: Partial<EndpointSettings>, maxQueued: number): EndpointSettings {
  const workload = findWorkload(fields);
  const { id } = fields;
  if (id === undefined || workload === undefined)
    throw new Error('an endpoint without an id or a workload was let in');
  return endpointSettings({ maxQueued, ...workload.defaults?.(fields), ...fields, id }, {});
}

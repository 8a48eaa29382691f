/** An endpoint as service.yaml has it, read into settings; in the file as in the console. */
import type { JsonObject } from '../../lib/text/json.ts';
import { readFields } from '../../lib/yaml/check-shape.ts';
import { defaultTerms } from '../model/job.ts';
import { endpointSettings, type EndpointSettings } from '../model/endpoint-settings.ts';
import type { FieldExpectation } from '../workloads/workload-definition.ts';
import { findWorkload } from '../workloads/workload-of.ts';
import { type EndpointContext, endpointProblems } from './endpoint-rules.ts';
import { endpointSchema, workloadKeys } from './endpoint-schema.ts';

/** Returns the fields that could be read, with paths made absolute, and all that is wrong beyond what the schema says. */
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
  // Nobody knows which workload is meant if there are several.
  const isUnclear = (key: string): boolean => kinds.length > 1 && kinds.includes(key);
  const right = Object.entries(known).filter(([key, value]) => value !== undefined && !isUnclear(key));
  const fields = Object.fromEntries(right) as Partial<EndpointSettings>;
  const placed = { ...fields, ...findWorkload(fields)?.inFolder?.(fields, context.folder) };
  return { fields: placed, problems: [...problems, ...endpointProblems(placed, isWritten, context)] };
}

/** Returns undefined if the name holds nothing that an id can. */
function idOfName(name: string): string | undefined {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-');
  const id = words.replace(/^-/, '').replace(/-$/, '');
  return id === '' ? undefined : id;
}

/** Returns the settings of fields with which nothing is wrong. */
export function settingsOf(fields: Partial<EndpointSettings>, maxQueued: number): EndpointSettings {
  const workload = findWorkload(fields);
  const { id } = fields;
  if (id === undefined || workload === undefined)
    throw new Error('an endpoint without an id or a workload was let in');
  return endpointSettings({ maxQueued, ...workload.defaults?.(fields), ...fields, id }, {});
}

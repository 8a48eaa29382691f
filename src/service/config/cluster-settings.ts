/** What service.yaml says of workers that a cluster runs, and of where they find the service. */
import { isJsonObject } from '../../lib/text/json.ts';
import { readFields } from '../../lib/yaml/check-shape.ts';
import { isLoopback } from '../service-options.ts';
import type { EndpointSettings } from '../endpoint-settings.ts';
import { serviceSchema, type FileEndpoint } from './service-schema.ts';

/** Null for what is wrong. */
export function clusterOf(on: FileEndpoint['on'], folder: string): EndpointSettings['on'] {
  if (on === undefined) return null;
  return { slurm: on === 'slurm' ? [] : on.slurm, folder };
}

/** Undefined also for one that is wrong by itself. */
export function publicUrlProblem(given: unknown): string | undefined {
  const file = isJsonObject(given) ? given : {};
  const { publicUrl, insecure } = readFields(serviceSchema.shape, file);
  if (!Object.hasOwn(file, 'publicUrl'))
    return 'the address at which workers of a cluster reach the service, such as https://render.example';
  if (publicUrl === undefined || insecure === true) return undefined;
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'https:' || isLoopback(hostname.replaceAll(/[[\]]/g, ''))
    ? undefined
    : 'an https: address, or `insecure: true` in a network that you trust: anybody on the way could read keys';
}

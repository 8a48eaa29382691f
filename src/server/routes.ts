/** Which operation a request's path names. */
import { jobIdPattern, versions } from '../wire/paths.ts';

export type Route =
  | { operation: 'run' | 'health'; endpointId: string }
  /** `jobId` has a job id's form, or is empty where the path holds something else. */
  | { operation: 'status' | 'cancel'; endpointId: string; jobId: string };

/** The one method of each operation. */
export const routeMethods = {
  run: 'POST',
  status: 'GET',
  cancel: 'POST',
  health: 'GET',
} as const satisfies Record<Route['operation'], string>;

const knownVersions: ReadonlySet<string> = new Set(versions);

/** `target` is a request's target: a path, perhaps with a query, which no operation has. */
export function findRoute(target: string): Route | undefined {
  const queryAt = target.indexOf('?');
  const path = queryAt === -1 ? target : target.slice(0, queryAt);
  const [root, version, encodedEndpointId, operation, jobId, ...rest] = path.split('/', 6);
  if (root !== '' || version === undefined || !knownVersions.has(version) || rest.length > 0)
    return undefined;
  if (encodedEndpointId === undefined) return undefined;
  const endpointId = decode(encodedEndpointId);
  if ((operation === 'run' || operation === 'health') && jobId === undefined)
    return { operation, endpointId };
  if ((operation === 'status' || operation === 'cancel') && jobId !== undefined)
    return { operation, endpointId, jobId: jobIdPattern.test(jobId) ? jobId : '' };
  return undefined;
}

/** What cannot be decoded is no endpoint's id: no id is empty. */
function decode(encoded: string): string {
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return '';
  }
}

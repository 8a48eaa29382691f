/** The service's addresses. */

export const versions = ['v2', 'v1'] as const;

/** `dev` is the development server of a worker SDK: it serves one endpoint, which its addresses do not name. */
export type Version = (typeof versions)[number] | 'dev';

/** What names a job; more than UUIDs occur (`…-u1`, `sync-…`). */
export const jobIdPattern = /^[A-Za-z0-9_-]{1,128}$/;

export function runPath(version: Version, endpointId: string): string {
  return `${endpointPath(version, endpointId)}/run`;
}

/** Stops a job: `POST` without a body. */
export function cancelPath(version: Version, endpointId: string, jobId: string): string {
  return `${endpointPath(version, endpointId)}/cancel/${encodeURIComponent(jobId)}`;
}

/** The endpoint's queue and workers in numbers. */
export function healthPath(version: Version, endpointId: string): string {
  return `${endpointPath(version, endpointId)}/health`;
}

export function statusPath(version: Version, endpointId: string, jobId: string): string {
  return `${endpointPath(version, endpointId)}/status/${encodeURIComponent(jobId)}`;
}

function endpointPath(version: Version, endpointId: string): string {
  return version === 'dev' ? '' : `/${version}/${encodeURIComponent(endpointId)}`;
}

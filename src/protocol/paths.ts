/** The service's addresses. */

export const versions = ['v2', 'v1'] as const;
export type Version = (typeof versions)[number];

/** What names a job; more than UUIDs occur (`…-u1`, `sync-…`). */
export const jobIdPattern = /^[A-Za-z0-9_-]{1,128}$/;

export function runPath(version: Version, endpointId: string): string {
  return `/${version}/${encodeURIComponent(endpointId)}/run`;
}

/** Stops a job: `POST` without a body. */
export function cancelPath(version: Version, endpointId: string, jobId: string): string {
  return `/${version}/${encodeURIComponent(endpointId)}/cancel/${encodeURIComponent(jobId)}`;
}

/** The endpoint's queue and workers in numbers. */
export function healthPath(version: Version, endpointId: string): string {
  return `/${version}/${encodeURIComponent(endpointId)}/health`;
}

export function statusPath(version: Version, endpointId: string, jobId: string): string {
  return `/${version}/${encodeURIComponent(endpointId)}/status/${encodeURIComponent(jobId)}`;
}

/** The paths of the service: builds the path of an operation, and finds the operation that a path names. */
import { decodedPart } from '../lib/text/format.ts';
import { operations, type Operation, type OperationName, type PartsOf } from './operations.ts';

export const versions = ['v2', 'v1'] as const;

/** `dev` is the development server of a worker SDK. It serves one endpoint, so its paths do not name the endpoint. */
export type Version = (typeof versions)[number] | 'dev';

/** Pattern of job ids, which are not always UUIDs (`…-u1`, `sync-…`). */
export const jobIdPattern = /^[A-Za-z0-9_-]{1,128}$/;

type Ids<Parts extends Operation['parts']> = { -readonly [Index in keyof Parts]: string };

type PathOf<Name extends OperationName> = (
  version: Version,
  endpointId: string,
  ...ids: Ids<PartsOf<Name>>
) => string;

/** Returns the function that builds the path of an operation; its ids follow in the order of the table. */
export function pathOf<Name extends OperationName>(operation: Name): PathOf<Name> {
  return (version, endpointId, ...ids) => {
    const endpoint = version === 'dev' ? [] : [version, encodeURIComponent(endpointId)];
    return ['', ...endpoint, operation, ...ids.map(encodeURIComponent)].join('/');
  };
}

export const runPath = pathOf('run');
export const runSyncPath = pathOf('runsync');
export const cancelPath = pathOf('cancel');
export const healthPath = pathOf('health');
export const statusPath = pathOf('status');

/**
 * Returns the variables by which workers of the public SDK find the pull operations. A worker puts its id and the job's in
 * the place of `$RUNPOD_POD_ID` and `$ID`, and appends to the query. `gpu` is a name for people.
 */
export function workerAddresses(baseUrl: string, endpointId: string, gpu: string): Record<string, string> {
  const addressOf = (path: string): string =>
    `${baseUrl}${path.replaceAll('%24', '$')}?gpu=${encodeURIComponent(gpu)}`;
  const [worker, job] = ['$RUNPOD_POD_ID', '$ID'];
  return {
    RUNPOD_WEBHOOK_GET_JOB: addressOf(pathOf('job-take')('v2', endpointId, '$ID')),
    RUNPOD_WEBHOOK_POST_OUTPUT: addressOf(pathOf('job-done')('v2', endpointId, worker, job)),
    RUNPOD_WEBHOOK_POST_STREAM: addressOf(pathOf('job-stream')('v2', endpointId, worker, job)),
    RUNPOD_WEBHOOK_PING: addressOf(pathOf('ping')('v2', endpointId, worker)),
  };
}

export interface Route {
  operation: OperationName;
  endpointId: string;
  /** Empty if the operation has no such id, or the path has no valid one. */
  jobId: string;
  workerId: string;
  query: URLSearchParams;
}

const knownVersions: ReadonlySet<string> = new Set(versions);

/** Returns the operation, endpoint and ids in a request target, or undefined. */
export function findRoute(target: string): Route | undefined {
  const queryAt = target.indexOf('?');
  const path = queryAt === -1 ? target : target.slice(0, queryAt);
  const [root, version, encodedEndpointId, operation, ...rest] = path.split('/', 7);
  if (root !== '' || version === undefined || !knownVersions.has(version)) return undefined;
  if (encodedEndpointId === undefined || operation === undefined || !isOperation(operation)) return undefined;
  const { parts } = operations[operation];
  if (rest.length !== parts.length) return undefined;
  const ids = { jobId: '', workerId: '' };
  for (const [index, part] of parts.entries()) ids[part] = idOf(part, rest[index] ?? '');
  const query = new URLSearchParams(queryAt === -1 ? '' : target.slice(queryAt + 1));
  return { operation, endpointId: decodedPart(encodedEndpointId), ...ids, query };
}

function isOperation(name: string): name is OperationName {
  return Object.hasOwn(operations, name);
}

/** Worker ids are names of machines, containers and processes, without `@`, which precedes the key. */
const workerIdPattern = /^[A-Za-z0-9_.:-]{1,128}$/;

function idOf(part: Operation['parts'][number], text: string): string {
  const id = decodedPart(text);
  return (part === 'jobId' ? jobIdPattern : workerIdPattern).test(id) ? id : '';
}

/** Makes the id of an endpoint from its name: `My renderer (2)` becomes `my-renderer-2`. Undefined if nothing is left of the name. */
export function idOfName(name: string): string | undefined {
  const words = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-');
  const id = words.replace(/^-/, '').replace(/-$/, '');
  return id === '' ? undefined : id;
}

/** Which operation a request's path names. */
import { jobIdPattern, versions } from '../protocol/paths.ts';

/** Who asks for it: a client with a key of its own, or a worker with one. */
type Asker = 'client' | 'worker';
type Part = 'jobId' | 'workerId';

interface Shape {
  method: 'GET' | 'POST';
  asker: Asker;
  /** What follows the operation's name in the path. */
  parts: readonly Part[];
}

export const operations = {
  run: { method: 'POST', asker: 'client', parts: [] },
  runsync: { method: 'POST', asker: 'client', parts: [] },
  render: { method: 'POST', asker: 'client', parts: [] },
  status: { method: 'GET', asker: 'client', parts: ['jobId'] },
  'status-sync': { method: 'GET', asker: 'client', parts: ['jobId'] },
  stream: { method: 'GET', asker: 'client', parts: ['jobId'] },
  cancel: { method: 'POST', asker: 'client', parts: ['jobId'] },
  retry: { method: 'POST', asker: 'client', parts: ['jobId'] },
  'purge-queue': { method: 'POST', asker: 'client', parts: [] },
  health: { method: 'GET', asker: 'client', parts: [] },
  'job-take': { method: 'GET', asker: 'worker', parts: ['workerId'] },
  'job-take-batch': { method: 'GET', asker: 'worker', parts: ['workerId'] },
  'job-done': { method: 'POST', asker: 'worker', parts: ['workerId', 'jobId'] },
  'job-stream': { method: 'POST', asker: 'worker', parts: ['workerId', 'jobId'] },
  'job-stop': { method: 'GET', asker: 'worker', parts: ['workerId'] },
  ping: { method: 'GET', asker: 'worker', parts: ['workerId'] },
} as const satisfies Record<string, Shape>;

export type Operation = keyof typeof operations;

export interface Route {
  operation: Operation;
  endpointId: string;
  /** Of a job id's form, or empty where the path holds something else or the operation has none. */
  jobId: string;
  workerId: string;
  query: URLSearchParams;
}

const knownVersions: ReadonlySet<string> = new Set(versions);

/** `target` is a request's target: a path, perhaps with a query. */
export function findRoute(target: string): Route | undefined {
  const queryAt = target.indexOf('?');
  const path = queryAt === -1 ? target : target.slice(0, queryAt);
  const [root, version, encodedEndpointId, operation, ...rest] = path.split('/', 7);
  if (root !== '' || version === undefined || !knownVersions.has(version)) return undefined;
  if (encodedEndpointId === undefined || operation === undefined || !isOperation(operation)) return undefined;
  const { parts } = operations[operation];
  if (rest.length !== parts.length) return undefined;
  const ids = { jobId: '', workerId: '' };
  for (const [index, part] of parts.entries()) ids[part] = idOf(rest[index] ?? '');
  const query = new URLSearchParams(queryAt === -1 ? '' : target.slice(queryAt + 1));
  return { operation, endpointId: decode(encodedEndpointId), ...ids, query };
}

function isOperation(name: string): name is Operation {
  return Object.hasOwn(operations, name);
}

function idOf(text: string): string {
  return jobIdPattern.test(text) ? text : '';
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

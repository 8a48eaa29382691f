/** Which operation a request's path names. */
import { jobIdPattern, versions } from '../protocol/paths.ts';

/** Who asks for it: a client with a key of its own, or a worker with one. */
type Asker = 'client' | 'worker';
type Part = 'jobId' | 'workerId';

interface Shape {
  methods: readonly ('GET' | 'POST')[];
  asker: Asker;
  /** What follows the operation's name in the path. */
  parts: readonly Part[];
}

export const operations = {
  run: { methods: ['POST'], asker: 'client', parts: [] },
  runsync: { methods: ['POST'], asker: 'client', parts: [] },
  render: { methods: ['POST'], asker: 'client', parts: [] },
  status: { methods: ['GET', 'POST'], asker: 'client', parts: ['jobId'] },
  'status-sync': { methods: ['GET'], asker: 'client', parts: ['jobId'] },
  stream: { methods: ['GET'], asker: 'client', parts: ['jobId'] },
  cancel: { methods: ['POST'], asker: 'client', parts: ['jobId'] },
  retry: { methods: ['POST'], asker: 'client', parts: ['jobId'] },
  'purge-queue': { methods: ['POST'], asker: 'client', parts: [] },
  health: { methods: ['GET'], asker: 'client', parts: [] },
  'webhook-secret': { methods: ['GET'], asker: 'client', parts: [] },
  'job-take': { methods: ['GET'], asker: 'worker', parts: ['workerId'] },
  'job-take-batch': { methods: ['GET'], asker: 'worker', parts: ['workerId'] },
  'job-done': { methods: ['POST'], asker: 'worker', parts: ['workerId', 'jobId'] },
  'job-stream': { methods: ['POST'], asker: 'worker', parts: ['workerId', 'jobId'] },
  'job-stop': { methods: ['GET'], asker: 'worker', parts: ['workerId'] },
  report: { methods: ['POST'], asker: 'worker', parts: ['workerId'] },
  ping: { methods: ['GET'], asker: 'worker', parts: ['workerId'] },
} as const satisfies Record<string, Shape>;

export type Operation = keyof typeof operations;

/** What keys that change nothing may do. A stream hands out each part once. */
export const looks: ReadonlySet<Operation> = new Set(['status', 'status-sync', 'health']);

export interface Route {
  operation: Operation;
  endpointId: string;
  /** Of an id's form, or empty where the path holds something else or the operation has none. */
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
  for (const [index, part] of parts.entries()) ids[part] = idOf(part, rest[index] ?? '');
  const query = new URLSearchParams(queryAt === -1 ? '' : target.slice(queryAt + 1));
  return { operation, endpointId: decode(encodedEndpointId), ...ids, query };
}

function isOperation(name: string): name is Operation {
  return Object.hasOwn(operations, name);
}

/** What a machine, a container or a process may be called; `@` is not among it. */
const workerIdPattern = /^[A-Za-z0-9_.:-]{1,128}$/;

function idOf(part: Part, text: string): string {
  const id = decode(text);
  return (part === 'jobId' ? jobIdPattern : workerIdPattern).test(id) ? id : '';
}

/** What cannot be decoded is no id: none is empty. */
function decode(encoded: string): string {
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return '';
  }
}

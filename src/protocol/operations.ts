/** The operations of the service, one entry each. Router, paths, handlers, description and message types come from here. */
import type { Message, MessageName } from './message-schemas.ts';

/** `reader`: client with any key. `client`: client with a key that may change jobs. */
type Caller = 'reader' | 'client' | 'worker';

/** An id in the path after the name of the operation. */
type PathPart = 'jobId' | 'workerId';

interface Described {
  /** Unique name in the OpenAPI description. */
  id: string;
  summary: string;
}

export interface Operation {
  methods: { readonly GET?: Described; readonly POST?: Described };
  caller: Caller;
  parts: readonly PathPart[];
  parameters?: readonly ('wait' | 'idempotencyKey')[];
  /** Parameters of this operation alone, in its query. */
  query?: readonly { name: string; description?: string; schema: object }[];
  body?: MessageName;
  /** True if the body may also come under the content type of a form, as workers send it. */
  isForm?: boolean;
  answer: { readonly description: string; readonly schema: MessageName };
  headers?: readonly ('idempotencyKey' | 'retention')[];
  /** Description of the empty answer with status 204. */
  none?: string;
  /** Statuses of refusals, beside those that every operation may answer with. */
  refused?: readonly ('409' | '422' | '503' | '507')[];
  /** True if the operation adds a job to the queue, so quotas apply. */
  isQueueing?: boolean;
  /** True if the audit log names who did it with an admin key. */
  isAudited?: boolean;
  /** True if the answer is short and immediate, so the limit of requests in progress does not apply. */
  isShort?: boolean;
  /** True if repeating has no effect, false if each answer is given only once. By default, GET may be repeated. */
  isRepeatable?: boolean;
}

const submission = {
  caller: 'client',
  parts: [],
  body: 'Submission',
  refused: ['422', '503', '507'],
  headers: ['idempotencyKey', 'retention'],
  isQueueing: true,
} as const satisfies Partial<Operation>;

const result = {
  caller: 'worker',
  parts: ['workerId', 'jobId'],
  body: 'WorkerResult',
  isForm: true,
  answer: { description: 'The result is kept if the job still needs it.', schema: 'Heard' },
  refused: ['507'],
  isShort: true,
} as const satisfies Partial<Operation>;

const job = { description: 'The job.', schema: 'Job' } as const;
const accepted = { description: 'The job is in the queue.', schema: 'Accepted' } as const;
const none = 'No job is available.';

const table = {
  run: {
    ...submission,
    methods: { POST: { id: 'run', summary: 'Submit a job' } },
    parameters: ['idempotencyKey'],
    answer: accepted,
  },
  runsync: {
    ...submission,
    methods: { POST: { id: 'runSync', summary: 'Submit a job and wait for it' } },
    parameters: ['wait', 'idempotencyKey'],
    answer: job,
  },
  render: {
    ...submission,
    methods: {
      POST: { id: 'render', summary: 'Submit a scene and wait for its picture, as runsync does' },
    },
    parameters: ['wait', 'idempotencyKey'],
    answer: job,
  },
  status: {
    methods: {
      GET: { id: 'status', summary: 'The status of a job, and its result' },
      POST: { id: 'statusByPost', summary: 'The same, for clients that send POST' },
    },
    caller: 'reader',
    parts: ['jobId'],
    answer: job,
    isRepeatable: true,
  },
  'status-sync': {
    methods: {
      GET: { id: 'statusSync', summary: 'Wait until the job has ended, and get its status and result' },
    },
    caller: 'reader',
    parts: ['jobId'],
    parameters: ['wait'],
    answer: job,
  },
  stream: {
    methods: {
      GET: { id: 'stream', summary: 'Partial outputs since the last poll; waits a moment for one' },
    },
    caller: 'client',
    parts: ['jobId'],
    answer: { description: 'They are returned only once.', schema: 'Stream' },
    isRepeatable: false,
  },
  cancel: {
    methods: { POST: { id: 'cancel', summary: 'Cancel a job' } },
    caller: 'client',
    parts: ['jobId'],
    answer: { description: 'The present status of the job.', schema: 'Accepted' },
    refused: ['507'],
    isAudited: true,
    isShort: true,
    isRepeatable: true,
  },
  retry: {
    methods: {
      POST: { id: 'retry', summary: 'Put a job that is FAILED or TIMED_OUT back into the queue' },
    },
    caller: 'client',
    parts: ['jobId'],
    answer: accepted,
    refused: ['409', '503', '507'],
    isQueueing: true,
    isAudited: true,
  },
  'purge-queue': {
    methods: { POST: { id: 'purgeQueue', summary: 'Remove every job that waits' } },
    caller: 'client',
    parts: [],
    answer: { description: 'The number of removed jobs.', schema: 'Purged' },
    refused: ['507'],
    isAudited: true,
  },
  health: {
    methods: { GET: { id: 'health', summary: 'Jobs and workers of the endpoint, counted' } },
    caller: 'reader',
    parts: [],
    answer: { description: 'The counts.', schema: 'Health' },
    headers: ['retention'],
    isShort: true,
  },
  'webhook-secret': {
    methods: {
      GET: {
        id: 'webhookSecret',
        summary: 'The secret that signs the webhooks of jobs submitted with this key',
      },
    },
    caller: 'client',
    parts: [],
    answer: { description: 'In the form of Standard Webhooks.', schema: 'WebhookSecret' },
  },
  'job-take': {
    methods: { GET: { id: 'jobTake', summary: 'Take a job, waiting for one' } },
    caller: 'worker',
    parts: ['workerId'],
    answer: { description: 'A job.', schema: 'TakenJob' },
    none,
    refused: ['409', '507'],
    isRepeatable: false,
  },
  'job-take-batch': {
    methods: { GET: { id: 'jobTakeBatch', summary: 'Take several jobs' } },
    caller: 'worker',
    parts: ['workerId'],
    query: [{ name: 'batch_size', schema: { type: 'integer', minimum: 1 } }],
    answer: { description: 'At least one job.', schema: 'TakenJobs' },
    none,
    refused: ['409', '507'],
    isRepeatable: false,
  },
  'job-done': { ...result, methods: { POST: { id: 'jobDone', summary: 'Hand in the result of a job' } } },
  'job-stream': { ...result, methods: { POST: { id: 'jobStream', summary: 'Hand in a partial output' } } },
  ping: {
    methods: { GET: { id: 'ping', summary: 'Report that the worker is alive' } },
    caller: 'worker',
    parts: ['workerId'],
    query: [
      {
        name: 'job_id',
        description: 'ids of its present jobs, separated by commas',
        schema: { type: 'string' },
      },
    ],
    answer: { description: 'The service knows the worker.', schema: 'Nothing' },
    isShort: true,
  },
  report: {
    methods: {
      POST: { id: 'report', summary: 'Report the workload, the machine and the log of the worker' },
    },
    caller: 'worker',
    parts: ['workerId'],
    body: 'WorkerReport',
    answer: { description: 'Tells the worker if it should take no more jobs and end.', schema: 'Reported' },
    isShort: true,
  },
  'job-stop': {
    methods: { GET: { id: 'jobStop', summary: 'Jobs that the worker should give up' } },
    caller: 'worker',
    parts: ['workerId'],
    answer: { description: 'Their ids.', schema: 'JobsToStop' },
    none,
  },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof table;

export const operations: Readonly<Record<OperationName, Operation>> = table;

/** Names of the operations that one kind of caller may use. */
export type OperationOf<Who extends Caller> = {
  [Name in OperationName]: (typeof table)[Name]['caller'] extends Who ? Name : never;
}[OperationName];

/** Ids behind the name of an operation in its path, in this order. */
export type PartsOf<Name extends OperationName> = (typeof table)[Name]['parts'];

export type AnswerOf<Name extends OperationName> = Message<(typeof table)[Name]['answer']['schema']>;

/** Operations of the service, by GET at their name, and not in the OpenAPI document. `openTo`: who needs no key. */
export const serviceOperations = {
  /** The OpenAPI document, which describes only the interface. */
  'openapi.json': { openTo: 'everyone' },
  /** Numbers for Prometheus. They count the jobs of all keys, so a key that sees only its own jobs gets none. */
  metrics: { openTo: 'this machine' },
} as const satisfies Record<string, { openTo: 'everyone' | 'this machine' }>;

export type ServiceOperationName = keyof typeof serviceOperations;

/** The operations of the job interface by path, for its OpenAPI description. */
import { idempotencyKeyHeader, idempotencyRetentionHeader } from './messages.ts';
import type { openApiSchemas } from './openapi-schemas.ts';

/** What every operation may answer besides. */
const refusals = ['400', '401', '403', '404', '405', '429'];

const submissionRefusals: Refused[] = ['422', '503', '507'];
const keyHeader = {
  [idempotencyKeyHeader]: { description: 'as it was sent', schema: { type: 'string' } },
};
const retentionHeader = {
  [idempotencyRetentionHeader]: {
    description: `for how many seconds at least a submission is known by its ${idempotencyKeyHeader}`,
    schema: { type: 'integer', minimum: 0 },
  },
};

const job = { description: 'The job.', schema: 'Job' } as const;
const accepted = { description: 'The job is in the queue.', schema: 'Accepted' } as const;

export const paths = {
  ...at(
    'run',
    'post',
    operation({
      id: 'run',
      summary: 'Submit a job',
      body: 'Submission',
      answer: accepted,
      refused: submissionRefusals,
      parameters: ['idempotencyKey'],
      headers: { ...keyHeader, ...retentionHeader },
    }),
  ),
  ...at(
    'runsync',
    'post',
    operation({
      id: 'runSync',
      summary: 'Submit a job and wait for it',
      body: 'Submission',
      answer: job,
      refused: submissionRefusals,
      parameters: ['wait', 'idempotencyKey'],
      headers: { ...keyHeader, ...retentionHeader },
    }),
  ),
  ...at(
    'render',
    'post',
    operation({
      id: 'render',
      summary: 'Submit a scene and wait for its picture, as runsync does',
      body: 'Submission',
      answer: job,
      refused: submissionRefusals,
      parameters: ['wait', 'idempotencyKey'],
      headers: { ...keyHeader, ...retentionHeader },
    }),
  ),
  ...at(
    'status/{jobId}',
    'get',
    operation({ id: 'status', summary: 'The status of a job, and its result', answer: job }),
    operation({ id: 'statusByPost', summary: 'The same, as some clients ask for it', answer: job }),
  ),
  ...at(
    'status-sync/{jobId}',
    'get',
    operation({
      id: 'statusSync',
      summary: 'The same, once the job has ended',
      answer: job,
      parameters: ['wait'],
    }),
  ),
  ...at(
    'stream/{jobId}',
    'get',
    operation({
      id: 'stream',
      summary: 'Partial outputs since the last look, waiting a moment for one',
      answer: { description: 'They are returned only once.', schema: 'Stream' },
    }),
  ),
  ...at(
    'cancel/{jobId}',
    'post',
    operation({
      id: 'cancel',
      summary: 'Cancel a job',
      answer: { description: 'Its status now.', schema: 'Accepted' },
      refused: ['507'],
    }),
  ),
  ...at(
    'retry/{jobId}',
    'post',
    operation({
      id: 'retry',
      summary: 'Put a job that is FAILED or TIMED_OUT back into the queue',
      answer: accepted,
      refused: ['409', '503', '507'],
    }),
  ),
  ...at(
    'purge-queue',
    'post',
    operation({
      id: 'purgeQueue',
      summary: 'Remove every job that waits',
      answer: { description: 'How many there were.', schema: 'Purged' },
      refused: ['507'],
    }),
  ),
  ...at(
    'health',
    'get',
    operation({
      id: 'health',
      summary: 'Jobs and workers of the endpoint, counted',
      answer: { description: 'The counts.', schema: 'Health' },
      headers: retentionHeader,
    }),
  ),
  ...at(
    'webhook-secret',
    'get',
    operation({
      id: 'webhookSecret',
      summary: 'The secret that signs the webhooks of jobs submitted with this key',
      answer: { description: 'As Standard Webhooks has it.', schema: 'WebhookSecret' },
    }),
  ),
  ...at(
    'job-take/{workerId}',
    'get',
    workerOperation(
      {
        id: 'jobTake',
        summary: 'Take a job, waiting for one',
        answer: { description: 'A job.', schema: 'TakenJob' },
        refused: ['409', '507'],
      },
      'There is none.',
    ),
  ),
  ...at('job-take-batch/{workerId}', 'get', {
    ...workerOperation(
      {
        id: 'jobTakeBatch',
        summary: 'Take several jobs',
        answer: { description: 'At least one job.', schema: 'TakenJobs' },
        refused: ['409', '507'],
      },
      'There is none.',
    ),
    parameters: [{ name: 'batch_size', in: 'query', schema: { type: 'integer', minimum: 1 } }],
  }),
  ...at('job-done/{workerId}/{jobId}', 'post', resultOperation('jobDone', 'Hand in the result of a job')),
  ...at('job-stream/{workerId}/{jobId}', 'post', resultOperation('jobStream', 'Hand in a partial output')),
  ...at('ping/{workerId}', 'get', {
    ...workerOperation({
      id: 'ping',
      summary: 'Say that the worker lives',
      answer: { description: 'It is known.', schema: 'Nothing' },
    }),
    parameters: [
      {
        name: 'job_id',
        in: 'query',
        description: 'the jobs that it is at, with commas',
        schema: { type: 'string' },
      },
    ],
  }),
  ...at(
    'report/{workerId}',
    'post',
    workerOperation({
      id: 'report',
      summary: 'Say what the worker runs and where, and what that wrote',
      body: 'WorkerReport',
      answer: { description: 'Whether it is to take no more jobs, and end.', schema: 'Reported' },
    }),
  ),
  ...at(
    'job-stop/{workerId}',
    'get',
    workerOperation(
      {
        id: 'jobStop',
        summary: 'Jobs that the worker should give up',
        answer: { description: 'Their ids.', schema: 'JobsToStop' },
      },
      'There is none.',
    ),
  ),
};

function at(path: string, method: 'get' | 'post', there: object, posted?: object): Record<string, object> {
  const names = ['version', 'endpointId', ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)];
  const parameters = names.map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return {
    [`/{version}/{endpointId}/${path}`]: { parameters, [method]: there, ...(posted && { post: posted }) },
  };
}

type SchemaName = keyof typeof openApiSchemas;

type Refused = '409' | '422' | '503' | '507';

interface Operation {
  id: string;
  summary: string;
  answer: { description: string; schema?: SchemaName };
  body?: SchemaName;
  parameters?: string[];
  /** What this one may answer besides. */
  refused?: Refused[];
  /** Of the answer. */
  headers?: Record<string, object>;
}

function operation({ id, summary, answer, body, parameters = [], refused = [], headers }: Operation) {
  const { description, schema } = answer;
  return {
    operationId: id,
    summary,
    tags: ['jobs'],
    ...(parameters.length > 0 && {
      parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    }),
    ...(body !== undefined && { requestBody: { required: true, content: json(body) } }),
    responses: {
      200: {
        description,
        ...(headers !== undefined && { headers }),
        ...(schema !== undefined && { content: json(schema) }),
      },
      ...Object.fromEntries(
        [...refusals, ...refused].map((code) => [code, { $ref: `#/components/responses/${code}` }]),
      ),
    },
  };
}

/** With the key of a worker; `none` is what is answered where there is nothing. */
function workerOperation(given: Operation, none?: string) {
  const { responses: answers, ...rest } = operation(given);
  return {
    ...rest,
    tags: ['workers'],
    security: [{ workerKey: [] }],
    responses: { ...answers, ...(none !== undefined && { 204: { description: none } }) },
  };
}

/** Workers send JSON under the content type of a form. */
function resultOperation(id: string, summary: string) {
  const schema = { $ref: '#/components/schemas/WorkerResult' };
  return {
    ...workerOperation({
      id,
      summary,
      answer: { description: 'It is kept, where it is still wanted.', schema: 'Heard' },
      refused: ['507'],
    }),
    requestBody: {
      required: true,
      content: { 'application/x-www-form-urlencoded': { schema }, 'application/json': { schema } },
    },
  };
}

export function json(schema: SchemaName) {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } };
}

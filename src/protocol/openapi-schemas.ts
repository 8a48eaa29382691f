/** The bodies and answers of the job interface as JSON Schema, for its OpenAPI description. */
import { jobStatuses } from './messages.ts';

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const limitMs = { type: 'integer', minimum: 1 };
const ms = { type: 'integer', minimum: 0, description: 'milliseconds' };
const jobId = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,128}$' };
const status = { $ref: '#/components/schemas/Status' };
const anyJson = { description: 'any JSON value' };

function object(properties: Record<string, object>, required = Object.keys(properties)) {
  return { type: 'object', properties, required };
}

export const openApiSchemas = {
  Status: { enum: [...jobStatuses] },
  Submission: object(
    {
      input: { type: 'object', minProperties: 1, description: 'free-form; what the worker is given' },
      webhook: { type: 'string', format: 'uri', description: 'is sent the job, signed, once it has ended' },
      s3Config: { type: 'object', description: 'is handed to the worker; deleted when the job ends' },
      policy: object(
        {
          executionTimeout: {
            ...limitMs,
            description: 'milliseconds in a worker, after which the job is TIMED_OUT',
          },
          ttl: { ...limitMs, description: 'milliseconds from submission, after which the job is TIMED_OUT' },
          lowPriority: { type: 'boolean' },
        },
        [],
      ),
    },
    ['input'],
  ),
  Accepted: object({ id: jobId, status }),
  Job: object(
    {
      id: jobId,
      status,
      delayTime: { ...ms, description: 'milliseconds in the queue' },
      executionTime: { ...ms, description: 'milliseconds in a worker' },
      input: { type: 'object', description: 'what was submitted, while IN_PROGRESS' },
      output: { ...anyJson, description: 'of the worker; a message of progress while IN_PROGRESS' },
      error: { type: 'string', description: 'why it is FAILED or TIMED_OUT' },
      retries: { ...count, description: 'how often it went back into the queue, once it has' },
    },
    ['id', 'status'],
  ),
  Stream: object({ status, stream: { type: 'array', items: object({ output: anyJson }) } }),
  Purged: object({ removed: count, status: { const: 'completed' } }),
  Health: object({
    jobs: object({ completed: count, failed: count, inProgress: count, inQueue: count, retried: count }),
    workers: object({
      idle: count,
      initializing: count,
      ready: count,
      running: count,
      throttled: count,
      unhealthy: count,
    }),
  }),
  WebhookSecret: object({ secret: { type: 'string', pattern: '^whsec_[A-Za-z0-9+/]{43}=$' } }),
  Error: object({ error: text }),
  TakenJob: object({ id: jobId, input: { type: 'object' }, webhook: text, s3Config: { type: 'object' } }, [
    'id',
    'input',
  ]),
  TakenJobs: { type: 'array', items: { $ref: '#/components/schemas/TakenJob' } },
  WorkerResult: {
    ...object({ output: anyJson, error: anyJson, status: text, stopPod: { type: 'boolean' } }, []),
    description:
      'the output, or the error that fails the job; with the status IN_PROGRESS a message of progress; stopPod asks for a new start of the worker',
  },
  Heard: object({ accepted: { type: 'boolean', description: 'false where the job has ended already' } }),
  WorkerReport: object(
    {
      machine: object({
        host: text,
        cores: count,
        memoryBytes: count,
        gpus: {
          type: 'array',
          items: object({
            index: count,
            name: text,
            memoryBytes: count,
            usedMemoryBytes: count,
            driver: text,
            celsius: { type: 'number' },
          }),
        },
      }),
      workload: text,
      state: {
        enum: ['working', 'draining', 'leaving'],
        description: 'draining takes no more; leaving gives back what it has',
      },
      log: { type: 'array', items: text, description: 'the lines since the last report' },
      died: { type: ['string', 'null'], description: 'why what it runs ended in the middle of its jobs' },
    },
    ['state'],
  ),
  Reported: object({
    drain: { type: 'boolean' },
    jobs: { type: 'array', items: jobId },
    runs: { type: ['string', 'null'], description: 'such as image:user/name:1.0; null where it is not said' },
  }),
  Nothing: { type: 'object', maxProperties: 0 },
  JobsToStop: object({ jobsToStop: { type: 'array', items: jobId } }),
};
